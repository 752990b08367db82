import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("enqueue --unique")
    struct UniqueTests {
        private let sluice = CommandLine()

        @Test("--unique answers with the existing operation; show, list, explain and JSON name the key holder")
        func taken() async throws {
            let first = try await sluice.enqueue("noop", "--unique", "sync 7")
            let again = try await sluice("enqueue", "noop", "--unique", "sync 7")
            #expect(again.output == first + "\n" && again.code == 0)
            #expect(again.errors.contains("\(first) has the unique key; nothing was enqueued"), "\(again.errors)")
            let answer = try await sluice.json("enqueue", "noop", "--unique", "sync 7", "--if-exists", "skip")
            #expect(answer["isNew"] == false && answer["id"]?.stringValue == first)
            let waiting = try await sluice.enqueue("noop", "--unique", "sync 7", "--if-exists", "enqueue")
            let shown = try await sluice.json("show", waiting)
            #expect(shown["state"]?.stringValue == "blocked")
            #expect(shown["unique"]?["key"]?.stringValue == "sync 7")
            #expect(shown["unique"]?["waits"] == true && shown["unique"]?["holder"]?.stringValue == first)
            #expect(try await sluice("show", waiting).output.contains("the end of \(first)"))
            let listed = try await sluice.lines("list", "unique:sync*", "-o", "id")
            #expect(Set(listed) == [first, waiting])
            let reason = try #require(try await sluice.json("explain", waiting)["reasons"]?.arrayValue?.first)
            #expect(reason["code"]?.stringValue == "keyTaken", "\(reason)")
            #expect(reason["text"]?.stringValue?.contains(first) == true, "\(reason)")
            try await sluice.lines("cancel", first, "--quiet")
            #expect(try await sluice.state(waiting) == "ready")
        }

        @Test("auto makes the key from name and arguments, in any order")
        func automatic() async throws {
            let first = try await sluice.enqueue("noop", "a=1", "b=2", "--unique", "auto")
            #expect(try await sluice.enqueue("noop", "b=2", "a=1", "--unique", "auto") == first)
            #expect(try await sluice.enqueue("noop", "a=2", "b=2", "--unique", "auto") != first)
        }

        @Test("A retry of an ended operation is refused while another one holds its key, and the error names it")
        func retry() async throws {
            let first = try await sluice.enqueue("noop", "--unique", "key")
            try await sluice.lines("cancel", first, "--quiet")
            let second = try await sluice.enqueue("noop", "--unique", "key")
            let outcome = try await sluice("retry", first)
            #expect(outcome.code == 5 && (outcome.errors + outcome.output).contains(second), "\(outcome)")
        }

        @Test(
            "A wrong --unique is refused, and nothing is enqueued",
            arguments: [
                (["--unique", ""], "the unique key is empty"),
                (["--unique", String(repeating: "x", count: 129)], "129 bytes"),
                (["--unique", "a\u{1b}[31m"], "control character"),
                (["--unique", "k", "--if-exists", "wait"], "unknown policy \"wait\""),
                (["--unique", "k", "--if-exists", "debounce"], "unknown policy \"debounce\""),
                (["--unique", "k", "--if-exists", "debounce=5s", "--in", "3s"], "debounce sets the start itself"),
                (["--unique", "k", "--no-track"], "always tracked"),
                (["--unique", "k", "--fresh-for", "0s"], "freshFor"),
                (["--if-exists", "join"], "need a unique key"),
            ]
        )
        func wrong(_ words: [String], _ text: String) async throws {
            let outcome = await (try sluice.start(["enqueue", "noop"] + words)).outcome()
            #expect(outcome.code == 64 && outcome.errors.contains(text), "\(outcome.code) \(outcome.errors)")
            #expect(!outcome.errors.contains("\u{1b}[31m"))
            #expect(try await sluice.count(.ready) == 0)
        }
    }
}
