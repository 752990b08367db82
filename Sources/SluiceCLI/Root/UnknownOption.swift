import BuiltinOperations
import Operations
import Selectors
import SluiceOperator
import TerminalText

/// An option that ArgumentParser reports as unknown for a command. Suggests the probable intention.
struct UnknownOption {
    private let option: String
    /// The command line as the parser has read it, with the words of the command first.
    private let words: [String]
    /// The command line as it was typed.
    private let arguments: [String]
    private let command: CommandTree
    private let depth: Int

    /// nil if the message has another subject.
    init?(_ message: String, of root: any Verb.Type, words: [String], typed arguments: [String]) {
        guard let match = message.firstMatch(of: /Unknown option '(-[^']*)'/) else { return nil }
        option = String(match.1)
        (self.words, self.arguments) = (words, arguments)
        var (command, depth) = (CommandTree(root), 0)
        while depth < words.count, let next = command.command(words[depth]) { (command, depth) = (next, depth + 1) }
        (self.command, self.depth) = (command, depth)
    }

    /// Words of other queues for an option.
    private static let otherWords = [
        "--key": "--limit-key", "--delay": "--in", "--retries": "--attempts", "--max-attempts": "--attempts",
        "--timeout": "--run-timeout", "--ttl": "--expires",
    ]

    var error: CLIError {
        let names = command.options.flatMap(\.names).filter { $0.hasPrefix("--") } + ["--help"]
        let other = Self.otherWords[option].flatMap { names.contains($0) ? $0 : nil }
        let near = other ?? (option.hasPrefix("--") ? Suggestion.nearest(to: option, among: names) : nil)
        let unknown = "unknown option \(OperationsError.quoted(option))"
        if let near {
            let fix = Program.command(arguments.map { replaced($0, near) })
            return .usage("\(unknown); did you mean \"\(near)\"?", fix: fix)
        }
        if let program = withTerminator {
            return .usage("\(unknown); write a program and its options after --", fix: Program.command(program))
        }
        return .usage(unknown, fix: Program.command(Array(words[..<depth]) + ["--help"]))
    }

    private func replaced(_ word: String, _ near: String) -> String {
        if word == option { return near }
        return word.hasPrefix(option + "=") ? near + word.dropFirst(option.count) : word
    }

    /// The command line with `--` before a probable program: the first word of `enqueue` if the unknown option comes
    /// after it.
    private var withTerminator: [String]? {
        guard words.first == "enqueue", !arguments.contains("--") else { return nil }
        var index = depth
        while index < words.count, words[index] != option {
            let word = words[index]
            guard word.hasPrefix("-") else {
                let isProgram = !word.contains("=") && !BuiltinReference.all.contains { $0.name == word }
                return !isProgram ? nil : Array(words[..<index]) + ["--"] + words[index...]
            }
            index += command.option(word)?.takesValue == true ? 2 : 1
        }
        return nil
    }
}
