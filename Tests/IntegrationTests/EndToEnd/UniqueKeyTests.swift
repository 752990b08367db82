import Foundation
import Operations
import TestSupport
import Testing

@Suite("Unique keys", .fewAtOnce, .timeLimit(.minutes(60)))
struct UniqueKeyTests {
    @Test(
        "Racing producers never have two operations of a key in flight while workers are killed; no key is left"
    )
    func race() async throws {
        let installation = try Installation()
        let ledger = installation.ledger
        var workers = try (0..<3).map { _ in try installation.worker(slots: 4) }
        try await installation.awaitWorkers(3)
        let line = ledger.batchLine(seconds: 0.05).dropLast()
        @Sendable func input(_ policy: String) -> String {
            (0..<100).map { #"\#(line),"unique":"key \#($0 % 12)","ifExists":"\#(policy)"}"# }.joined(separator: "\n")
        }
        async let first = installation.succeed("enqueue", "--batch", "-", "-o", "jsonl", input: input("join"))
        async let second = installation.succeed("enqueue", "--batch", "-", "-o", "jsonl", input: input("skip"))
        async let third = installation.succeed("enqueue", "--batch", "-", "-o", "jsonl", input: input("enqueue"))
        try await eventually("some have run") { try ledger.ends().count > 3 }
        for worker in workers.prefix(2) { worker.send(SIGKILL) }
        workers.removeFirst(2)
        workers.append(try installation.worker(slots: 4))
        let answers = try await [first, second, third].map { try Self.answers($0) }
        #expect(answers.allSatisfy { $0.count == 100 })
        #expect(answers[2].allSatisfy { $0.isNew }, "enqueue always adds")

        // Each operation has the key of the lines that it answers.
        var keys: [String: Int] = [:]
        for answers in answers {
            for (number, answer) in answers.enumerated() {
                #expect(keys[answer.id] ?? (number % 12) == number % 12, "it answers lines of two keys")
                keys[answer.id] = number % 12
            }
        }
        try await installation.awaitStates("finished", of: Array(keys.keys))
        try Self.expectOneAtATime(try ledger.lines(), keys, try await installation.show(Array(keys.keys)))
        let doctor = try await installation.sluice("doctor", "--deep", "-o", "json")
        #expect(doctor.code == 0, "\(doctor.output)")
        for key in 0..<12 {
            let answer = try await installation.succeed(
                "enqueue",
                "noop",
                "--unique",
                "key \(key)",
                "-o",
                "jsonl"
            )
            let isNew = try Self.answers(answer).first?.isNew
            #expect(isNew == true, "key \(key) is left")
        }
        for worker in workers { worker.send(SIGTERM) }
        for worker in workers { #expect(await worker.outcome().code == 0) }
    }

    @Test("With replace in a loop, at most one operation runs at any time, and the last one finishes")
    func replace() async throws {
        let installation = try Installation()
        let ledger = installation.ledger
        let workers = try (0..<2).map { _ in try installation.worker(slots: 4, lease: 60) }
        try await installation.awaitWorkers(2)
        var ids: [String: Int] = [:]
        var last = ""
        for number in 0..<40 {
            let program = ledger.program(gate: "end")
            last = try await installation.enqueue(["--unique", "sync", "--if-exists", "replace", "--"] + program)
            ids[last] = 0
            // Sometimes wait until the operation begins.
            if number % 8 == 0 {
                let id = last
                try await eventually("it runs") { try ledger.starts(of: id).count == 1 }
            }
        }
        // The cancel of the operation before is only requested. It has ended when the last one begins.
        let newest = last
        try await eventually("the last one runs") { try ledger.starts(of: newest).count == 1 }
        try ledger.open("end")
        try await installation.awaitState("finished", of: last)
        let shown = try await installation.show(Array(ids.keys))
        #expect(shown.filter { $0.state == "cancelled" }.count == 39)
        #expect(try ledger.starts().count >= 6)
        // A cancelled program writes no end. Runs with an end must not overlap.
        try Self.expectOneAtATime(try ledger.lines(), ids, shown)
        for worker in workers { worker.send(SIGTERM) }
        for worker in workers { #expect(await worker.outcome().code == 0) }
    }

    private struct Answer { var id: String, isNew: Bool }

    private static func answers(_ output: String) throws -> [Answer] {
        try output.split(separator: "\n").map { line in
            let value = try JSONValue(parsing: Array(line.utf8))
            let (id, isNew) = (value["id"]?.stringValue, value["isNew"]?.boolValue)
            return Answer(id: try #require(id), isNew: try #require(isNew as Bool?))
        }
    }

    /// Expects that runs of one key do not overlap. Only the run under the last fence of each operation counts.
    private static func expectOneAtATime(
        _ lines: [Ledger.Line],
        _ keys: [String: Int],
        _ shown: [Shown]
    ) throws {
        let fences = Dictionary(uniqueKeysWithValues: zip(keys.keys, shown).map { ($0, $1.fence) })
        let valid = lines.filter { fences[$0.id] == $0.fence }.sorted { $0.fence < $1.fence }
        for (key, lines) in Dictionary(grouping: valid, by: { keys[$0.id] ?? -1 }) {
            let starts = lines.filter { $0.event == "start" }
            let ends = Dictionary(uniqueKeysWithValues: lines.filter { $0.event == "end" }.map { ($0.id, $0.at) })
            for (one, next) in zip(starts, starts.dropFirst()) {
                guard let end = ends[one.id] else { continue }
                #expect(end <= next.at, "of key \(key), \(next.id) began before \(one.id) had ended")
            }
        }
    }
}
