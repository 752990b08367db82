import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("hold, release and rerun")
    struct HoldTests {
        private let sluice = CommandLine()

        @Test("Held operations wait for their release; show and explain name the requester and the reason")
        func hold() async throws {
            let held = try await sluice.enqueue("noop", "-t", "letter")
            let scheduled = try await sluice.enqueue("noop", "--in", "1h", "-t", "letter")
            let other = try await sluice.enqueue("noop")
            let lines = try await sluice.lines("hold", "-t", "letter", "-y", "--reason", "ask Ann")
            #expect(lines.allSatisfy { $0.hasSuffix("held") } && lines.count == 2, "\(lines)")
            let worker = try await sluice.worker()
            try await sluice.reaches("finished", other)
            #expect(try await sluice.state(held) == "blocked")
            let shown = try await sluice.json("show", held)
            #expect(shown["hold"]?["reason"]?.stringValue == "ask Ann")
            #expect(try await sluice("show", held).output.contains("ask Ann"))
            let reasons = try await sluice.json("explain", held)["reasons"]?.arrayValue ?? []
            #expect(reasons.first?["code"]?.stringValue == "held", "\(reasons)")
            let twice = try await sluice("hold", held)
            #expect(twice.code == 5 && twice.errors.contains("is blocked"), "\(twice.errors)")
            try await sluice.lines("release", held, scheduled)
            try await sluice.reaches("finished", held)
            #expect(try await sluice.state(scheduled) == "scheduled")
            #expect(try await sluice("release", held).code == 5)
            #expect(try await sluice("release", "01ARZ3NDEKTSV4RRFFQ69G5FAV").code == 3)
            worker.send(SIGTERM)
            _ = await worker.outcome()
        }

        @Test("A rerun is a new operation that names the old one, and may change arguments and queue")
        func rerun() async throws {
            let old = try await sluice.enqueue(
                "noop",
                "to=ann",
                "tries:=1",
                "-t",
                "letter",
                "--header",
                "tenant=acme",
                "-p",
                "high",
                "--attempts",
                "2"
            )
            try await sluice.lines("cancel", old)
            let new = try #require(
                try await sluice.lines("rerun", old, "to=bob", "x:=[1]", "-q", "slow", "-o", "id").first
            )
            let shown = try await sluice.json("show", new)
            #expect(shown["rerunOf"]?.stringValue == old)
            #expect(shown["queue"]?.stringValue == "slow")
            #expect(shown["arguments"] == ["to": "bob", "tries": 1, "x": [1]])
            #expect(shown["tags"] == ["letter"] && shown["priority"]?.stringValue == "high")
            #expect(shown["headers"] == ["tenant": "acme"])
            #expect(try await sluice("show", new).output.contains("header     tenant=acme"))
            #expect(shown["maxAttempts"]?.intValue == 2 && shown["state"]?.stringValue == "ready")
            #expect(try await sluice.state(old) == "cancelled")
            // The command does not find the operations that it makes.
            #expect(try await sluice.lines("rerun", "-t", "letter", "-y", "-o", "id").count == 2)
            let mixed = try await sluice("rerun", old, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
            #expect(mixed.code == 6, "\(mixed.errors)")
        }

        @Test("retry of a finished operation suggests rerun; wrong words and a missing terminal change nothing")
        func usage() async throws {
            let id = try await sluice.enqueue("noop")
            #expect(await (try sluice.start(["worker", "--burst"])).outcome().code == 0)
            let retry = try await sluice("retry", id)
            #expect(retry.code == 5 && retry.errors.contains("sluice rerun \(id)"), "\(retry.errors)")
            #expect(try await sluice("rerun", id, "-e").code == 5)
            #expect(try await sluice("rerun", id, id, "-e").code == 64)
            #expect(try await sluice("rerun", "k=v").code == 64)
            #expect(try await sluice("rerun", id, "k:={").code == 64)
            #expect(try await sluice.count(.ready) == 0)
        }

        @Test("A rerun seals an encrypted operation again for its new id, and is refused without the keys")
        func sealed() async throws {
            let folder = try TemporaryDirectory()
            let keys = folder.path("keys")
            try await sluice.lines("config", "keys", keys, "--encrypt", "--id", "k1")
            let old = try await sluice.enqueue("noop", "user=ann", "--header", "tenant=acme", "--keys-file", keys)
            let refused = try await sluice("rerun", old)
            #expect(refused.code == 5 && refused.errors.contains("--keys-file"), "\(refused.errors)")
            let new = try #require(
                try await sluice.lines("rerun", old, "user=bob", "--keys-file", keys, "-o", "id").first
            )
            let worker = await (try sluice.start(["worker", "--burst", "--keys-file", keys])).outcome()
            #expect(worker.code == 0)
            #expect(try await sluice.state(new) == "finished")
            let shown = await (try sluice.start(["show", new, "-o", "json", "--keys-file", keys])).outcome()
            #expect(try JSONValue(parsing: shown.output)["arguments"] == ["user": "bob"])
            #expect(try JSONValue(parsing: shown.output)["headers"] == ["tenant": "acme"])
        }

        @Test("edit changes priority, time and tags of waiting operations; sealed tags need the keys")
        func edit() async throws {
            let id = try await sluice.enqueue("noop", "-t", "old", "--header", "a=1")
            try await sluice.lines("edit", id, "-p", "high", "-t", "new", "-t", "other")
            var shown = try await sluice.json("show", id)
            #expect(shown["priority"]?.stringValue == "high" && shown["tags"] == ["new", "other"])
            #expect(shown["headers"] == ["a": "1"])
            try await sluice.lines("edit", "-w", "tag:new", "-y", "--in", "1h")
            shown = try await sluice.json("show", id)
            #expect(shown["state"]?.stringValue == "scheduled" && shown["tags"] == ["new", "other"])
            #expect(try await sluice("edit", id, "--at", "2020-01-01T00:00:00Z").code == 5)
            #expect(try await sluice("edit", id, "-p", "urgent").code == 64)
            #expect(try await sluice("edit", id, "-w", "tag:new", "-p", "low").code == 64)
            #expect(try await sluice("edit", id, "-t", "").code == 5)
            #expect(try await sluice("edit", id).code == 5)
            #expect(try await sluice("edit", id, id).code == 64)
            let folder = try TemporaryDirectory()
            let keys = folder.path("keys")
            try await sluice.lines("config", "keys", keys, "--encrypt", "--id", "k1")
            let sealed = try await sluice.enqueue("noop", "user=ann", "--keys-file", keys)
            #expect(try await sluice("edit", sealed, "-t", "x").code == 5)
            try await sluice.lines("edit", sealed, "-p", "low")
            try await sluice.lines("edit", sealed, "-t", "x", "--keys-file", keys)
            #expect(await (try sluice.start(["worker", "--burst", "--keys-file", keys])).outcome().code == 0)
            #expect(try await sluice.state(sealed) == "finished")
            #expect(try await sluice("edit", sealed, "-p", "low").code == 5)
        }

        @Test(
            "purge asks, then removes all waiting operations, and leaves ended ones and other queues alone"
        )
        func purge() async throws {
            let finished = try await sluice.enqueue("noop")
            #expect(await (try sluice.start(["worker", "--burst"])).outcome().code == 0)
            let other = try await sluice.enqueue("noop", "-q", "other")
            for _ in 0..<3 { _ = try await sluice.enqueue("noop", "-p", "low") }
            _ = try await sluice.enqueue("noop", "--no-track")
            try await sluice.lines("hold", try await sluice.enqueue("noop"))
            _ = try await sluice.enqueue("noop", "--in", "1h")
            #expect(try await sluice("queue", "purge", "default").code == 5)
            #expect(try await sluice("queue", "purge", "none", "-y").code == 3)
            let dry = try await sluice("queue", "purge", "default", "--dry-run")
            #expect(dry.code == 0 && dry.errors.contains("6 would be removed"), "\(dry.errors)")
            #expect(try await sluice.lines("queue", "purge", "default", "-y") == ["default: 6 removed"])
            #expect(try await sluice.state(finished) == "finished")
            #expect(try await sluice.state(other) == "ready")
            #expect(try await sluice.count(.blocked) == 0)
            let doctor = try await sluice.json("doctor", "--deep")
            #expect(doctor["errors"]?.intValue == 0, "\(doctor)")
        }
    }
}
