import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("messages")
    struct MessageTests {
        private let sluice = CommandLine()

        private func run(_ arguments: [String]) async throws -> Program.Outcome {
            await (try sluice.start(arguments)).outcome()
        }

        private func batch(_ lines: String...) async throws -> Program.Outcome {
            let folder = try TemporaryDirectory()
            let file = try folder.file("batch.jsonl", lines.joined(separator: "\n"))
            return try await run(["enqueue", "--batch", file])
        }

        @Test("An error names an --id as it was typed, in each command that accepts one")
        func ownIDs() async throws {
            let id = try await sluice.enqueue("noop")
            let outcomes = [
                try await batch(#"{"name":"noop","after":"import-2026"}"#),
                try await run(["enqueue", "noop", "--after", "import-2026"]),
                try await run(["enqueue", "noop", "--after", "default/import-2026:run"]),
                try await run(["depend", id, "--after", "import-2026"]),
                try await run(["depend", id, "--not-after", "import-2026"]),
                try await run(["show", "import-2026"]), try await run(["cancel", "import-2026"]),
                try await run(["group", "add", "import-2026", id]),
                try await run(["enqueue", "noop", "--group", "import-2026"]),
            ]
            for outcome in outcomes {
                #expect(outcome.code == 3, "\(outcome)")
                #expect(outcome.errors.contains("import-2026"), "\(outcome.errors)")
            }
            let member = try await sluice.enqueue("noop", "--id", "import-2027")
            let closed = try await run(["enqueue", "noop", "--group", "import-2027"])
            #expect(closed.code != 0 && closed.errors.contains("import-2027"), "\(member) \(closed.errors)")
        }

        @Test("A batch counts enqueued operations separately from existing ones")
        func counted() async throws {
            _ = try await sluice.enqueue("noop", "--unique", "k")
            let outcome = try await batch(
                #"{"name":"noop","unique":"k","id":"first"}"#,
                #"{"name":"noop","after":"first"}"#
            )
            #expect(outcome.code == 3, "\(outcome)")
            #expect(outcome.errors.contains("0 operations are enqueued, 1 existed already"), "\(outcome.errors)")
        }

        @Test("A message that nothing was enqueued does not also say that it was")
        func once() async throws {
            let first = try await run(["enqueue", "noop", "--unique", "k"])
            #expect(first.errors.contains("enqueued, but no live worker"), "\(first.errors)")
            for words in [["--unique", "k"], ["--id", "a"], ["--id", "a"]] {
                let again = try await run(["enqueue", "noop"] + words)
                let isNothing = ["nothing was enqueued", "nothing was changed"].contains { again.errors.contains($0) }
                #expect(isNothing != again.errors.contains("enqueued, but"), "\(again.errors)")
            }
            let waits = try await run(["enqueue", "noop", "--id", "a"])
            #expect(waits.errors.contains("it waits, but no live worker"), "\(waits.errors)")
            let line = #"{"name":"noop","id":"a"}"#
            let batch = try await batch(line)
            #expect(batch.errors.contains("0 enqueued") && !batch.errors.contains("enqueued, but"), "\(batch.errors)")
        }

        @Test("The ninth callback of a first death is refused, and the error names the limit")
        func callbacks() async throws {
            let group = try #require(try await sluice.lines("group", "open", "import").first)
            for _ in 0..<8 { _ = try await sluice.enqueue("noop", "--on-first-death", group) }
            let ninth = try await run(["enqueue", "noop", "--on-first-death", group])
            #expect(ninth.code == 5 && ninth.errors.contains("8 such callbacks, which is the limit"), "\(ninth.errors)")
            _ = try await sluice.enqueue("noop", "--on-end", group)
        }

        @Test(
            "A small typing mistake is answered with the command to type",
            arguments: [
                (["enqueue", "noop", "--prio", "high"], "sluice enqueue noop --priority high"),
                (["enqueue", "noop", "--key", "acme"], "sluice enqueue noop --limit-key acme"),
                (["enqueue", "noop", "--delay=10m"], "sluice enqueue noop --in=10m"),
                (["list", "--lim=3"], "sluice list --limit=3"),
                (["enqueue", "noop", "--wait", "1s"], "--wait=1s"),
                (["cancel", "7QK2MX", "--wait", "10s"], "--wait=10s"),
                (["worker", "--burst", "all"], "--burst=all"),
                (["enqueue", "sh", "-c", "echo hi"], "sluice enqueue -- sh -c 'echo hi'"),
                (["enqueue", "-q", "mail", "ls", "-l"], "sluice enqueue -q mail -- ls -l"),
                (["worker", "--handler", "x=sh -x"], "--handler x=./x.sh"), (["enqueue", "noop", "-X"], "--help"),
            ]
        )
        func advice(_ words: [String], _ fix: String) async throws {
            let outcome = try await run(words)
            #expect(outcome.code == 64, "\(outcome)")
            let last = outcome.errors.split(separator: "\n").last ?? ""
            #expect(last.hasPrefix("  try:  ") && last.contains(fix), "\(outcome.errors)")
        }

        @Test("A dry run checks arguments of built-in operations, and names against those of workers")
        func dryRun() async throws {
            func dry(_ words: String...) async throws -> Program.Outcome {
                try await run(["enqueue", "--dry-run"] + words)
            }
            let slip = try await dry("sleep", "secnds:=3")
            #expect(slip.code == 64 && slip.errors.contains(#"did you mean "seconds"?"#), "\(slip)")
            #expect(try await dry("sleep").errors.contains(#""seconds" is missing"#))
            let text = try await dry("sleep", "seconds=3")
            #expect(text.code == 64 && text.errors.contains(#""seconds" must be a number, not a string"#), "\(text)")
            #expect(text.errors.contains("NAME:=JSON"))
            #expect(try await dry("sleep", "seconds:=null").errors.contains(#""seconds" is missing"#))
            #expect(try await dry("sleep", "seconds:=-1").errors.contains("from 0 to one year"))
            #expect(
                try await dry("http", "url=http://h", #"headers:={"X":1}"#).errors.contains(
                    #""headers" must be an object of strings"#
                )
            )
            #expect(try await dry("exec", "argv:=[1]").errors.contains(#""argv" must be an array of strings"#))
            #expect(try await dry("sleep", "seconds:=3").errors.contains("no live worker serves queue default"))
            // After a late heartbeat there would be no live worker.
            let worker = try await sluice.worker("--lease", "60s")
            let unknown = try await dry("nosuchop")
            #expect(unknown.code == 0 && unknown.errors.contains(#"no live worker handles "nosuchop""#), "\(unknown)")
            #expect(try await dry("slep").errors.contains(#"did you mean "sleep"?"#))
            #expect(try await !dry("sleep", "seconds:=3").errors.contains("warning"))
            let folder = try TemporaryDirectory()
            let lines = #"{"name":"noop"}"# + "\n" + #"{"name":"sleep","args":{"secnds":3}}"#
            let batch = try await dry("--batch", try folder.file("two.jsonl", lines))
            #expect(batch.code == 64 && batch.errors.contains("two.jsonl:2: sleep has no argument"), "\(batch)")
            #expect(try await sluice.count(.ready) == 0)
            worker.send(SIGTERM)
            _ = await worker.outcome()
        }

        @Test("A log without its beginning says how many lines are missing, unless only the last ones are shown")
        func logs() async throws {
            let id = try await sluice.enqueue("exec", #"argv:=["seq","1200"]"#)
            let worker = await (try sluice.start(["worker", "--burst", "--allow", "exec"])).outcome()
            #expect(worker.code == 0, "\(worker.errors)")
            for words in [["logs", id], ["logs", id, "-f"]] {
                let log = try await run(words)
                let shown = log.output.split(separator: "\n").compactMap { Int($0) }
                let dropped = log.output.firstMatch(of: /(\d+) lines were dropped here/).flatMap { Int($0.1) }
                let gone = log.errors.firstMatch(of: /(\d+) earlier lines? (is|are) left out/).flatMap { Int($0.1) }
                #expect(shown.last == 1200 && shown.count <= 1000)
                // The line that counts the dropped lines may itself be gone.
                #expect(shown.count + (dropped ?? 0) + (gone ?? 0) <= 1200, "\(words): \(log.errors)")
                #expect((dropped ?? 0) + (gone ?? 0) > 0, "\(words): \(log.errors)")
            }
            #expect(try await run(["logs", id, "-n", "5"]).errors.isEmpty)
        }

        @Test("A list in a pipe has aligned columns, whatever states its rows have")
        func aligned() async throws {
            let held = try await sluice.enqueue("a-name-that-is-longer-than-the-others")
            try await sluice.lines("hold", held)
            for number in 0..<3 {
                _ = try await sluice.enqueue("n\(number)", "-p", number == 0 ? "veryHigh" : "normal")
            }
            try await sluice.lines("cancel", try await sluice.enqueue("noop"))
            let lines = try await sluice.lines("list")
            let column = try #require(lines.first?.range(of: "QUEUE"))
            let start = try #require(lines.first).distance(from: lines[0].startIndex, to: column.lowerBound)
            #expect(lines.count == 6)
            for line in lines.dropFirst() { #expect(line.dropFirst(start).hasPrefix("default "), "\(lines)") }
        }

        @Test("A worker of all queues serves a new one without waiting for its lease")
        func newQueue() async throws {
            _ = try await sluice.enqueue("noop", "-q", "old")
            let worker = try await sluice.worker("-q", "*", "--lease", "10m")
            try await sluice.reaches("finished", try await sluice.enqueue("noop", "-q", "new"))
            worker.send(SIGTERM)
            _ = await worker.outcome()
        }
    }
}
