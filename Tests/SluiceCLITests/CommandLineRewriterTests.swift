import ArgumentParser
import Testing

@testable import SluiceCLI
@testable import SluiceOperator

@Suite(.timeLimit(.minutes(60)))
struct CommandLineRewriterTests {
    private let rewriter = CommandLineRewriter(RootCommand.self)

    @Test("Options before the verb move after it, with their values")
    func movesOptions() throws {
        #expect(
            try rewriter.rewrite(["--redis", "redis://h", "-N", "shop", "list", "state:dead"]) == [
                "list", "--redis", "redis://h", "-N", "shop", "state:dead",
            ]
        )
        #expect(try rewriter.rewrite(["queue", "--quiet", "ls"]) == ["queue", "ls", "--quiet"])
        #expect(try rewriter.rewrite(["--output=json", "stats"]) == ["stats", "--output=json"])
    }

    @Test("The name of a verb as the value of an option is not a verb")
    func valueIsNoVerb() throws {
        #expect(try rewriter.rewrite(["-N", "list", "stats"]) == ["stats", "-N", "list"])
        #expect(try rewriter.rewrite(["enqueue", "cancel"]) == ["enqueue", "cancel"])
    }

    @Test("Options for help and version stay in place")
    func helpStays() throws {
        #expect(try rewriter.rewrite(["--help"]) == ["--help"])
        #expect(try rewriter.rewrite(["queue", "--help"]) == ["queue", "--help"])
        #expect(try rewriter.rewrite(["help", "queue", "pause"]) == ["help", "queue", "pause"])
        #expect(try rewriter.rewrite(["help", "built-ins"]) == ["help", "built-ins"])
        #expect(try rewriter.rewrite(["--version"]) == ["--version"])
        #expect(try rewriter.rewrite([]) == [])
    }

    @Test(
        "An optional value after = becomes an option of its own",
        arguments: [
            (["cancel", "X", "--wait=10s"], ["cancel", "X", "--wait", "--wait-timeout=10s"]),
            (["worker", "--burst=all"], ["worker", "--burst", "--burst-mode=all"]),
            (["cancel", "--wait", "X"], ["cancel", "--wait", "X"]),
            (["wait", "--waiting=1"], ["wait", "--waiting=1"]),
        ]
    )
    func optionalValue(given: [String], wanted: [String]) throws {
        #expect(try rewriter.rewrite(given) == wanted)
    }

    @Test("A program after -- is passed word by word, whatever its words look like")
    func program() throws {
        #expect(
            try rewriter.rewrite(["enqueue", "--wait", "--", "sh", "-c", "", "--wait=1", "--"])
                == ["enqueue", "--wait"]
                + ["sh", "-c", "", "--wait=1", "--"].map { "--program-word=:" + $0 }
        )
    }

    @Test("A negated term of a query is not an option")
    func negation() throws {
        #expect(try rewriter.rewrite(["list", "-tag:x", "-q", "-N:x"]) == ["list", "!tag:x", "-q", "-N:x"])
        let verb = try RootCommand.parseAsRoot(rewriter.rewrite(["ls", "state:dead", "-tag:x", "--limit", "3"]))
        #expect((verb as? ListVerb)?.query == ["state:dead", "!tag:x"])
    }

    @Test("The words of a program arrive as they were given")
    func programArrives() throws {
        let words = ["sh", "-c", "", "echo 'a b'; exit 3", "--wait=1", "--", "-x"]
        let verb = try RootCommand.parseAsRoot(rewriter.rewrite(["enqueue", "--attempts", "1", "--"] + words))
        #expect((verb as? EnqueueVerb)?.program == words)
        #expect((verb as? EnqueueVerb)?.how.attempts == 1)
    }

    @Test(
        "An unknown verb is refused, with a suggestion if a similar one exists",
        arguments: [
            (["enquue", "x"], "sluice enqueue --help", "did you mean \"enqueue\"?"),
            (["queue", "puase"], "sluice queue pause --help", "did you mean \"pause\"?"),
            (["xyzzy"], "sluice --help", "unknown command \"xyzzy\""),
            (["help", "xyzzy"], "sluice --help", "unknown command \"xyzzy\""),
            (["help", "exit-code"], "sluice help exit-codes", "did you mean \"exit-codes\"?"),
            (["help", "queue", "puase"], "sluice help queue pause", "did you mean \"pause\"?"),
        ]
    )
    func unknownVerb(given: [String], fix: String, part: String) throws {
        let error = #expect(throws: CLIError.self) { try rewriter.rewrite(given) }
        #expect(error?.status == .usage)
        #expect(error?.message.contains(part) == true)
        #expect(error?.fix == fix.replacing("sluice", with: Program.name))
    }

    @Test("bench names the program that it is", arguments: [["bench"], ["bench", "--short"], ["help", "bench"]])
    func bench(given: [String]) {
        let error = #expect(throws: CLIError.self) { try rewriter.rewrite(given) }
        #expect(error?.status == .usage)
        #expect(error?.message.contains("sluice-bench is a program of its own") == true)
        #expect(error?.fix == "swift run -c release sluice-bench")
    }

    @Test("Every verb can be parsed: names and options do not collide")
    func everyVerb() throws {
        for path in paths(rewriter.verbs) where path.first != "help" {
            #expect(throws: (any Error).self) { try RootCommand.parseAsRoot(path + ["--no-such-option"]) }
            #expect(RootCommand.helpMessage(for: try command(path)).contains("--redis"))
        }
    }

    private func paths(_ verbs: CommandLineRewriter.Verbs) -> [[String]] {
        verbs.names.flatMap { name, below in below.names.isEmpty ? [[name]] : paths(below).map { [name] + $0 } }
    }

    private func command(_ path: [String]) throws -> any ParsableCommand.Type {
        try path.reduce(RootCommand.self as any ParsableCommand.Type) { command, name in
            try #require(
                command.configuration.subcommands.first {
                    $0._commandName == name || $0.configuration.aliases.contains(name)
                }
            )
        }
    }
}
