import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("unhandled operations")
    struct UnhandledTests {
        private let sluice = CommandLine()
        private let folder: TemporaryDirectory
        private static let queue = "default"

        init() throws { folder = try TemporaryDirectory() }

        private func snapshot() async throws -> QueueSnapshot {
            try await sluice.broker.snapshot(queue: Self.queue, executingRows: 0)
        }

        private func enqueue(_ numbers: Range<Int>, tracked: Bool = true) async throws -> [OperationID] {
            let operations = numbers.map { number in
                let envelope = OperationEnvelope(name: "job", arguments: Array("\(number)".utf8))
                return NewOperation(tracked: tracked, envelope: envelope.encoded())
            }
            _ = try await sluice.broker.enqueue(operations, queue: Self.queue)
            return operations.map(\.id)
        }

        /// Writes a program that appends its input as a line to a file, and returns the path of the program.
        private func writer(_ file: String) throws -> String {
            try folder.file("job", "#!/bin/sh\nread -r line\necho \"$line\" >>'\(file)'\necho 0\n", mode: 0o755)
        }

        private func beats(_ count: Int) async throws {
            for _ in 0..<count {
                let before = try await snapshot().workers.map(\.beatAt)
                try await eventually("the worker beats") { try await snapshot().workers.map(\.beatAt) != before }
            }
        }

        @Test("100 unhandled operations wait, and run in order once a worker knows the name")
        func waits() async throws {
            let file = folder.path("ran")
            let ignorant = try await sluice.worker("-c", "4", "--lease", "60s", "--handler", "other=/bin/true")
            var first = OperationID()
            for part in 0..<4 {
                let ids = try await enqueue(part * 25..<(part + 1) * 25, tracked: part % 2 == 0)
                if part == 0 { first = ids[0] }
            }
            try await eventually("all are set aside") { try await snapshot().unhandledCount == 100 }
            let before = try await snapshot()
            #expect(before.counts[.ready] == 100 && before.totals["started"] ?? 0 == 0)
            try await beats(2)
            let after = try await snapshot()
            #expect(after.totals == before.totals && after.eventSequence == before.eventSequence)

            let reason = "unhandled: no worker knows job"
            #expect(try await sluice.lines("stats").contains("\(reason) (100 wait in queue default)"))
            #expect(try await sluice.lines("show", first.description).contains { $0.contains(reason) })
            let stats = try await sluice.json("stats")["queues"]?.arrayValue?.first?["unhandled"]
            #expect(stats?["count"]?.intValue == 100)
            let shown = try await sluice.json("show", first.description)
            #expect(shown["unhandled"]?.boolValue == true && shown["startedAt"] == .null)
            let diagnosis = try await sluice("doctor", "--deep", "-o", "json").output
            for code in ["counter", "sum", "lost", "twice", "leftover", "unknownKey"] {
                #expect(!diagnosis.contains("\"\(code)\""), "\(diagnosis)")
            }

            let knowing = try await sluice.worker("-c", "1", "--lease", "60s", "--handler", "job=\(try writer(file))")
            try await eventually("all have run") {
                try await snapshot().totals["finished"] == 100
            }
            let ran = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
            #expect(ran == (0..<100).map(String.init))
            #expect(try await snapshot().unhandledNames == 0)
            for worker in [ignorant, knowing] {
                worker.send(SIGTERM)
                #expect(await worker.outcome().code == 0)
            }
        }

        @Test("A worker that knows a name gets operations that another live worker does not know")
        func both() async throws {
            let file = folder.path("ran")
            let knowing = try await sluice.worker("-c", "1", "--lease", "10m", "--handler", "job=\(try writer(file))")
            let ignorant = try await sluice.worker("-c", "4", "--lease", "10m")
            _ = try await enqueue(0..<60)
            try await eventually("all have run") {
                try await snapshot().totals["finished"] == 60
            }
            #expect(try await snapshot().totals["started"] == 60)
            for worker in [ignorant, knowing] {
                worker.send(SIGTERM)
                #expect(await worker.outcome().code == 0)
            }
        }
    }
}
