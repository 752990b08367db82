import Foundation
import RedisClient
import TestSupport
import Testing

/// Faults of Redis and of the network under workers and commands. Every test starts a separate server.
@Suite("Broken Redis", .fewAtOnce, .timeLimit(.minutes(60)))
struct BrokenRedisTests {
    @Test("While all subscriptions are killed repeatedly, a cancel arrives within a heartbeat and one second")
    func noSubscriptions() async throws {
        let redis = try TestRedis.start()
        defer { redis.stop() }
        let installation = try Installation(redis)
        let worker = try installation.worker(slots: 20)
        let ids = try await installation.enqueue(batch: #"{"name":"sleep","args":{"seconds":600}}"#, count: 20)
        try await installation.awaitStates("executing", of: ids)
        let killer = Task {
            try await repeatedly {
                try redis.servers.reduce(0) {
                    try $0 + $1.ask(RedisCommand("CLIENT", "KILL", "TYPE", "pubsub"))[0].expectInt()
                }
            }
        }
        var slowest = 0
        for part in 0..<4 {
            let some = Array(ids[part * 5..<part * 5 + 5])
            #expect(try await Program.run("sluice", ["cancel"] + some, environment: installation.environment).code == 0)
            try await installation.awaitStates("cancelled", of: some)
            for shown in try await installation.show(some) {
                let time = try milliseconds(shown.cancel?.stoppedAt) - milliseconds(shown.cancel?.requestedAt)
                slowest = max(slowest, time)
            }
        }
        killer.cancel()
        let killed = try await killer.value
        #expect(killed > 4)
        print("cancel without subscriptions: \(killed) subscribers were killed")
        let promised = Duration.seconds(Installation.lease / 3 + 1)
        expectPrompt("the slowest of 20 cancels", took: .milliseconds(slowest), promised: promised)
        withExtendedLifetime(worker) {}
    }

    @Test("While scripts are flushed repeatedly, no error reaches an operation or command, and all finish")
    func noScripts() async throws {
        let redis = try TestRedis.start()
        defer { redis.stop() }
        let installation = try Installation(redis)
        let worker = try installation.worker(slots: 8)
        let flusher = Task {
            try await repeatedly {
                for server in redis.servers { try server.ask(RedisCommand("SCRIPT", "FLUSH"))[0].expectSuccess() }
                return 1
            }
        }
        var ids: [String] = []
        for _ in 0..<5 {
            ids += try await installation.enqueue(batch: installation.ledger.batchLine(seconds: 0.05), count: 20)
        }
        try await installation.awaitStates("finished", of: ids)
        flusher.cancel()
        try expectEachRanOnce(ids, installation)
        try await expectUntroubled(ids, installation)
        withExtendedLifetime(worker) {}
    }

    @Test(
        "Redis crashes and restarts under working workers: no error reaches an operation, and each runs once",
        .enabled(if: TestRedis.isSingle, "its server crashes and comes back; ClusterTests kill a node")
    )
    func restart() async throws {
        let server = try TestServer.start(.durable)
        let installation = try Installation(.server(server))
        // The lease is so long that no heartbeat comes too late: no lease lapses, and each operation has one delivery.
        let workers = try (0..<2).map { _ in try installation.worker(slots: 4, lease: 60) }
        var ids = try await installation.enqueue(batch: installation.ledger.batchLine(seconds: 0.2), count: 80)
        for round in 1...2 {
            try await eventually("work goes on") { try installation.ledger.ends().count > round * 15 }
            server.crash()
            // Running operations end during the outage, so their ends cannot be sent.
            try await eventually("nothing runs any more") {
                try installation.ledger.ends().count == installation.ledger.starts().count
            }
            try server.restart()
        }
        ids += try await installation.enqueue(batch: installation.ledger.batchLine(seconds: 0.05), count: 10)
        try await installation.awaitStates("finished", of: ids)
        try expectEachRanOnce(ids, installation)
        try await expectUntroubled(ids, installation)
        for worker in workers {
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }
    }

    @Test(
        "An outage longer than a lease loses no worker: running operations continue and end once, as first delivery",
        .enabled(if: TestRedis.isSingle, "its server crashes and comes back; ClusterTests kill a node")
    )
    func longOutage() async throws {
        let server = try TestServer.start(.durable)
        let installation = try Installation(.server(server))
        let lease = 20
        let workers = try (0..<2).map { _ in try installation.worker(slots: 2, lease: lease) }
        let long = try await installation.enqueue(batch: installation.ledger.batchLine(seconds: 50), count: 2)
        let short = try await installation.enqueue(batch: installation.ledger.batchLine(seconds: 12), count: 2)
        try await eventually("four run") { try installation.ledger.starts().count == 4 }
        server.crash()
        // The last heartbeats were before this moment.
        let crashed = ContinuousClock.now
        try await eventually("the leases have lapsed") { ContinuousClock.now - crashed > .seconds(lease + 2) }
        try server.restart()
        try await installation.awaitStates("finished", of: long + short)
        try expectEachRanOnce(long + short, installation)
        try await expectUntroubled(long + short, installation)
        withExtendedLifetime(workers) {}
    }

    @Test(
        "While answers to claims are lost, operations start within two heartbeats, and none waits for a lease",
        .enabled(if: TestRedis.isSingle, "its server is behind a proxy, and nodes name each other past it")
    )
    func lostClaims() async throws {
        let server = try TestServer.start()
        let proxy = try await FaultProxy.start(to: server.endpoint)
        defer { proxy.stop() }
        // The lease is so long that no heartbeat comes too late. If an operation waited for a lapsed lease, the total
        // `recovered` would count it.
        let lease = 30
        let installation = try Installation(.server(server), workerURL: "\(proxy.endpoint)")
        let worker = try installation.worker(slots: 4, lease: lease)
        try await installation.awaitWorkers(1)
        var slowest = 0
        for round in 0..<3 {
            for script in ["claim", "complete"] {
                proxy.set(.loseReplies(count: 2, marker: try await installation.digest(of: script)))
                let ids = try await installation.enqueue(batch: installation.ledger.batchLine(seconds: 0.1), count: 8)
                try await installation.awaitStates("finished", of: ids)
                for shown in try await installation.show(ids) {
                    slowest = max(slowest, try milliseconds(shown.endedAt) - milliseconds(shown.enqueuedAt))
                }
                try expectEachRanOnce(ids, installation)
                try await expectUntroubled(ids, installation)
            }
            print("lost claims, round \(round): \(proxy.lostReplies) replies lost, the slowest took \(slowest) ms")
        }
        proxy.set(.none)
        #expect(proxy.lostReplies >= 6)
        expectPrompt("the slowest of them", took: .milliseconds(slowest), promised: .seconds(2 * lease / 3))
        #expect(try await installation.totals()["recovered"] == 0)
        withExtendedLifetime(worker) {}
    }

    @Test(
        "A Redis that accepts and never answers fails within the connect timeout",
        .enabled(if: TestRedis.isSingle, "its server is behind a proxy, and nodes name each other past it")
    )
    func silent() async throws {
        let server = try TestServer.start()
        let proxy = try await FaultProxy.start(to: server.endpoint)
        defer { proxy.stop() }
        proxy.set(.blackhole)
        let installation = try Installation(.server(server), url: "\(proxy.endpoint)")
        let sent = ContinuousClock.now
        let outcome = try await installation.sluice("list", "--connect-timeout", "1s")
        #expect(outcome.code == 69, "\(outcome.errors)")
        expectPrompt("a Redis that never answers", since: sent, promised: .seconds(1))
    }

    @Test(
        "Workers wait for Redis, even one that starts before it, and continue; a burst does not wait",
        .enabled(if: TestRedis.isSingle, "its server crashes and comes back; ClusterTests kill a node")
    )
    func waiting() async throws {
        let server = try TestServer.start(.durable)
        let installation = try Installation(.server(server))
        let early = try installation.worker()
        let first = try await installation.enqueue("noop")
        try await installation.awaitState("finished", of: first)
        server.crash()
        #expect(try await installation.sluice("worker", "--burst", "--connect-timeout", "1s").code == 69)
        let late = try installation.worker(more: "--connect-timeout", "1s")
        try await eventually("the late one waits") { late.errors.contains("waiting for Redis") }
        try await eventually("the early one has noticed") { early.errors.contains("heartbeats fail") }
        #expect(!late.hasEnded && !early.hasEnded)
        try server.restart()
        try await installation.awaitWorkers(2)
        let ids = try await installation.enqueue(batch: #"{"name":"sleep","args":{"seconds":0.3}}"#, count: 16)
        try await installation.awaitStates("finished", of: ids)
        #expect(Set(try await installation.show(ids).map(\.worker)).count <= 2)
        for worker in [early, late] {
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }
    }

    /// Expects one start and one end of each operation in the ledger.
    private func expectEachRanOnce(_ ids: [String], _ installation: Installation) throws {
        for event in ["start", "end"] {
            let runs = Dictionary(grouping: try installation.ledger.lines().filter { $0.event == event }, by: \.id)
            let others = ids.filter { runs[$0]?.count != 1 }
            #expect(others.isEmpty, "\(event) of \(others.map { runs[$0] ?? [] })")
        }
    }

    /// Expects that the records contain no trace of the fault.
    private func expectUntroubled(_ ids: [String], _ installation: Installation) async throws {
        for shown in try await installation.show(ids) {
            #expect(shown.errors.isEmpty)
            #expect(shown.attempt == 1)
            #expect(shown.delivery == 1)
        }
        #expect(try await installation.counts()["executing"] == 0)
    }
}

extension Installation {
    /// Returns the SHA1 by which a script is called.
    func digest(of script: String) async throws -> String {
        let printed = try await sluice("redis", "script", script)
        try #require(printed.code == 0, "\(printed.errors)")
        // The command ends its output with a newline that is not part of the script.
        let source = String(printed.output.dropLast())
        return try redis.ask(RedisCommand("SCRIPT", "LOAD", source))[0].expectString()
    }
}
