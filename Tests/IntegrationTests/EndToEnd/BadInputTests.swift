import Foundation
import TestSupport
import Testing

/// Wrong input: a clear error, the right exit code, and no partial change.
@Suite("Bad input", .fewAtOnce, .timeLimit(.minutes(60)))
struct BadInputTests {
    /// A command line, its exit code, and words of its error
    struct Case: CustomTestStringConvertible, Sendable {
        var arguments: [String]
        var code: Int32
        var words: [String]
        var testDescription: String { arguments.joined(separator: " ") }

        init(_ arguments: String..., code: Int32 = 64, saying words: String...) {
            (self.arguments, self.code, self.words) = (arguments, code, words)
        }
    }

    static let cases = [
        Case("enqueue", "noop", "--colour", saying: "--colour", "enqueue noop --color"),
        Case("enqeue", "noop", saying: "enqeue", "enqueue"),
        Case("enqueue", "noop", "--args", "{\"a\":", saying: "--args", "JSON"),
        Case("enqueue", "noop", "a:={", saying: "a"),
        Case("enqueue", "noop", "-p", "urgent", saying: "urgent", "veryHigh"),
        Case("enqueue", "noop", "--at", "2020-01-01T00:00:00Z", saying: "past", "drop --at"),
        Case("enqueue", "noop", "--in", "soon", saying: "soon"),
        Case("enqueue", "no{op}", saying: "no{op}"),
        Case("enqueue", "no\u{1b}[31mop", saying: #"\u{1B}"#),
        Case("enqueue", "noop", "-q", "ma{il}", saying: "ma{il}", "queue"),
        Case("enqueue", "noop", "-q", "mail\nbox", saying: "mail"),
        Case("enqueue", "noop", "-N", "a b", saying: "a b", "--namespace"),
        Case("enqueue", "noop", "--attempts", "0", saying: "attempts"),
        Case("enqueue", "noop", "--attempts", "many", saying: "many"),
        Case("enqueue", saying: "nothing to enqueue"),
        Case("enqueue", "noop", "-q", "mial", "--strict", code: 5, saying: "mial", "--strict"),
        Case("enqueue", "--batch", "/nowhere/batch.jsonl", saying: "/nowhere/batch.jsonl"),
        Case("enqueue", "--batch", "/tmp", saying: "cannot read /tmp", "directory"),
        Case("enqueue", "--lines", "/tmp", saying: "cannot read /tmp", "directory"),
        Case("worker", "--outage-grace", "import=soon", saying: "import=soon", "--outage-grace 10m"),
        Case("worker", "--outage-grace", "queue:a{b=1s", saying: "a{b", "queue"),
        Case("show", "01ARZ3NDEKTSV4RRFFQ69G5FAV", code: 3, saying: "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        Case("cancel", "01ARZ3NDEKTSV4RRFFQ69G5FAV", code: 3, saying: "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        Case("logs", "01ARZ3NDEKTSV4RRFFQ69G5FAV", code: 3, saying: "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        Case("show", "not an id!", code: 3, saying: "not an id!"),
        Case("cancel", saying: "nothing to cancel"),
        Case("cancel", "--all", code: 5, saying: "-y"),
        Case("worker", "-c", "0", saying: "0"),
        Case("worker", "-c", "many", saying: "many"),
        Case("worker", "--allow", "everything", saying: "everything", "exec"),
        Case("worker", "-q", "ma il", saying: "ma il"),
        Case("list", "--redis", "http://example.org", saying: "\"http\"", "redis://"),
    ]

    @Test("An empty batch enqueues nothing and succeeds", arguments: ["--batch", "--lines"])
    func emptyBatch(option: String) async throws {
        let installation = try Installation()
        let outcome = try await installation.sluice("enqueue", option, "-")
        #expect(outcome.code == 0 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errors.contains("nothing to enqueue"))
    }

    @Test("The error names problem and fix, the exit code fits, and nothing is enqueued", arguments: cases)
    func refused(_ example: Case) async throws {
        let installation = try Installation()
        // `cancel --all` asks only if an operation waits.
        let waiting = try await installation.enqueue("noop", "--in", "1h")
        let outcome = try await Program.run("sluice", example.arguments, environment: installation.environment)
        #expect(outcome.code == example.code, "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("error: "), "\(outcome.errors)")
        for word in example.words { #expect(outcome.errors.contains(word), "\(word) in: \(outcome.errors)") }
        expectSafe(outcome.errors)
        #expect(try await installation.succeed("list", "-o", "id") == waiting)
        #expect(try await installation.show(waiting).state == "scheduled")
    }

    @Test("In JSON mode the error is one object on standard error with the same code")
    func json() async throws {
        let installation = try Installation()
        let outcome = try await installation.sluice("enqueue", "noop", "-p", "urgent", "-o", "json")
        #expect(outcome.code == 64)
        #expect(outcome.output.isEmpty)
        struct Report: Decodable {
            struct Content: Decodable { var exit: Int32, message: String }
            var v: Int, error: Content
        }
        let report = try JSONDecoder().decode(Report.self, from: Data(outcome.errors.utf8))
        #expect(report.v == 1)
        #expect(report.error.exit == 64)
        #expect(report.error.message.contains("urgent"))
    }

    @Test(
        "A bad line 17 of a batch is named with file and line, and nothing of the batch is enqueued",
        arguments: [
            #"{"name":"noop","args":{"a":}}"#, #"{"name":"noop","priority":"urgent"}"#, #"{"name":"no{op}"}"#,
            #"{"name":"noop","colour":"red"}"#, #"["noop"]"#, #"{"args":{}}"#,
            #"{"name":"noop","at":"2020-01-01T00:00:00Z"}"#,
        ]
    )
    func badLine(_ line: String) async throws {
        let installation = try Installation()
        let path = installation.folder.path("batch.jsonl")
        let lines = Array(repeating: #"{"name":"noop"}"#, count: 16) + [line] + [#"{"name":"noop"}"#]
        try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        let outcome = try await installation.sluice("enqueue", "--batch", path)
        #expect(outcome.code == 64, "\(outcome.errors)")
        #expect(outcome.errors.contains("batch.jsonl:17"), "\(outcome.errors)")
        #expect(outcome.errors.contains("nothing was enqueued"), "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
        #expect(try await installation.succeed("list", "-o", "id").isEmpty)
    }

    @Test("A payload above the limit is refused with size and limit; below it the bytes come back unchanged")
    func oversize() async throws {
        let installation = try Installation()
        let limit = 1 << 20
        let large = #"{"text":"\#(String(repeating: "x", count: limit))"}"#
        let refused = try await installation.sluice("enqueue", "noop", "--args", "-", input: large)
        #expect(refused.code == 64, "\(refused.errors)")
        #expect(refused.errors.contains("1048576") || refused.errors.contains("1 MiB"), "\(refused.errors)")
        #expect(try await installation.succeed("list", "-o", "id").isEmpty)
        let text = String(repeating: "é", count: limit / 4)
        let id = try await installation.succeed(
            "enqueue",
            "noop",
            "--args",
            "-",
            "-o",
            "id",
            "--quiet",
            input: #"{"text":"\#(text)","n":9007199254740993}"#
        )
        let shown = try await installation.succeed("show", id, "-o", "json")
        #expect(shown.contains(text))
        #expect(shown.contains("9007199254740993"))
    }
}
