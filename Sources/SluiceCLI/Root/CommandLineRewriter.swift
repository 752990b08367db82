import Selectors
import SluiceOperator
import TerminalText

/// Rewrites command lines into a form that the argument parser supports.
///
/// 1. Options before the verb move after it: `sluice --redis URL list` becomes `sluice list --redis URL`.
/// 2. An optional value after `=` becomes an option of its own: `--wait=10s` becomes `--wait --wait-timeout=10s`.
/// 3. Each word of a program after `--` becomes an option, because the parser supports only one list of arguments.
///    After `enqueue` and `schedule add`, `-- ls -l` becomes `--program-word=:ls --program-word=:-l`. The colon is
///    needed because a value may be empty.
/// 4. A negated term of a query, which looks like an option, gets another sign: `-tag:test` becomes `!tag:test`.
/// 5. An unknown verb is an error with a suggestion.
package struct CommandLineRewriter: Sendable {
    /// A tree of verbs.
    package struct Verbs: Sendable {
        package var names: [String: Verbs]

        package init(_ names: [String: Verbs] = [:]) { self.names = names }
    }

    /// Flags with an optional value, and the hidden option for that value.
    private static let optionalValues = ["--wait": "--wait-timeout", "--burst": "--burst-mode"]

    /// The verbs that take a program after `--`, and the hidden option for its words.
    private static let programVerbs = [["enqueue"], ["schedule", "add"]]
    private static let programOption = "--program-word"

    /// Topics of `help` that are not verbs.
    private static let helpTopics = ["exit-codes"] + BuiltinHelp.topics

    package let verbs: Verbs
    /// Global options with a value. The value must not be taken for a verb.
    package let valueOptions: Set<String>

    package init(verbs: Verbs, valueOptions: Set<String>) {
        self.verbs = verbs
        self.valueOptions = valueOptions
    }

    package func rewrite(_ arguments: [String]) throws(CLIError) -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        let words = try moveOptionsBehindVerb(Array(arguments[..<end]))
        try Self.checkOptionalValues(words)
        let head = words.flatMap(Self.splitOptionalValue).map(Self.markNegation)
        guard Self.programVerbs.contains(where: { words.starts(with: $0) }) else { return head + arguments[end...] }
        return head + arguments[end...].dropFirst().map { "\(Self.programOption)=:\($0)" }
    }

    private func moveOptionsBehindVerb(_ words: [String]) throws(CLIError) -> [String] {
        var options: [String] = []
        var path: [String] = []
        var level = verbs
        var rest = words[...]
        while let word = rest.first {
            if word.hasPrefix("-") && word != "-" {
                // After a complete verb, options stay in place. Options for help and version always stay.
                if level.names.isEmpty || Self.isForParser(word) { break }
                options.append(rest.removeFirst())
                if valueOptions.contains(word), let value = rest.popFirst() { options.append(value) }
            } else {
                if level.names.isEmpty { break }
                guard let next = level.names[word] else {
                    if path == ["help"], Self.helpTopics.contains(word) { break }
                    throw unknown(word, at: path, level: level)
                }
                path.append(rest.removeFirst())
                level = next
            }
        }
        return path + options + rest
    }

    private static func isForParser(_ word: String) -> Bool {
        ["-h", "--help", "--version", "--help-hidden"].contains(word) || word.hasPrefix("--generate-completion-script")
    }

    /// Refuses the value of such a flag as a separate word, which the parser would take for an argument.
    private static func checkOptionalValues(_ words: [String]) throws(CLIError) {
        for (flag, value) in zip(words, words.dropFirst()) where optionalValues[flag] != nil {
            let isValue = flag == "--burst" ? value == "all" || value == "ready" : isDuration(value)
            guard isValue else { continue }
            throw .usage(
                "\(flag) needs its value after \"=\", not as a separate word: \"\(value)\"",
                fix: "\(flag)=\(value)"
            )
        }
    }

    private static func isDuration(_ word: String) -> Bool {
        word.first?.isNumber == true && word.last?.isLetter == true && (try? DurationText.parse(word)) != nil
    }

    private static func splitOptionalValue(_ word: String) -> [String] {
        guard let separator = word.firstIndex(of: "="), let option = optionalValues[String(word[..<separator])] else {
            return [word]
        }
        return [String(word[..<separator]), option + word[separator...]]
    }

    private static func markNegation(_ word: String) -> String {
        word.hasPrefix("-") && OperationQuery.isTerm(word) ? "!" + word.dropFirst() : word
    }

    private func unknown(_ word: String, at path: [String], level: Verbs) -> CLIError {
        if word == "bench", path.isEmpty || path == ["help"] {
            return .usage(
                "unknown command \"bench\"; sluice-bench is a program of its own, built from the sources of Sluice",
                fix: "swift run -c release sluice-bench"
            )
        }
        let command = ([Program.name] + path).joined(separator: " ")
        let isOfHelp = path.first == "help"
        let known = level.names.keys.sorted() + (path == ["help"] ? Self.helpTopics : [])
        if let near = Suggestion.nearest(to: word, among: known) {
            let fix = isOfHelp ? "\(command) \(near)" : "\(command) \(near) --help"
            return .usage("unknown command \"\(word)\"; did you mean \"\(near)\"?", fix: fix)
        }
        return .usage("unknown command \"\(word)\"", fix: isOfHelp ? "\(Program.name) --help" : "\(command) --help")
    }
}
