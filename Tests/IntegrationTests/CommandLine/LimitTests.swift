import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("queue limit")
    struct LimitTests {
        private let sluice = CommandLine()

        @Test("An invalid burst is refused without the advice to write none, which a burst cannot be")
        func burst() async throws {
            let refused = try await sluice("queue", "limit", "mail", "rate=5/s", "burst=none")
            #expect(refused.code == 64 && refused.errors.contains("expected a number from 1\n"), "\(refused.errors)")
        }

        @Test("queue limit sets, shows and removes a limit; queue show, JSON and events have it")
        func sets() async throws {
            _ = try await sluice.enqueue("noop")
            #expect(try await sluice.lines("queue", "limit", "default") == ["default: no limits"])
            #expect(try await sluice.json("queue", "show", "default")["limits"]?["concurrency"] == .null)
            let set = try await sluice.lines("queue", "limit", "default", "concurrency=8")
            #expect(set.first?.hasPrefix("default: concurrency 8, 0 executing; set ") == true, "\(set)")
            #expect(try await sluice.json("queue", "limit", "default")["limits"]?["concurrency"]?.intValue == 8)
            let shown = try await sluice("queue", "show", "default").output
            #expect(shown.contains("limits  concurrency 8") && shown.contains("0/8"), "\(shown)")
            let events = try await sluice("events", "--since", "1h", "--no-follow", "--changes").output
            #expect(events.contains("concurrency 8"), "\(events)")
            #expect(try await sluice.lines("queue", "limit", "default", "concurrency=none") == ["default: no limits"])
        }

        @Test("A rate is set with its burst, and shown")
        func rate() async throws {
            _ = try await sluice.enqueue("noop")
            let lines = try await sluice.lines("queue", "limit", "default", "rate=20/1m", "burst=5", "concurrency=3")
            #expect(lines.first?.contains("concurrency 3, rate 20/1m (burst 5), 0 executing") == true, "\(lines)")
            let rate = try await sluice.json("queue", "show", "default")["limits"]?["rate"]
            #expect(rate == ["count": 20, "periodSeconds": 60, "burst": 5], "\(String(describing: rate))")
            let left = try await sluice.lines("queue", "limit", "default", "rate=none")
            #expect(left.first?.contains("default: concurrency 3, 0 executing") == true, "\(left)")
        }

        @Test("A limit of an unused queue is set with a warning; showing it is an error")
        func unknown() async throws {
            _ = try await sluice.enqueue("noop", "-q", "mail")
            let outcome = try await sluice("queue", "limit", "mial", "concurrency=2")
            #expect(outcome.code == 0 && outcome.errors.contains("did you mean \"mail\"?"), "\(outcome.errors)")
            #expect(try await sluice("queue", "limit", "nothing").code == 3)
        }

        @Test(
            "An invalid limit is refused with the reason",
            arguments: [
                ("concurrency=0", "cannot be 0"), ("concurrency=-1", "cannot be -1"),
                ("concurrency=1000001", "cannot be 1000001"), ("concurrency=many", "cannot be \"many\""),
                ("concurrency=", "cannot be \"\""), ("speed=8", "unknown limit \"speed\""),
                ("8", "\"8\" is not a limit"),
                ("rate=0/s", "cannot be 0"), ("rate=5", "cannot be \"5\""), ("rate=5/x", "cannot be \"5/x\""),
                ("rate=5/2d", "use 1ms to 1d"), ("burst=3", "needs a rate"),
            ]
        )
        func wrong(_ word: String, _ text: String) async throws {
            let outcome = try await sluice("queue", "limit", "default", word)
            #expect(outcome.code == 64 && outcome.errors.contains(text), "\(outcome.code) \(outcome.errors)")
        }

        @Test("A reached limit is explained with the ids that use it and the command that raises it")
        func explained() async throws {
            try await sluice.lines("queue", "limit", "default", "concurrency=1", "--quiet")
            let worker = try await sluice.worker()
            let running = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.reaches("executing", running)
            let waiting = try await sluice.enqueue("noop")
            let reason = try #require(try await sluice.json("explain", waiting)["reasons"]?.arrayValue?.first)
            #expect(reason["code"]?.stringValue == "limited", "\(reason)")
            let facts = reason["facts"]?.arrayValue ?? []
            #expect(facts.contains { $0["text"]?.stringValue?.contains(running) == true }, "\(facts)")
            let text = try await sluice("explain", waiting).output
            #expect(text.contains("queue limit default concurrency=2"), "\(text)")
            try await sluice.lines("queue", "limit", "default", "concurrency=2")
            try await sluice.reaches("finished", waiting)
            try await sluice.lines("cancel", running, "--wait=180s")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }
    }
}
