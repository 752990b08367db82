import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("usage, output, errors")
    struct UsageTests {
        private let sluice = CommandLine()

        @Test("An operation that cannot start and an existing id are reported; a URL may end with a line break")
        func notes() async throws {
            let hopeless = try await sluice("enqueue", "noop", "--in", "5s", "--expires", "1s")
            #expect(hopeless.code == 0 && hopeless.errors.contains("it never starts"), "\(hopeless.errors)")
            let lines = #"{"name":"noop"}"# + "\n" + #"{"name":"noop","in":"5s","expires":"5s"}"#
            let folder = try TemporaryDirectory()
            let batch = try await sluice("enqueue", "--batch", try folder.file("two.jsonl", lines))
            #expect(batch.code == 0 && batch.errors.contains("line 2: it expires before being due"), "\(batch.errors)")

            let id = try await sluice.enqueue("noop", "--id", "import-1")
            #expect(try await sluice("enqueue", "noop", "--id", "import-1").errors.contains("exists already, ready;"))
            try await sluice.lines("cancel", id)
            let again = try await sluice("enqueue", "noop", "--id", "import-1").errors
            #expect(
                again.contains("exists already, cancelled; nothing was changed; run it again: sluice retry \(id)"),
                "\(again)"
            )

            let url = try #require(sluice.environment(for: ["list"])["SLUICE_REDIS_URL"])
            let outcome = await (try sluice.start(["list"], environment: ["SLUICE_REDIS_URL": url + "\r\n"])).outcome()
            #expect(outcome.code == 0, "\(outcome.errors)")
        }

        @Test(
            "Bad input: the right exit status, the fix as the last line, and nothing enqueued",
            arguments: [
                (["enqueu", "noop"], 64, "did you mean \"enqueue\"?"),
                (["enqueue", "noop", "--frob"], 64, "--frob"),
                (["enqueue"], 64, "nothing to enqueue"),
                (["enqueue", "noop", "a:={\"b\""], 64, "not JSON"),
                (["enqueue", "noop", "--args", "[1,"], 64, "--args is not JSON"),
                (["enqueue", "no{op}"], 64, "operation name"),
                (["enqueue", "echo hello"], 64, "did you mean \"-- echo hello\"?"),
                (["enqueue", "./run | wc"], 64, "try:  sluice enqueue -- sh -c './run | wc'"),
                (["enqueue", "no\u{1B}[31mop"], 64, #"\u{1B}"#),
                (["enqueue", "noop", "-q", "a b"], 64, "queue"),
                (["enqueue", "noop", "-p", "urgent"], 64, "unknown priority"),
                (["enqueue", "noop", "--at", "2020-01-01T00:00:00Z"], 64, "in the past"),
                (["enqueue", "noop", "--at", "tomorrow"], 64, "not a time"),
                (["enqueue", "noop", "--at", "9999-12-31T23:59:59Z"], 64, "more than 100 years away"),
                (["enqueue", "noop", "--in", "5"], 64, "unit"),
                (["enqueue", "noop", "--attempts", "0"], 64, "attempts is 0"),
                (
                    ["enqueue", "noop", "--header", "tenant"], 64,
                    "expected NAME=VALUE"
                ),
                (["enqueue", "noop", "--header", "=x"], 64, "header name \"\" is not allowed"),
                (["enqueue", "noop", "--header", "a=\u{1B}[31m"], 64, "the value of header \"a\""),
                (["enqueue", "noop", "--header", "a=1", "--header", "a=2"], 64, "--header a is given twice"),
                (["schedule", "add", "s", "noop", "--every", "1h", "--header", "a b=1"], 64, "header name \"a b\""),
                (["enqueue", "noop", "--group", "g", "--no-track"], 64, "an operation in a group is always tracked"),
                (
                    ["enqueue", "noop"] + (1...9).flatMap { ["--group", "g\($0)"] }, 64,
                    "at most 8 groups, not 9"
                ),
                (["enqueue", "noop", "--group", ""], 64, "id is empty"),
                (["enqueue", "noop", "--group", "01ARZ3NDEKTSV4RRFFQ69G5FAV"], 3, "no operation 01ARZ3NDEK"),
                (["enqueue", "noop", "--on-end", "g", "--on-success", "g"], 64, "exclude each other"),
                (["enqueue", "noop", "--on-end", "g", "--group", "h"], 64, "--on-end and --group exclude each other"),
                (["enqueue", "noop", "--on-end", "g", "--after", "h"], 64, "--on-end and --after exclude each other"),
                (
                    ["enqueue", "noop", "--on-end", "g", "--unique", "h"], 64,
                    "--on-end and --unique exclude each other"
                ),
                (
                    ["enqueue", "noop", "--on-end", "g", "--limit-key", "h"], 64,
                    "--on-end and --limit-key exclude each other"
                ),
                (["enqueue", "noop", "--on-end", "g", "--in", "1m"], 64, "--on-end and --in exclude each other"),
                (
                    ["enqueue", "--batch", "b", "--on-first-death", "g"], 64,
                    "--on-first-death does not apply to --batch"
                ),
                (["enqueue", "noop", "--on-success", "g"], 3, "no operation g"),
                (["group", "opne", "nightly"], 64, "did you mean \"open\"?"),
                (["group", "open", "a b"], 64, "group \"a b\" is not allowed"),
                (["group", "open", "nightly", "--lease", "8d"], 64, "use 1 second to 7 days"),
                (["group", "open", "nightly", "--if-abandoned", "run"], 64, "if-abandoned"),
                (["group", "open", "nightly", "--group", "outer"], 3, "no operation outer"),
                (["group", "add", "g"], 64, "nothing to add"),
                (["group", "show", "g"], 3, "no operation g"),
                (["group", "wait", "g"], 3, "no operation g"),
                (["group", "cancel", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "-y"], 3, "no operation"),
                (["group", "close", "g", "--read-only"], 5, "read-only"),
                (["enqueue", "noop", "--strict", "-q", "nobody"], 5, "has never been used"),
                (["enqueue", "noop", "--read-only"], 5, "read-only"),
                (["enqueue", "noop", "text=@/no/such/file"], 64, "/no/such/file"),
                (["show", "7QK2M"], 3, "no operation 7QK2M"),
                (["show", "01ARZ3NDEKTSV4RRFFQ69G5FAV"], 3, "no operation 01ARZ3NDEKTSV4RRFFQ69G5FAV"),
                (["cancel", "01ARZ3NDEKTSV4RRFFQ69G5FAV"], 3, "no operation"),
                (["cancel", "--queue", "nobody", "-y"], 3, "no queue \"nobody\""),
                (["cancel"], 64, "nothing to cancel"),
                (["queue", "pause", "nobody"], 3, "no queue"),
                (["worker", "-q", "mail:0"], 64, "weight"),
                (["worker", "-c", "0"], 64, "slots"),
                (["enqueue", "noop", "--durability", "wait"], 64, "durability \"wait\" is unknown"),
                (["enqueue", "noop", "--durability", "wait:0"], 64, "wait:N (1 to 100 replicas)"),
                (["top", "names", "--build", "1", "--since", "1h"], 64, "has times of its own"),
                (["worker", "--build", "a\nb"], 64, "printable characters"),
                (["worker", "--build", ""], 64, "printable characters"),
                (["worker", "--max-operations", "0"], 64, "max operations"),
                (["worker", "--max-rss", "1M"], 64, "at least 16 MiB"),
                (["worker", "--max-rss", "500Q"], 64, "is not a size"),
                (["worker", "--health", "65536"], 64, "needs a port from 0 to 65535"),
                (["worker", "--health", "host:http"], 64, "needs a port from 0 to 65535"),
                (["worker", "--health", "/no/such/folder/health.json"], 78, "cannot be written"),
                (["worker", "--processes", "0"], 64, "--processes is 0"),
                (["worker", "--allow", "exce"], 64, "did you mean \"exec\"?"),
                (["list", "stat:dead"], 64, "did you mean \"state\"?"),
                (["list", "-N", "a b"], 64, "--namespace"),
            ] as [([String], Int32, String)]
        )
        func badInput(arguments: [String], code: Int32, part: String) async throws {
            let outcome = await (try sluice.start(arguments)).outcome()
            #expect(outcome.code == code, "\(outcome.errors)")
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.contains(part), "\(outcome.errors)")
            #expect(!outcome.errors.contains("\u{1B}"))
            #expect(outcome.errors.split(separator: "\n").last?.hasPrefix("  try:  ") == true, "\(outcome.errors)")
            let object = try JSONValue(parsing: await (try sluice.start(["-o", "json"] + arguments)).outcome().errors)
            #expect(object["error"]?["exit"]?.intValue == Int(code))
            #expect(try await sluice.total("enqueued") == 0)
        }

        @Test(
            "An endless JSON array is refused as JSON, with the format to use",
            arguments: [["events"], ["logs", "-f", "01J0000000000000000000000A"]]
        )
        func endlessArray(arguments: [String]) async throws {
            let outcome = await (try sluice.start(arguments + ["-o", "json"])).outcome()
            #expect(outcome.code == 64)
            #expect(outcome.output.isEmpty)
            let error = try JSONValue(parsing: outcome.errors)["error"]
            #expect(error?["exit"]?.intValue == 64)
            #expect(outcome.errors.contains("-o jsonl"), "\(outcome.errors)")
        }

        @Test("A bad line in a batch is named, and nothing of the batch is enqueued")
        func badBatch() async throws {
            let folder = try TemporaryDirectory()
            let path = folder.path("batch.jsonl")
            let lines = Array(repeating: #"{"name":"noop"}"#, count: 16) + [#"{"name":"noop","prioriy":"high"}"#]
            try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
            let outcome = try await sluice("enqueue", "--batch", path)
            #expect(outcome.code == 64)
            #expect(outcome.errors.contains("batch.jsonl:17: unknown field \"prioriy\"; did you mean \"priority\"?"))
            #expect(try await sluice.total("enqueued") == 0)
        }

        @Test("stdout has only data: an enqueue prints the id, and warnings go to stderr")
        func purity() async throws {
            let outcome = try await sluice("enqueue", "noop", "-q", "nobody")
            #expect(outcome.code == 0)
            #expect(OperationID(String(outcome.output.dropLast())) != nil)
            #expect(outcome.errors.contains("no live worker serves queue nobody"))
        }

        @Test("An operation is found by its id or the end of it, with or without its queue")
        func references() async throws {
            let id = try await sluice.enqueue("noop", "-q", "mail")
            for name in [id, String(id.suffix(8)), "…" + id.suffix(8), "mail/" + id, "mail/" + id.suffix(8)] {
                #expect(try await sluice.json("show", name)["id"]?.stringValue == id, "\(name)")
            }
            #expect(try await sluice("show", "video/" + id.suffix(8)).code == 3)
        }

        @Test("An --id that is used again names the same operation")
        func sameID() async throws {
            let first = try await sluice.json("enqueue", "noop", "--id", "order 4711")
            let second = try await sluice.json("enqueue", "noop", "--id", "order 4711")
            #expect(first["isNew"] == true)
            #expect(second["isNew"] == false)
            #expect(first["id"] == second["id"])
        }

        @Test("Without a terminal a command does not ask: it is refused, with the command to use")
        func confirmation() async throws {
            _ = try await sluice.enqueue("noop")
            let refused = try await sluice("cancel", "--all", "--reason", "it's over")
            #expect(refused.code == 5)
            #expect(refused.errors.hasSuffix("  try:  sluice cancel --all --reason 'it'\\''s over' -y\n"))
            #expect(try await sluice.count(.ready) == 1)
            try await sluice.lines("cancel", "--all", "-y")
            #expect(try await sluice.count(.ready) == 0)
        }

        @Test("A command ends quietly when the reader of its stdout goes away")
        func brokenPipe() async throws {
            for _ in 0..<3 { _ = try await sluice.enqueue("noop") }
            let program = Program.directory.appendingPathComponent("sluice").path
            let url = TestUsers.url(sluice.endpoint.description, as: .monitor)
            let list = "\(program) --redis \(url) -N \(sluice.namespace) list -o jsonl"
            let outcome = try await Program.run("/bin/sh", ["-c", "for i in 1 2 3; do \(list); done | head -c 1"])
            #expect(outcome.code == 0 && outcome.output == "{" && outcome.errors.isEmpty, "\(outcome)")
        }

        @Test("CSV output has a header and one row for each item, for every verb")
        func csv() async throws {
            let id = try await sluice.enqueue("sleep", "seconds=9", "-q", "csv", "--in", "1h")
            let other = try await sluice.enqueue("sleep", "seconds=9", "-q", "csv", "--in", "1h")
            func lines(_ words: String...) async throws -> [Substring] {
                let outcome = await (try sluice.start(words + ["-o", "csv"])).outcome()
                return outcome.output.split(separator: "\n")
            }
            let header = "id,state,priority,name,queue,attempt,maxAttempts,enqueuedAt,error"
            let shown = try await lines("show", id, other)
            #expect(shown.map { $0.prefix(while: { $0 != "," }) } == ["id", id[...], other[...]])
            #expect(shown.first == header[...])
            let cancelled = try await lines("cancel", id)
            #expect(cancelled == ["id,queue,outcome,message", "\(id),csv,cancelled,cancelled"])
            let queues = try await lines("cancel", "-q", "csv", "-y")
            #expect(queues == ["queue,waiting,executing,left", "csv,1,0,"])
            let ended = try await lines("wait", id, other)
            #expect(ended.first == header[...] && ended.count == 3)
            #expect(ended.dropFirst().allSatisfy { $0.contains(",cancelled,") })
        }

        @Test("No command prints hostile text of arguments, reasons and errors raw to a terminal")
        func hostileText() async throws {
            let evil = "\u{1B}]0;owned\u{07}\u{202E}\r\n\u{9B}31m"
            let id = try await sluice.enqueue("fail", "message=" + evil, "-t", evil, "--attempts", "1", "-q", "evil")
            let end = await (try sluice.start(["worker", "-v", "-q", "evil", "--burst"])).outcome()
            try await sluice.reaches("dead", id)
            var texts = [end.errors, end.output]
            for words in [
                ["show", id], ["show", id, "-o", "json"], ["list"], ["list", "-o", "csv"], ["wait", id], ["stats"],
                ["logs", id],
            ] {
                let outcome = await (try sluice.start(words)).outcome()
                texts += [outcome.output, outcome.errors]
            }
            let allowed: Set<Unicode.Scalar> = ["\n"]
            for text in texts {
                let raw = text.unicodeScalars.filter { $0.isTerminalHazard && !allowed.contains($0) }
                #expect(raw.isEmpty, "\(raw.map(\.value)) in \(text)")
            }
            #expect(texts.joined().contains("owned"))
        }

        @Test(
            "An unreachable Redis: exit 69 within the connect timeout, with what was tried, its source and a fix"
        )
        func unreachable() async throws {
            let started = ContinuousClock.now
            let nowhere = ["SLUICE_REDIS_URL": "redis://127.0.0.1:1"]
            // So long that even a slow machine notes a refused attempt in time.
            let outcome = try await sluice("stats", "--connect-timeout", "10s", environment: nowhere)
            #expect(outcome.code == 69)
            expectPrompt("a Redis that is not there", since: started, promised: .seconds(10))
            for part in [
                "Connection refused", "SLUICE_REDIS_URL in the environment", "redis-cli -h 127.0.0.1 -p 1 ping",
            ] {
                #expect(outcome.errors.contains(part), "\(outcome.errors)")
            }
            #expect(
                try await sluice("worker", "--burst", "--connect-timeout", "500ms", environment: nowhere).code == 69
            )
        }

        @Test("A worker that starts before its Redis says so and waits; SIGTERM ends it")
        func workerWaits() async throws {
            let nowhere = ["SLUICE_REDIS_URL": "redis://127.0.0.1:1"]
            let worker = try sluice.start(["worker", "--connect-timeout", "100ms"], environment: nowhere)
            try await eventually("it says so") { worker.errors.contains("waiting for Redis") }
            worker.send(15)
            #expect(await worker.outcome().code == 0)
        }

        @Test(
            "A refused password is 77, a wrong setting 78",
            .enabled(
                if: TestRedis.isSingle,
                "it is about one server's password; AccessRulesTests have users of a cluster"
            )
        )
        func deniedAndMisconfigured() async throws {
            let server = try TestServer.start(.init(["requirepass right"]))
            let url = "unix://:wrong@\(server.socketPath)"
            #expect(try await sluice("stats", environment: ["SLUICE_REDIS_URL": url]).code == 77)
            #expect(try await sluice("stats", environment: ["SLUICE_REDIS_URL": "http://h"]).code == 78)
        }
    }
}
