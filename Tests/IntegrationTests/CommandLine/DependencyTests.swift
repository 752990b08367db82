import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("enqueue --after, graph")
    struct DependencyTests {
        private let sluice = CommandLine()

        private func file(_ lines: [String]) throws -> String {
            let path = try makeTemporaryFolder() + "/batch.jsonl"
            try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }

        @Test("blocks until the others have ended; show, explain, graph and JSON say what it waits for")
        func blocked() async throws {
            let first = try await sluice.enqueue("noop", "--id", "order:7")
            let second = try await sluice.enqueue("noop", "--after", "order:7")
            let third = try await sluice.enqueue("noop", "--after", "\(first):run,\(second):hold")
            let shown = try await sluice.json("show", third)
            #expect(
                shown["state"]?.stringValue == "blocked" && shown["unmetCount"] == 2 && shown["dependencyCount"] == 2
            )
            let policies = shown["dependencies"]?.arrayValue?.compactMap { $0["onFailure"]?.stringValue } ?? []
            #expect(policies.sorted() == ["hold", "run"])
            let dependents = try await sluice.json("show", first)["dependents"]?.arrayValue?.compactMap(\.stringValue)
            #expect(dependents.map(Set.init) == [second, third])
            #expect(try await sluice("show", third).output.contains("needs      \(second) blocked (hold)"))
            let reason = try #require(try await sluice.json("explain", third)["reasons"]?.arrayValue?.first)
            #expect(reason["code"]?.stringValue == "needs", "\(reason)")
            #expect(reason["text"]?.stringValue == "it waits for 2 operations")
            let tree = try await sluice.lines("graph", second)
            #expect(tree.count == 5 && tree[0].contains("3 operations: 2 blocked, 1 ready"), "\(tree)")
            #expect(tree[1].contains(first) && tree.contains { $0.contains(second) && $0.hasSuffix("◀") }, "\(tree)")
            let dot = try await sluice.lines("graph", second, "--dot")
            #expect(dot.contains("  \"\(second)\" -> \"\(third)\" [label=\"hold\"];"), "\(dot)")
            try await sluice.lines("cancel", first, "--quiet")
            #expect(try await sluice.state(second) == "cancelled")
            #expect(try await sluice.state(third) == "blocked")
            let held = try #require(try await sluice.json("explain", third)["reasons"]?.arrayValue?.first)
            #expect(held["text"]?.stringValue?.contains("of which \(second) is cancelled (hold)") == true, "\(held)")
            #expect(held["fix"]?.stringValue?.hasSuffix("retry \(second)") == true, "\(held)")
            let cancelled = try #require(try await sluice.json("explain", second)["reasons"]?.arrayValue?.first)
            #expect(cancelled["fix"]?.stringValue?.hasSuffix("retry \(first) --tree") == true, "\(cancelled)")
            try await sluice.lines("release", third, "--quiet")
            #expect(try await sluice.state(third) == "ready")
        }

        @Test("Lines of a batch wait for each other in any order")
        func batch() async throws {
            let lines = [
                #"{"name":"noop","id":"last","after":["middle-1","middle-2:run"]}"#,
                #"{"name":"noop","id":"middle-1","after":"first"}"#,
                #"{"name":"noop","id":"middle-2","after":["first"]}"#, #"{"name":"noop","id":"first"}"#,
            ]
            let file = try file(lines)
            try await sluice.lines("enqueue", "--batch", file, "--quiet")
            #expect(try await sluice.count(.blocked) == 3)
            #expect(try await sluice.json("graph", "first")["edges"]?.arrayValue?.count == 4)
        }

        @Test("graph draws twenty of many siblings and counts the others by state")
        func folded() async throws {
            let first = try await sluice.enqueue("noop")
            let lines = (0..<45).map { #"{"name":"noop","id":"part-\#($0)","after":"\#(first)"}"# }
            try await sluice.lines("enqueue", "--batch", try file(lines), "--quiet")
            try await sluice.lines("cancel", "part-44", "--quiet")
            let tree = try await sluice.lines("graph", first)
            #expect(tree.count == 23, "the summary, the first, twenty, the others: \(tree)")
            let others = tree.last ?? ""
            #expect(others.hasPrefix("└─ … 25 more: 2") && others.contains(" blocked"), "\(tree)")
        }

        @Test(
            "cancel --tree ends all that depends on one, also what would run; retry --tree runs again what was cancelled because of one"
        )
        func tree() async throws {
            let first = try await sluice.enqueue("noop")
            let second = try await sluice.enqueue("noop", "--after", "\(first):run")
            let third = try await sluice.enqueue("noop", "--after", "\(second):hold")
            let preview = try await sluice("cancel", first, "--tree", "--dry-run")
            #expect(preview.code == 0 && (preview.output + preview.errors).contains("3"), "\(preview)")
            #expect(try await sluice.state(second) == "blocked")
            #expect(try await sluice("cancel", first, "--tree").code == 0)
            for id in [first, second, third] { #expect(try await sluice.state(id) == "cancelled") }

            let root = try await sluice.enqueue("noop")
            let child = try await sluice.enqueue("noop", "--after", root)
            let grandchild = try await sluice.enqueue("noop", "--after", child)
            let other = try await sluice.enqueue("noop", "--after", root)
            try await sluice.lines("cancel", other, "--quiet")
            try await sluice.lines("cancel", root, "--quiet")
            #expect(try await sluice.state(grandchild) == "cancelled")
            #expect(try await sluice("retry", root, "--tree").code == 0)
            #expect(try await sluice.state(root) == "ready")
            #expect(try await sluice.state(child) == "blocked")
            #expect(try await sluice.state(grandchild) == "blocked")
            #expect(try await sluice.state(other) == "cancelled", "an operator has cancelled it")
            let both = try await sluice("retry", "-w", "state:dead", "--tree")
            #expect(both.code == 64 && both.errors.contains("--tree is about operations that are named"))
        }

        @Test("A batch whose lines wait for each other is refused as a whole")
        func cycle() async throws {
            let lines = [#"{"name":"noop","id":"a","after":"b"}"#, #"{"name":"noop","id":"b","after":"a"}"#]
            let file = try file(lines)
            let outcome = try await sluice("enqueue", "--batch", file)
            #expect(outcome.code == 64 && outcome.errors.contains("wait for each other"), "\(outcome)")
            #expect(try await sluice.count(.blocked) == 0)
        }

        @Test("An unknown dependency is an error that names it, and nothing is enqueued")
        func unknown() async throws {
            let outcome = try await sluice("enqueue", "noop", "--after", "no-such")
            #expect(outcome.code == 3 && outcome.errors.contains("the operation to wait for"), "\(outcome)")
            #expect(try await sluice.count(.blocked) == 0)
        }

        @Test(
            "What is wrong is said, and nothing is enqueued",
            arguments: [
                (["--after", ""], "an operation id is empty"), (["--after", "a,,b"], "an operation id is empty"),
                (["--after", "…7QK2MX"], "does not name the operation to wait for"),
                (["--after", "a", "--no-track"], "always tracked"),
                (["--after", "01K8Z6W3N4T5X7Y8A9B0C1D2E3:wait"], "unknown policy \"wait\""),
                (["--after", "other/01K8Z6W3N4T5X7Y8A9B0C1D2E3"], "of its own queue only"),
                (["--after", (1...501).map { "id-\($0)" }.joined(separator: ",")], "at most 500"),
            ]
        )
        func wrong(_ words: [String], _ text: String) async throws {
            let outcome = await (try sluice.start(["enqueue", "noop"] + words)).outcome()
            #expect(outcome.code == 64 && outcome.errors.contains(text), "\(outcome.code) \(outcome.errors)")
        }
    }
}
