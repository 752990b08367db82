import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("snoozes")
    struct SnoozeTests {
        private let sluice = CommandLine()

        @Test("Exit code 75 snoozes a program: show, explain, events and JSON say so, and retry runs it")
        func shown() async throws {
            let folder = try TemporaryDirectory()
            let worker = try await sluice.worker("--allow", "exec")
            let script = "[ -e done ] && exit 0; echo export not ready; exit 75"
            let arguments = #"{"argv":["sh","-c","\#(script)"],"cwd":"\#(folder.path(""))","snooze":3600}"#
            let id = try await sluice.enqueue("exec", "--args", arguments)
            try await sluice.reaches("scheduled", id)
            let lines = try await sluice.lines("show", id)
            let line = try #require(lines.first { $0.contains("snoozed    once, until ") }, "\(lines)")
            #expect(line.hasSuffix("export not ready"))
            let snooze = try await sluice.json("show", id)["snooze"]
            #expect(snooze?["count"]?.intValue == 1 && snooze?["until"]?.stringValue != nil)
            let reason = try #require(try await sluice.json("explain", id)["reasons"]?.arrayValue?.first)
            #expect(reason["code"]?.stringValue == "snoozed", "\(reason)")
            let events = try await sluice("events", "--since", "1h", "--no-follow").output
            #expect(events.contains("snoozed, once: export not ready"), "\(events)")
            _ = try folder.file("done", "")
            try await sluice.lines("retry", id)
            try await sluice.reaches("finished", id)
            let ended = try await sluice.json("show", id)
            #expect(ended["attempt"]?.intValue == 1 && ended["errors"]?.arrayValue?.isEmpty == true)
            #expect(ended["snooze"]?["count"]?.intValue == 1 && ended["snooze"]?["until"]?.isNull == true)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }
    }
}
