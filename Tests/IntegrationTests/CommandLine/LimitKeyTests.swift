import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("limit keys")
    struct LimitKeyTests {
        private let sluice = CommandLine()

        @Test("Limits of keys are set, shown and removed")
        func set() async throws {
            _ = try await sluice.enqueue("noop", "--limit-key", "acme")
            let own = ["key:acme.concurrency=10", "key:acme.weight=4"]
            let lines = try await sluice.lines("queue", "limit", "default", "key.concurrency=2", own[0], own[1])
            let text = "default: key.concurrency 2, key:acme.concurrency 10, key:acme.weight 4, 0 executing"
            #expect(lines.first?.hasPrefix(text) == true, "\(lines)")
            let limits = try await sluice.json("queue", "show", "default")["limits"]
            #expect(limits?["perKey"] == ["concurrency": 2, "weight": .null, "rate": .null])
            #expect(limits?["keys"]?["acme"] == ["concurrency": 10, "weight": 4, "rate": .null])
            let left = try await sluice.lines(
                "queue",
                "limit",
                "default",
                "key.concurrency=none",
                "key:acme.weight=none"
            )
            #expect(left.first?.hasPrefix("default: key:acme.concurrency 10, 0 executing") == true, "\(left)")
        }

        @Test("A rate of keys is set with its burst, shown and removed")
        func rate() async throws {
            _ = try await sluice.enqueue("noop", "--limit-key", "a.b")
            let words = ["key:a.b.burst=5", "key:a.b.rate=20/1m", "key.rate=100/s"]
            let lines = try await sluice.lines("queue", "limit", "default", words[0], words[1], words[2])
            let text = "default: key.rate 100/s (burst 100), key:a.b.rate 20/1m (burst 5), 0 executing"
            #expect(lines.first?.hasPrefix(text) == true, "\(lines)")
            let limits = try await sluice.json("queue", "show", "default")["limits"]
            let perKey: JSONValue = ["count": 100, "periodSeconds": 1, "burst": 100]
            #expect(limits?["perKey"] == ["concurrency": .null, "weight": .null, "rate": perKey])
            #expect(limits?["keys"]?["a.b"]?["rate"] == ["count": 20, "periodSeconds": 60, "burst": 5])
            let events = try await sluice("events", "--since", "1h", "--no-follow", "--changes").output
            #expect(events.contains("key:a.b.rate 20/1m (burst 5)"), "\(events)")
            let left = try await sluice.lines("queue", "limit", "default", "key.rate=none", "key:a.b.rate=none")
            #expect(left == ["default: no limits"])
        }

        @Test(
            "Invalid limits of keys are refused",
            arguments: [
                ("key.concurrency=0", "cannot be 0"), ("key.weight=101", "cannot be 101"),
                ("key.rate=0/s", "the rate of a limit key cannot be 0"), ("key.rate=-1/s", "cannot be -1"),
                ("key:acme.rate=5", "key:acme.rate cannot be \"5\""), ("key.rate=5/x", "cannot be \"5/x\""),
                ("key.rate=many", "key.rate cannot be \"many\""), ("key.rate=5/2d", "use 1ms to 1d"),
                ("key.burst=3", "key.burst needs a rate beside it: key.rate=N/TIME"),
                ("key:a b.rate=1/s", "limit key \"a b\""),
                ("key.speed=1", "unknown limit"), ("keys.weight=1", "unknown limit"),
                ("key:a b.weight=1", "limit key \"a b\""), ("key:.weight=1", "limit key \"\""),
            ]
        )
        func wrong(_ word: String, _ text: String) async throws {
            let outcome = try await sluice("queue", "limit", "default", word)
            #expect(outcome.code == 64 && outcome.errors.contains(text), "\(outcome.code) \(outcome.errors)")
        }

        @Test("An operation waits for others of its key, says so, and runs when one ends; other keys continue")
        func waits() async throws {
            try await sluice.lines("queue", "limit", "default", "key.concurrency=1", "--quiet")
            let worker = try await sluice.worker("--slots", "4")
            let running = try await sluice.enqueue("sleep", "seconds:=600", "--limit-key", "acme")
            try await sluice.reaches("executing", running)
            let waiting = try await sluice.enqueue("noop", "--limit-key", "acme")
            let other = try await sluice.enqueue("noop", "--limit-key", "bolt")
            try await sluice.reaches("finished", other)
            let explanation = try await sluice.json("explain", waiting)
            let reason = try #require(explanation["reasons"]?.arrayValue?.first)
            #expect(reason["code"]?.stringValue == "keyLimited", "\(reason)")
            #expect(reason["facts"]?.arrayValue?.contains { $0["text"]?.stringValue == running } == true, "\(reason)")
            #expect(try await sluice.json("show", waiting)["limitKey"] == "acme")
            #expect(try await sluice.lines("list", "limitKey:acme", "state:ready", "-o", "id") == [waiting])
            let shown = try await sluice.lines("queue", "show", "default")
            #expect(shown.contains("key  acme  1 ready  1/1 executing"), "\(shown)")
            let doctor = try await sluice("doctor", "--deep")
            #expect(doctor.code == 0, "\(doctor.output)")
            try await sluice.lines("cancel", running, "--wait=180s")
            try await sluice.reaches("finished", waiting)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test(
            "A key out of rate names its next start; other keys continue, and it runs once it has a start"
        )
        func outOfRate() async throws {
            try await sluice.lines("queue", "limit", "default", "key.rate=1/1h", "--quiet")
            let worker = try await sluice.worker("--slots", "4")
            let first = try await sluice.enqueue("noop", "--limit-key", "acme")
            try await sluice.reaches("finished", first)
            let waiting = try await sluice.enqueue("noop", "--limit-key", "acme")
            let other = try await sluice.enqueue("noop", "--limit-key", "bolt")
            try await sluice.reaches("finished", other)
            let reason = try #require(try await sluice.json("explain", waiting)["reasons"]?.arrayValue?.first)
            #expect(reason["code"]?.stringValue == "keyRateReached", "\(reason)")
            #expect(reason["text"] == "the rate of key acme is reached: rate 1/1h (burst 1)")
            #expect(reason["facts"]?.arrayValue?.first?["name"] == "next start", "\(reason)")
            let shown = try await sluice.lines("queue", "show", "default")
            let row = "key  acme  1 ready  0 executing  out of rate, next start in "
            #expect(shown.contains { $0.hasPrefix(row) }, "\(shown)")
            let key = try await sluice.json("queue", "show", "default")["limitKeys"]?["top"]?.arrayValue?.first
            #expect(key?["nextStartSeconds"]?.doubleValue.map { $0 > 3000 && $0 <= 3600 } == true, "\(key ?? .null)")
            let doctor = try await sluice("doctor", "--deep")
            #expect(doctor.code == 0, "\(doctor.output)")
            try await sluice.lines("queue", "limit", "default", "key:acme.rate=1/200ms")
            try await sluice.reaches("finished", waiting)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A key is refused with --no-track and with a bad name")
        func refused() async throws {
            #expect(try await sluice("enqueue", "noop", "--limit-key", "acme", "--no-track").code == 64)
            #expect(try await sluice("enqueue", "noop", "--limit-key", "a b").code == 64)
        }
    }
}
