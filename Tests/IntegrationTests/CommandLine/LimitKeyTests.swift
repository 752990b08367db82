import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("limit keys")
    struct LimitKeyTests {
        private let sluice = CommandLine()

        @Test("limits of keys are set, shown, and removed")
        func set() async throws {
            _ = try await sluice.enqueue("noop", "--key", "acme")
            let own = ["key:acme.concurrency=10", "key:acme.weight=4"]
            let lines = try await sluice.lines("queue", "limit", "default", "key.concurrency=2", own[0], own[1])
            let text = "default: key.concurrency 2, key:acme.concurrency 10, key:acme.weight 4, 0 executing"
            #expect(lines.first?.hasPrefix(text) == true, "\(lines)")
            let limits = try await sluice.json("queue", "show", "default")["limits"]
            #expect(limits?["perKey"] == ["concurrency": 2, "weight": .null])
            #expect(limits?["keys"]?["acme"] == ["concurrency": 10, "weight": 4])
            let left = try await sluice.lines(
                "queue",
                "limit",
                "default",
                "key.concurrency=none",
                "key:acme.weight=none"
            )
            #expect(left.first?.hasPrefix("default: key:acme.concurrency 10, 0 executing") == true, "\(left)")
        }

        @Test(
            "limits of keys that cannot be are refused",
            arguments: [
                ("key.concurrency=0", "cannot be 0"), ("key.weight=101", "cannot be 101"),
                ("key.speed=1", "unknown limit"), ("keys.weight=1", "unknown limit"),
                ("key:a b.weight=1", "limit key \"a b\""), ("key:.weight=1", "limit key \"\""),
            ]
        )
        func wrong(_ word: String, _ text: String) async throws {
            let outcome = try await sluice("queue", "limit", "default", word)
            #expect(outcome.code == 64 && outcome.errors.contains(text), "\(outcome.code) \(outcome.errors)")
        }

        @Test("an operation waits for others of its key, says so, and runs when one has ended; other keys go on")
        func waits() async throws {
            try await sluice.lines("queue", "limit", "default", "key.concurrency=1", "--quiet")
            let worker = try await sluice.worker("--slots", "4")
            let running = try await sluice.enqueue("sleep", "seconds:=600", "--key", "acme")
            try await sluice.reaches("executing", running)
            let waiting = try await sluice.enqueue("noop", "--key", "acme")
            let other = try await sluice.enqueue("noop", "--key", "bolt")
            try await sluice.reaches("finished", other)
            let explanation = try await sluice.json("explain", waiting)
            let reason = try #require(explanation["reasons"]?.arrayValue?.first)
            #expect(reason["code"]?.stringValue == "keyLimited", "\(reason)")
            #expect(reason["facts"]?.arrayValue?.contains { $0["text"]?.stringValue == running } == true, "\(reason)")
            #expect(try await sluice.json("show", waiting)["key"] == "acme")
            #expect(try await sluice.lines("list", "limit:acme", "state:ready", "-o", "id") == [waiting])
            let shown = try await sluice.lines("queue", "show", "default")
            #expect(shown.contains("key  acme  1 ready  1/1 executing"), "\(shown)")
            let doctor = try await sluice("doctor", "--deep")
            #expect(doctor.code == 0, "\(doctor.output)")
            try await sluice.lines("cancel", running, "--wait")
            try await sluice.reaches("finished", waiting)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("a key goes with --no-track, a buffer or a bad name as little as a unique one")
        func refused() async throws {
            #expect(try await sluice("enqueue", "noop", "--key", "acme", "--no-track").code == 64)
            #expect(try await sluice("enqueue", "noop", "--key", "a b").code == 64)
        }
    }
}
