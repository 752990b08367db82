import Foundation
import Logging
import RedisClient
import Sluice
import Synchronization
import TestSupport
import Testing

/// Workers and clients on a Redis Cluster whose slots move and whose masters die. With `SLUICE_TEST_TOPOLOGY=cluster`,
/// the other tests run on a quiet cluster as well.
@Suite("A cluster", .fewAtOnce, .timeLimit(.minutes(60)))
struct ClusterTests {
    /// Enough queues that every master has some
    private static let queues = (0..<6).map { "q\($0)" }

    /// The operations whose enqueue succeeded
    private final class Enqueued: Sendable {
        private let state = Mutex<[OperationID]>([])
        var ids: [OperationID] { state.withLock { $0 } }
        var count: Int { ids.count }
        func add(_ id: OperationID) { state.withLock { $0.append(id) } }
    }

    private static func client(_ url: String, _ installation: Installation) async throws -> SluiceClient {
        try await SluiceClient.test(url, namespace: installation.namespace, timeouts: .init())
    }

    /// Enqueues into one queue after the other until its task is cancelled.
    private static func produce(_ client: SluiceClient, _ enqueued: Enqueued, _ durability: Durability) async {
        for number in 0... {
            if Task.isCancelled { return }
            let queue = queues[number % queues.count]
            let reference = try? await client.enqueue(name: "noop", .queue(queue), .durability(durability))
            guard let reference else { continue }
            if reference.isConfirmed != false { enqueued.add(reference.id) }
        }
    }

    /// Expects that all operations have finished and that doctor finds no error.
    private static func expectAllFinished(_ enqueued: Enqueued, _ installation: Installation) async throws {
        let ids = enqueued.ids.map(\.description)
        for start in stride(from: 0, to: ids.count, by: 500) {
            try await installation.awaitStates("finished", of: Array(ids[start..<min(start + 500, ids.count)]))
        }
        let doctor = try await installation.sluice("doctor", "--deep")
        #expect(doctor.code == 0, "\(doctor.output) \(doctor.errors)")
        #expect(try await installation.counts().values.allSatisfy { $0 >= 0 })
    }

    @Test("While slots move, producers and workers continue: every operation runs once, and no queue loses one")
    func movingSlots() async throws {
        let cluster = try TestCluster.start()
        defer { cluster.stop() }
        let installation = try Installation(.cluster(cluster))
        let client = try await Self.client(cluster.endpoint.description, installation)
        let worker = try installation.worker(slots: 8, more: "-q", Self.queues.joined(separator: ","))
        try await installation.awaitWorkers(1)
        let enqueued = Enqueued()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await Self.produce(client, enqueued, .none) }
            tasks.addTask { await Self.produce(client, enqueued, .none) }
            let keys =
                Self.queues.map { "{\(installation.namespace)/\($0)}:meta" } + ["\(installation.namespace):queues"]
            for key in keys {
                let slot = try cluster.slot(of: key)
                let home = try cluster.node(for: key)
                let away = try #require(cluster.nodes.first { $0 !== home })
                for (from, to) in [(home, away), (away, home)] {
                    let before = enqueued.count
                    try cluster.beginMove(slot: slot, from: from, to: to)
                    // Keys move one at a time, so calls meet every intermediate state.
                    while try cluster.moveKeys(slot: slot, from: from, to: to, count: 1) > 0 {}
                    try cluster.endMove(slot: slot, from: from, to: to)
                    try await eventually("the producers go on") { enqueued.count >= before + 20 }
                }
            }
            tasks.cancelAll()
        }
        try await Self.expectAllFinished(enqueued, installation)
        let totals = try await installation.totals()
        // A worker gives operations back that it may not start without the answer to a heartbeat.
        #expect((totals["started"] ?? 0) - (totals["returned"] ?? 0) == totals["finished"], "\(totals)")
        await client.close()
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test(
        "A master dies and its replica takes over: no confirmed operation is lost, and work continues"
    )
    func masterDies() async throws {
        let cluster = try TestCluster.start(replicated: true)
        defer { cluster.stop() }
        let installation = try Installation(.cluster(cluster), url: cluster.endpointOfAll.description)
        let client = try await Self.client(cluster.endpointOfAll.description, installation)
        let worker = try installation.worker(slots: 8, more: "-q", Self.queues.joined(separator: ","))
        try await installation.awaitWorkers(1)
        let confirmed = Enqueued()
        let victim = try cluster.node(for: "{\(installation.namespace)/q0}:meta")
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await Self.produce(client, confirmed, .replicas(1)) }
            try await eventually("there is work") { confirmed.count >= 60 }
            victim.crash()
            tasks.cancelAll()
        }
        // The new master has no replica, so it confirms no operation any more, but it accepts all of them.
        let later = Enqueued()
        for queue in Self.queues {
            try await eventually("\(queue) takes operations again") {
                guard let reference = try? await client.enqueue(name: "noop", .queue(queue)) else { return false }
                later.add(reference.id)
                return true
            }
        }
        try await Self.expectAllFinished(confirmed, installation)
        try await Self.expectAllFinished(later, installation)
        await client.close()
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test(
        "While one master is away, other queues work on with their leases; the client's buffer keeps the rest"
    )
    func oneAway() async throws {
        // Without this setting all nodes refuse every call as soon as some slots have no node.
        let cluster = try TestCluster.start([
            "cluster-require-full-coverage no", "appendonly yes", "appendfsync always",
        ])
        defer { cluster.stop() }
        let installation = try Installation(.cluster(cluster), url: cluster.endpointOfAll.description)
        let namespace = installation.namespace
        let registry = try cluster.node(for: "\(namespace):queues")
        let victim = try #require(cluster.nodes.first { $0 !== registry })
        var dead: [String] = []
        var alive: [String] = []
        for number in 0..<60 where dead.count < 3 || alive.count < 3 {
            let queue = "q\(number)"
            if try cluster.node(for: "{\(namespace)/\(queue)}:meta") === victim {
                dead.append(queue)
            } else {
                alive.append(queue)
            }
        }
        let queues = Array(dead.prefix(3) + alive.prefix(3))
        let worker = try installation.worker(slots: 8, lease: 12, more: "-q", queues.joined(separator: ","))
        for queue in queues { try await installation.succeed("enqueue", "noop", "-q", queue, "--wait", "--quiet") }
        let long = try await installation.enqueue("-q", alive[0], "sleep", "seconds:=30")
        try await installation.awaitState("executing", of: "\(alive[0])/\(long)")
        let client = try await SluiceClient.test(
            cluster.endpointOfAll.description,
            namespace: namespace,
            timeouts: .init(),
            buffering: EnqueueBuffering()
        )
        victim.crash()
        let kept = try await client.enqueue(name: "noop", .queue(dead[0]))
        // The running operation takes longer than two leases.
        for queue in alive.prefix(3) {
            try await installation.succeed("enqueue", "noop", "-q", queue, "--wait", "--quiet")
        }
        try await installation.awaitState("finished", of: "\(alive[0])/\(long)")
        let shown = try await installation.show("\(alive[0])/\(long)")
        #expect(shown.delivery == 1 && shown.attempt == 1 && shown.errors.isEmpty)
        #expect(!worker.errors.contains("lease"), "\(worker.errors)")
        try victim.restart()
        try await eventually("what was kept is stored, and run") {
            // The operation is not found while only the client has it.
            try await installation.sluice("wait", "\(dead[0])/\(kept.id)", "--timeout", "10s").code == 0
        }
        await client.close()
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test("Any queue wakes an idle worker, whatever its node, and doctor reports each node's problems")
    func wakeUps() async throws {
        let cluster = try TestCluster.start()
        defer { cluster.stop() }
        let installation = try Installation(.cluster(cluster))
        let worker = try installation.worker(lease: 600, more: "-q", Self.queues.joined(separator: ","))
        try await installation.awaitWorkers(1)
        for queue in Self.queues + Self.queues {
            let id = try await installation.enqueue("noop", "-q", queue)
            try await installation.awaitState("finished", of: "\(queue)/\(id)")
            let shown = try await installation.show("\(queue)/\(id)")
            // Measured by the clock of Redis, so the start of the commands does not count. A lost wake-up would cost
            // half a minute.
            let time = try milliseconds(shown.startedAt) - milliseconds(shown.enqueuedAt)
            expectPrompt("the start of an operation of \(queue)", took: .milliseconds(time), promised: .seconds(1))
        }
        let bad = cluster.nodes[1]
        try bad.ask(
            RedisCommand("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"),
            RedisCommand("CONFIG", "SET", "maxmemory", "100mb")
        )
        let doctor = try await installation.sluice("doctor")
        #expect(doctor.code == 1)
        #expect(doctor.output.contains("127.0.0.1:\(bad.options.port)/maxmemory-policy"), "\(doctor.output)")
        let refused = try await installation.sluice("worker")
        #expect(refused.code == 78, "\(refused.errors)")
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test("A cluster node used as a single server is refused, with the URL to use")
    func plainURL() async throws {
        let cluster = try TestCluster.start()
        defer { cluster.stop() }
        let installation = try Installation(.server(cluster.nodes[0]))
        let worker = try await installation.sluice("worker")
        #expect(worker.code == 78)
        #expect(worker.errors.contains("redis+cluster://"), "\(worker.errors)")
        // Some of these queues belong to another node.
        let enqueued = try await withThrowingTaskGroup(of: Program.Outcome.self) { group in
            for queue in Self.queues { group.addTask { try await installation.sluice("enqueue", "noop", "-q", queue) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let refused = enqueued.filter { $0.code != 0 }
        #expect(!refused.isEmpty)
        for outcome in refused { #expect(outcome.errors.contains("redis+cluster://"), "\(outcome.errors)") }
    }
}
