import Operations
import Selectors

/// Finds completions for the cursor of a command line.
struct Completer: Sendable {
    /// Kinds of values that only Redis knows.
    enum Dynamic: Sendable { case queues, tags, workers, hosts, names, ids, schedules, groups, cancels }

    struct Candidate: Sendable, Equatable {
        var text: String
        var note = ""

        /// Whether a shell takes the text as one literal word.
        ///
        /// Names, tags and workers are untrusted, and bash inserts a candidate unquoted: `$(…)` in a tag must not reach
        /// a command line.
        var isPlainWord: Bool {
            !text.isEmpty && !text.hasPrefix("-")
                && text.unicodeScalars.allSatisfy { scalar in
                    scalar.properties.isAlphabetic || "0123456789-_./@:+,%=".unicodeScalars.contains(scalar)
                }
        }
    }

    /// The completions for the cursor.
    struct Proposal: Sendable {
        var candidates: [Candidate] = []
        /// The values to read from Redis, and the text to put before each of them.
        var dynamic: (kind: Dynamic, before: String)?
        /// Whether file names are completed too.
        var takesFiles = false
    }

    let tree: CommandTree

    /// Finds the completions for the last word.
    ///
    /// - Parameter words: the words after the program's name; the last one is at the cursor.
    func propose(_ words: [String]) -> Proposal {
        let current = words.last ?? ""
        var place = Place(command: tree)
        for word in words.dropLast() { place.pass(word) }
        var proposal = proposal(at: place, current)
        proposal.candidates = proposal.candidates.filter { $0.text.hasPrefix(current) }
        return proposal
    }

    private func proposal(at place: Place, _ current: String) -> Proposal {
        if place.isBehindTerminator { return Proposal(takesFiles: true) }
        if let option = place.open { return values(of: option, current, before: "") }
        if current.hasPrefix("-"), !OperationQuery.isTerm(current) {
            guard let separator = current.firstIndex(of: "=") else {
                var proposal = options(of: place.command, current)
                // A negated term begins with a dash, as an option does.
                if place.command.positionals.first == "query" { proposal.candidates += query(current).candidates }
                return proposal
            }
            guard let option = place.command.option(String(current[..<separator])) else { return Proposal() }
            return values(of: option, current, before: String(current[...separator]))
        }
        let commands = place.command.commands
        if !commands.isEmpty {
            return Proposal(candidates: commands.map { Candidate(text: $0.name, note: $0.abstract) })
        }
        let names = place.command.positionals
        guard let name = place.positionals < names.count ? names[place.positionals] : names.last else {
            return Proposal()
        }
        return values(named: name, of: place.command, current)
    }

    private func options(of command: CommandTree, _ current: String) -> Proposal {
        let isLong = current.hasPrefix("--")
        let candidates = command.options.compactMap { option in
            (option.names.first { $0.hasPrefix("--") } ?? (isLong ? nil : option.names.first)).map {
                Candidate(text: $0, note: option.abstract)
            }
        }
        return Proposal(candidates: candidates + [Candidate(text: "--help", note: "Show help.")])
    }

    private func values(of option: CommandTree.Option, _ current: String, before: String) -> Proposal {
        if !option.values.isEmpty { return Proposal(candidates: option.values.map { Candidate(text: before + $0) }) }
        // In a list such as -q mail:3,default only the last value is completed.
        let start = before + Self.list(current.dropFirst(before.count))
        if option.names.contains("--queue") { return Proposal(dynamic: (.queues, start)) }
        if option.names.contains("--tag") || option.names.contains("--tags") {
            return Proposal(dynamic: (.tags, start))
        }
        if option.valueName == "group" { return Proposal(dynamic: (.groups, before)) }
        if option.names.contains("--host") { return Proposal(dynamic: (.hosts, before)) }
        if option.names.contains("--where"), before.isEmpty { return query(current) }
        if option.valueName.contains("file") || option.valueName == "path" { return Proposal(takesFiles: true) }
        return Proposal()
    }

    private func values(named name: String, of command: CommandTree, _ current: String) -> Proposal {
        switch name {
        case "id": Proposal(dynamic: (.ids, ""))
        case "query": query(current)
        case "queue", "queues": Proposal(dynamic: (.queues, ""))
        case "schedule": Proposal(dynamic: (.schedules, ""))
        case "group": Proposal(dynamic: (.groups, ""))
        case "worker", "workers": Proposal(dynamic: (.workers, ""))
        case "queue/id": Proposal(dynamic: (.cancels, ""))
        case "name k=v": Proposal(dynamic: (.names, ""))
        case "shell": Proposal(candidates: CompletionScript.allCases.map { Candidate(text: $0.rawValue) })
        case "file": Proposal(takesFiles: true)
        default: Proposal()
        }
    }

    /// Completes a term of a query: a field, or the value after it.
    private func query(_ current: String) -> Proposal {
        // A query in one word can have several terms.
        let space = current.lastIndex(of: " ").map { String(current[...$0]) } ?? ""
        let term = current.dropFirst(space.count)
        let sign = term.hasPrefix("-") || term.hasPrefix("!") ? String(term.prefix(1)) : ""
        guard let colon = term.firstIndex(of: ":") else {
            let fields = OperationQuery.Field.allCases.map { $0 == .args ? "args." : $0.rawValue + ":" }
            return Proposal(candidates: fields.map { Candidate(text: space + sign + $0) })
        }
        let before = space + term[...colon] + Self.list(term[term.index(after: colon)...])
        switch OperationQuery.Field(rawValue: String(term[..<colon].dropFirst(sign.count))) {
        case .state: return Proposal(candidates: OperationState.allCases.map { Candidate(text: before + $0.rawValue) })
        case .priority:
            return Proposal(candidates: OperationPriority.allCases.map { Candidate(text: before + $0.rawValue) })
        case .queue: return Proposal(dynamic: (.queues, before))
        case .tag: return Proposal(dynamic: (.tags, before))
        case .schedule: return Proposal(dynamic: (.schedules, before))
        case .worker: return Proposal(dynamic: (.workers, before))
        case .name: return Proposal(dynamic: (.names, before))
        case .id: return Proposal(dynamic: (.ids, before))
        default: return Proposal()
        }
    }

    /// The part of a list before its last value.
    private static func list(_ text: some StringProtocol) -> String {
        text.lastIndex(of: ",").map { String(text[...$0]) } ?? ""
    }
}

/// A position in a command line.
private struct Place {
    var command: CommandTree
    /// The option that expects a value here.
    var open: CommandTree.Option?
    /// The number of earlier arguments that belong to no option.
    var positionals = 0
    var isBehindTerminator = false

    init(command: CommandTree) { self.command = command }

    mutating func pass(_ word: String) {
        if isBehindTerminator { return }
        if open != nil { return open = nil }
        if word == "--" { return isBehindTerminator = true }
        if word.hasPrefix("-"), word != "-" {
            if let option = command.option(word), option.takesValue { open = option }
        } else if let next = command.command(word) {
            command = next
        } else {
            positionals += 1
        }
    }
}
