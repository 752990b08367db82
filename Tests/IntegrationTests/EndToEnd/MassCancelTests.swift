import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

@Suite("Cancelling everything", .fewAtOnce, .timeLimit(.minutes(60)))
struct MassCancelTests {
    @Test("`cancel --all` ends all operations in the 100 slots of four workers")
    func running() async throws {
        let installation = try Installation()
        let workers = try (0..<4).map { _ in try installation.worker(slots: 25, lease: 60) }
        let ids = try await installation.enqueue(batch: #"{"name":"sleep","args":{"seconds":600}}"#, count: 100)
        try await eventually("all run") { try await installation.counts()["executing"] == 100 }
        let sent = ContinuousClock.now
        let outcome = try await installation.sluice("cancel", "--all", "-y", "--wait=180s")
        expectPrompt("cancel --all of 100 running operations of four workers", since: sent, promised: .seconds(2))
        #expect(outcome.code == 0, "\(outcome.output) \(outcome.errors)")
        let shown = try await installation.show(ids)
        #expect(shown.allSatisfy { $0.state == "cancelled" && $0.cancel?.stoppedAt != nil })
        #expect(try await installation.counts()["executing"] == 0)
        for worker in workers {
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }
    }

    @Test(
        "A million waiting operations that are cancelled with their queue never start; later ones do",
        .enabled(if: TestRedis.isSingle, "one queue is on one node, and the test writes to it past the client")
    )
    func waiting() async throws {
        let count = 1_000_000
        let server = try TestServer.start()
        let installation = try Installation(.server(server))
        let line = installation.ledger.batchLine(seconds: 0)
        let filled = ContinuousClock.now
        try await enqueue(line, count: count, installation)
        print("\(count) operations were enqueued in \(ContinuousClock.now - filled)")
        let tracked = try await installation.enqueue(batch: line, count: 100)
        let scheduled = try await installation.enqueue(["--in", "1s", "--"] + installation.ledger.program(seconds: 0))
        let sent = ContinuousClock.now
        let outcome = try await installation.sluice("cancel", "--queue", "default", "-y")
        print("cancel --queue of \(count) waiting operations took \(ContinuousClock.now - sent)")
        #expect(outcome.code == 0, "\(outcome.errors)")
        // After a late heartbeat, a short lease costs an additional start.
        let worker = try installation.worker(slots: 8, lease: 60)
        let later = try await installation.enqueue(["--in", "2s", "--"] + installation.ledger.program(seconds: 0))
        try await installation.awaitState("finished", of: later)
        #expect(try installation.ledger.starts().map(\.id) == [later])
        #expect(try await installation.totals()["started"] == 1)
        #expect(try await installation.totals()["cancelled"] == count + 101)
        #expect(try await installation.counts()["ready"] == 0)
        try await installation.awaitStates("cancelled", of: tracked + [scheduled])
        withExtendedLifetime(worker) {}
    }

    /// Enqueues directly through the script, as any producer may. The command line of a debug build would need 90
    /// seconds.
    private func enqueue(_ line: String, count: Int, _ installation: Installation) async throws {
        let digest = try await installation.digest(of: "enqueue")
        let namespace = installation.namespace
        try installation.redis.ask(RedisCommand("SADD", "\(namespace):queues", "default"))[0].expectSuccess()
        let operations = (0..<500).map { _ in NewOperation(tracked: false, envelope: Array(line.utf8)) }
        var front: [UInt8] = []
        operations[0].writeFront(into: &front)
        var bodies = operations.map { operation in
            var body: [UInt8] = []
            operation.writeBody(into: &body)
            return body
        }
        for call in 0..<count / 500 {
            var command = RedisCommand("EVALSHA", digest, 1, "{\(namespace)/default}:meta", "", 0, 0, front, 500)
            let digits = Array(String(call + 0x1000, radix: 16, uppercase: true).utf8)
            for index in bodies.indices {
                // A new id each time: four digits of the random part change.
                for (place, digit) in digits.enumerated() { bodies[index][12 + place] = digit }
                command.append(bodies[index])
            }
            try installation.redis.ask(command)[0].expectSuccess()
        }
    }

    @Test("A queue that is cancelled while workers drain it starts nothing after the cancel has returned")
    func draining() async throws {
        let installation = try Installation()
        let workers = try (0..<2).map { _ in try installation.worker(slots: 8) }
        try await installation.awaitWorkers(2)
        // Twenty seconds of work: a busy machine takes its time to cancel.
        let ids = try await installation.enqueue(batch: installation.ledger.batchLine(seconds: 0.2), count: 1600)
        try await eventually("they work") { try installation.ledger.ends().count > 20 }
        #expect(try await installation.sluice("cancel", "--queue", "default", "-y").code == 0)
        let returned = Int(Date().timeIntervalSince1970 * 1000)
        try await eventually("all have ended") {
            let counts = try await installation.counts()
            return counts["finished", default: 0] + counts["cancelled", default: 0] == ids.count
        }
        let shown = try await installation.show(ids)
        #expect(shown.contains { $0.state == "cancelled" && $0.startedAt == nil })
        for operation in shown {
            guard let startedAt = operation.startedAt else { continue }
            #expect(try milliseconds(startedAt) <= returned)
        }
        #expect(try await installation.counts()["executing"] == 0)
        withExtendedLifetime(workers) {}
    }
}
