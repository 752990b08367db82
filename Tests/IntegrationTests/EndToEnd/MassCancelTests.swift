import Foundation
import TestSupport
import Testing

@Suite("Cancelling everything", .fewAtOnce)
struct MassCancelTests {
    @Test("`cancel --all` ends what four workers run in all of their 100 slots")
    func running() async throws {
        let installation = try Installation()
        let workers = try (0..<4).map { _ in try installation.worker(slots: 25) }
        let ids = try await installation.enqueue(batch: #"{"name":"sleep","args":{"seconds":600}}"#, count: 100)
        try await eventually("all run", within: .seconds(30)) { try await installation.counts()["executing"] == 100 }
        let sent = ContinuousClock.now
        let outcome = try await installation.sluice("cancel", "--all", "-y", "--wait")
        print("cancel --all of 100 running operations of four workers took \(ContinuousClock.now - sent)")
        #expect(outcome.code == 0, "\(outcome.output) \(outcome.errors)")
        let shown = try await installation.show(ids)
        #expect(shown.allSatisfy { $0.state == "cancelled" && $0.cancel?.stoppedAt != nil })
        #expect(try await installation.counts()["executing"] == 0)
        for worker in workers {
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }
    }

    /// SLUICE_TEST_WAITING=1000000 runs it with the issue's million.
    @Test("Of waiting operations that were cancelled with their queue none ever starts, and those enqueued later do")
    func waiting() async throws {
        let count = ProcessInfo.processInfo.environment["SLUICE_TEST_WAITING"].flatMap(Int.init) ?? 20_000
        let installation = try Installation()
        let path = installation.folder.path("batch.jsonl")
        let line = installation.ledger.batchLine(seconds: 0)
        let untracked = line.dropLast() + #","track":false}"# + "\n"
        try String(repeating: String(untracked), count: count).write(toFile: path, atomically: true, encoding: .utf8)
        try await installation.succeed("enqueue", "--batch", path, "--quiet")
        let tracked = try await installation.enqueue(batch: line, count: 100)
        let scheduled = try await installation.enqueue(["--in", "1s", "--"] + installation.ledger.program(seconds: 0))
        let sent = ContinuousClock.now
        let outcome = try await installation.sluice("cancel", "--queue", "default", "-y")
        print("cancel --queue of \(count) waiting operations took \(ContinuousClock.now - sent)")
        #expect(outcome.code == 0, "\(outcome.errors)")
        let worker = try installation.worker(slots: 8)
        let later = try await installation.enqueue(["--in", "2s", "--"] + installation.ledger.program(seconds: 0))
        try await installation.awaitState("finished", of: later)
        #expect(try installation.ledger.starts().map(\.id) == [later])
        #expect(try await installation.totals()["started"] == 1)
        #expect(try await installation.totals()["cancelled"] == count + 101)
        #expect(try await installation.counts()["ready"] == 0)
        try await installation.awaitStates("cancelled", of: tracked + [scheduled])
        withExtendedLifetime(worker) {}
    }

    @Test("A queue that is cancelled while workers drain it starts nothing after the cancel has returned")
    func draining() async throws {
        let installation = try Installation()
        let workers = try (0..<2).map { _ in try installation.worker(slots: 8) }
        try await installation.awaitWorkers(2)
        let ids = try await installation.enqueue(batch: installation.ledger.batchLine(seconds: 0.05), count: 400)
        try await eventually("they work") { try installation.ledger.ends().count > 20 }
        #expect(try await installation.sluice("cancel", "--queue", "default", "-y").code == 0)
        let returned = Int(Date().timeIntervalSince1970 * 1000)
        let ended: Set = ["finished", "cancelled"]
        try await eventually("all have ended", within: .seconds(20)) {
            try await installation.show(ids).allSatisfy { ended.contains($0.state) }
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
