import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("wait")
    struct WaitTests {
        private let sluice = CommandLine()

        private func terminal(_ arguments: String...) throws -> TerminalProgram {
            var environment = sluice.environment(for: arguments)
            environment["NO_COLOR"] = "1"
            return try TerminalProgram("sluice", arguments, width: 120, height: 40, environment: environment)
        }

        private func enqueue(_ count: Int, tag: String) async throws {
            let folder = try TemporaryDirectory()
            let line = #"{"name":"noop","tags":["\#(tag)"]}"#
            let path = try folder.file("noops.jsonl", Array(repeating: line, count: count).joined(separator: "\n"))
            try await sluice.lines("enqueue", "--batch", path)
        }

        @Test("On a terminal wait counts the whole selection and ends with a summary; a pipe gets one line each")
        func terminal() async throws {
            try await enqueue(230, tag: "nightly")
            let sleeper = try await sluice.enqueue("sleep", "seconds:=600", "-t", "nightly")
            let waiting = try terminal("wait", "-t", "nightly")
            try await waiting.shows("0/231")
            let worker = try await sluice.worker()
            try await waiting.shows("230/231")
            try await waiting.shows("1 executing")
            #expect(try await sluice("cancel", sleeper).code == 0)
            #expect(try await waiting.end() == 2)
            #expect(waiting.text.contains("231 of 231 ended in"), "\(waiting.text)")
            #expect(waiting.text.contains("230 finished, 1 cancelled"), "\(waiting.text)")
            #expect(!waiting.text.contains(" finished\n"), "\(waiting.text)")

            let summary = try terminal("wait", "-w", "tag:nightly state:finished")
            #expect(try await summary.end() == 0)
            #expect(summary.text.contains("230 of 230 ended in"), "\(summary.text)")
            let one = try terminal("wait", sleeper)
            #expect(try await one.end() == 2)
            #expect(one.text.contains("\(sleeper) cancelled"), "\(one.text)")
            #expect(try await sluice.lines("wait", "-w", "tag:nightly state:finished").count == 230)
            let verbose = try terminal("wait", "-v", "-w", "tag:nightly state:finished")
            #expect(try await verbose.end() == 0)
            #expect(verbose.text.contains(" finished "), "\(verbose.text)")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A wait for a query includes operations that match later; one for a state does not")
        func joined() async throws {
            let first = try await sluice.enqueue("noop", "-t", "late")
            let all = try terminal("wait", "-t", "late")
            let ready = try terminal("wait", "-w", "tag:late state:ready")
            try await all.shows("0/1")
            try await ready.shows("0/1")
            let second = try await sluice.enqueue("noop", "-t", "late")
            #expect(try await sluice("cancel", first).code == 0)
            #expect(try await ready.end() == 2)
            #expect(!ready.text.contains("of 2"), "\(ready.text)")
            #expect(try await sluice("cancel", second).code == 0)
            #expect(try await all.end() == 2)
            #expect(all.text.contains("2 of 2 ended in"), "\(all.text)")
        }
    }
}
