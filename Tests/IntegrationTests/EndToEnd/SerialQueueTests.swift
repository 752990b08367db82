import Foundation
import TestSupport
import Testing

@Suite("A serial queue", .fewAtOnce, .timeLimit(.minutes(60)))
struct SerialQueueTests {
    @Test("A serial queue never has two operations with valid fences, although workers get SIGKILL and SIGSTOP")
    func serial() async throws {
        let installation = try Installation()
        let ledger = installation.ledger
        #expect(
            try await installation.succeed("queue", "limit", "default", "concurrency=1", "--quiet").contains(
                "concurrency 1"
            )
        )
        var workers = try (0..<4).map { _ in try installation.worker(slots: 4, lease: 30) }
        try await installation.awaitWorkers(4)
        let gated = try await installation.enqueue(["--"] + ledger.program(gate: "all"))
        try await eventually("the first runs") { try ledger.starts(of: gated).count == 1 }
        let ids = try await installation.enqueue(batch: ledger.batchLine(seconds: 0.02), count: 30)

        // Kill the worker that runs the first operation.
        let first = try #require(workers.first { runs(ledger.latest(gated), $0) })
        first.send(SIGKILL)
        workers.removeAll { $0 === first }
        try await eventually("another one runs it") { try ledger.starts(of: gated).count == 2 }
        #expect(try ledger.starts().count == 2, "nothing else has started beside it")

        // Stop the next worker for longer than its lease. The program continues.
        let second = try #require(workers.first { runs(ledger.latest(gated), $0) })
        second.send(SIGSTOP)
        try await eventually("others go on") { try ledger.starts().count > 2 }
        try ledger.open("all")
        try await installation.awaitStates("finished", of: ids + [gated])
        second.send(SIGCONT)
        try await eventually("its log says so") { second.errors.contains("no longer owns the operation") }

        // Only the run under the last fence of each operation counts. In the order of fences, each run begins after the
        // previous one has ended.
        let fences = Dictionary(
            uniqueKeysWithValues: zip(ids + [gated], try await installation.show(ids + [gated])).map { ($0, $1.fence) }
        )
        let lines = try ledger.lines().filter { fences[$0.id] == $0.fence }.sorted { $0.fence < $1.fence }
        let starts = lines.filter { $0.event == "start" }
        let ends = lines.filter { $0.event == "end" }
        try #require(starts.count == 31 && ends.map(\.fence) == starts.map(\.fence))
        for (end, next) in zip(ends, starts.dropFirst()) {
            #expect(end.at <= next.at, "\(next.id) began before \(end.id) had ended")
        }
        for worker in workers { worker.send(SIGTERM) }
        for worker in workers { #expect(await worker.outcome().code == 0) }
    }

    @Test("A limit can be raised and lowered while workers run")
    func live() async throws {
        let installation = try Installation()
        let ledger = installation.ledger
        try await installation.succeed("queue", "limit", "default", "concurrency=2")
        let workers = try (0..<2).map { _ in try installation.worker(slots: 4, lease: 60) }
        try await installation.awaitWorkers(2)
        for number in 0..<8 {
            _ = try await installation.enqueue(["--"] + ledger.program(gate: "\(number / 4)"))
        }
        try await eventually("two run") { try ledger.starts().count == 2 }
        try await installation.succeed("queue", "limit", "default", "concurrency=4")
        try await eventually("four run") { try ledger.starts().count == 4 }
        try await installation.succeed("queue", "limit", "default", "concurrency=1")
        try ledger.open("0")
        try await eventually("four have ended and one more runs") {
            try ledger.ends().count == 4 && ledger.starts().count == 5
        }
        let counts = try await installation.counts()
        #expect(counts["executing"] == 1 && counts["ready"] == 3)
        try await installation.succeed("queue", "limit", "default", "concurrency=none")
        try await eventually("all run") { try ledger.starts().count == 8 }
        try ledger.open("1")
        try await eventually("all have ended") { try await installation.counts()["finished"] == 8 }
        for worker in workers { worker.send(SIGTERM) }
        for worker in workers { #expect(await worker.outcome().code == 0) }
    }

    /// Returns whether this worker started a program, directly or through a guard.
    private func runs(_ line: Ledger.Line?, _ worker: Program) -> Bool {
        guard let line else { return false }
        let own = (try? children(of: worker.identifier)) ?? []
        return own.contains(line.pid) || own.contains { (try? children(of: $0).contains(line.pid)) ?? false }
    }
}

extension Ledger {
    /// Returns the last start of an operation.
    fileprivate func latest(_ id: String) -> Line? { try? starts(of: id).last }
}
