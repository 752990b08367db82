import RedisClient

/// A page with all scripts. `sluice redis script` prints it, and `docs/scripts.md` is that output.
enum ScriptTable {
    static var page: String {
        let library = ScriptLibrary()
        let rows = ScriptName.allCases.map { row(of: $0, library[$0]) }
        return """
            # Scripts

            Written by `sluice redis script > docs/scripts.md` from the scripts themselves; a test compares. Every call has the key
            `{NAMESPACE/QUEUE}:meta` and the prefix of the queue's channels; all other keys are made from the first one. `id` stands for a
            record, whose key is the operation's id. Only the scripts of changes (`*_change`, `changes`) have another key instead:
            `{NAMESPACE:queues}:changes:meta`.

            | script | what it does | roles | keys | commands |
            |---|---|---|---|---|
            \(rows.joined(separator: "\n"))
            """
    }

    private static func row(of name: ScriptName, _ script: RedisScript) -> String {
        let roles = name.entry.roles.map(\.rawValue).sorted()
        let cells = [
            "`\(name)`", purpose(of: name), roles.joined(separator: ", "),
            keys(script.source).joined(separator: " "), script.commands.sorted().joined(separator: " "),
        ]
        return "| " + cells.joined(separator: " | ") + " |"
    }

    /// The first sentence of the script's file.
    private static func purpose(of name: ScriptName) -> String {
        let line = String(decoding: name.entry.file().prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        let comment = line.drop { $0 == "-" || $0 == " " }
        return String(comment.prefix { $0 != "." && $0 != ":" })
    }

    private static func keys(_ source: String) -> [String] {
        let words = source.matches(of: /'([a-z]+)(?::[0-9]*)?'/).map { String($0.1) }.filter(Keys.kinds.contains)
        return Set(words + ["meta"] + (source.contains("PREFIX .. id") ? ["id"] : [])).sorted()
    }
}

extension RedisBroker {
    /// A page in Markdown: every script with its roles, keys and commands.
    package static var scriptTable: String { ScriptTable.page }
}
