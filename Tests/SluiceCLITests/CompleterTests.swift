import Testing

@testable import SluiceCLI

@Suite(.timeLimit(.minutes(60)))
struct CompleterTests {
    private let completer = Completer(tree: CommandTree(RootCommand.self))

    private func texts(_ words: String...) -> [String] { completer.propose(words).candidates.map(\.text) }

    @Test("Commands and subcommands are completed with their descriptions")
    func commands() {
        #expect(texts("can") == ["cancel", "cancels"])
        #expect(texts("queue", "pa") == ["pause"])
        #expect(!texts("").contains("complete"), "hidden commands are not offered")
        #expect(completer.propose(["can"]).candidates.first?.note.hasPrefix("Cancel operations") == true)
    }

    @Test("Options and their values are completed, also after =")
    func options() {
        #expect(texts("cancel", "--dry") == ["--dry-run"])
        #expect(texts("-N", "shop", "list", "--sc") == ["--scan-limit"])
        #expect(texts("list", "-o", "js") == ["json", "jsonl"])
        #expect(texts("list", "--output=c") == ["--output=csv"])
        #expect(texts("list", "-N", "") == [])
    }

    @Test("Fields of a query and their values are completed, also if negated, in lists, and in the last of many terms")
    func queries() {
        #expect(texts("list", "pri") == ["priority:"])
        #expect(texts("list", "-st") == ["-state:"])
        #expect(texts("list", "state:dead,ret") == ["state:dead,retrying"])
        #expect(Set(texts("cancel", "-w", "tag:a state:re")) == ["tag:a state:retrying", "tag:a state:ready"])
    }

    @Test("Values that only Redis knows are requested for their arguments and options")
    func dynamic() {
        for (words, kind, before) in [
            (["cancel", ""], Completer.Dynamic.ids, ""), (["cancel", "--queue", "m"], .queues, ""),
            (["worker", "-q", "mail:3,d"], .queues, "mail:3,"), (["enqueue", "Send"], .names, ""),
            (["list", "-t", ""], .tags, ""), (["list", "queue:m"], .queues, "queue:"),
            (["list", "-worker:h"], .workers, "-worker:"), (["workers", "show", ""], .workers, ""),
            (["workers", "quiet", ""], .workers, ""), (["workers", "resume", "a", ""], .workers, ""),
            (["workers", "stop", "h"], .workers, ""), (["workers", "slots", "4", ""], .workers, ""),
            (["workers", "quiet", "--host", ""], .hosts, ""), (["cancels", "rm", ""], .cancels, ""),
            (["schedule", "show", "n"], .schedules, ""), (["schedule", "rm", "a", "n"], .schedules, ""),
            (["schedule", "pause", ""], .schedules, ""), (["schedule", "resume", ""], .schedules, ""),
            (["schedule", "run", ""], .schedules, ""), (["schedule", "preview", ""], .schedules, ""),
            (["group", "show", ""], .groups, ""), (["group", "add", "a", ""], .ids, ""),
            (["enqueue", "noop", "--group", "0"], .groups, ""), (["enqueue", "--on-end=0"], .groups, "--on-end="),
            (["list", "schedule:n"], .schedules, "schedule:"),
            (["queue", "pause", ""], .queues, ""), (["list", "--tag=v"], .tags, "--tag="),
        ] {
            let dynamic = completer.propose(words).dynamic
            #expect(dynamic?.kind == kind && dynamic?.before == before, "\(words)")
        }
        #expect(completer.propose(["enqueue", "noop", "--", ""]).takesFiles)
    }

    /// Names, numbers, limits and words of other commands, which Redis does not know.
    private static let freeTexts: Set = [
        "name", "count", "limit", "id name k=v", "subcommands", "role", "roles", "words", "command",
    ]

    @Test("Each argument of each command is completed or is a free text")
    func arguments() { expectCompleted(CommandTree(RootCommand.self), []) }

    private func expectCompleted(_ command: CommandTree, _ path: [String]) {
        for (index, name) in command.positionals.enumerated() where !Self.freeTexts.contains(name) {
            let proposal = completer.propose(path + Array(repeating: "x", count: index) + [""])
            let isCompleted = proposal.dynamic != nil || proposal.takesFiles || !proposal.candidates.isEmpty
            #expect(isCompleted, "\(path) \(name)")
        }
        for below in command.commands { expectCompleted(below, path + [below.name]) }
    }

    @Test("Only a text that a shell takes as one plain word is proposed")
    func plainWords() {
        let plain = ["mail", "h1/w1", "encode.part7", "user@host:1", "größe", "a=b,c", "50%"]
        let others = [
            "", "-rf", "a b", "a;reboot", "$(reboot)", "`reboot`", "a|b", "a&", "a>b", "a\nb", "a\tb", "it's", "\"a",
            "~root", "*", "a\\b",
            "\u{1B}[31m", "\u{202E}a", "!!", "#a", "{a,b}",
        ]
        #expect(plain.filter { Completer.Candidate(text: $0).isPlainWord } == plain)
        #expect(others.filter { Completer.Candidate(text: $0).isPlainWord } == [])
    }
}
