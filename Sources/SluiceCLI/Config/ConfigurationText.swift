import Operations

/// A configuration file: `key = value` lines, in sections such as `[profile.prod]`. This is the part of TOML that settings need.
struct ConfigurationText: Sendable, Equatable {
    /// Values by section; "" = before the first section.
    private(set) var sections: [String: [String: String]] = [:]

    /// Reads a text.
    ///
    /// - Throws: `CLIError` with `.badConfiguration`, which names file and line.
    init(parsing text: String, file: String) throws(CLIError) {
        var section = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = Self.trimmed(line)
            guard let first = line.first, first != "#" else { continue }
            if first == "[" {
                guard let name = Self.section(line) else { throw Self.wrong(file, index, line) }
                section = name
                sections[section, default: [:]] = sections[section] ?? [:]
                continue
            }
            guard let separator = line.firstIndex(of: "="),
                let value = Self.value(Self.trimmed(line[line.index(after: separator)...]))
            else { throw Self.wrong(file, index, line) }
            sections[section, default: [:]][Self.trimmed(line[..<separator])] = value
        }
    }

    /// `prod` for `[prod]`, `profile.a b` for `[profile."a b"]`.
    private static func section(_ line: String) -> String? {
        guard let end = line.lastIndex(of: "]") else { return nil }
        let rest = trimmed(line[line.index(after: end)...])
        guard rest.isEmpty || rest.hasPrefix("#") else { return nil }
        return line[line.index(after: line.startIndex)..<end].filter { $0 != "\"" }
    }

    /// A text in quotes, or a word such as `true` or `50`; behind it may be a comment.
    private static func value(_ text: String) -> String? {
        guard let quote = text.first else { return nil }
        var rest = text.dropFirst()
        guard quote == "\"" || quote == "'" else {
            let word = text.prefix { !$0.isWhitespace && $0 != "#" }
            return isEnd(text[word.endIndex...]) ? String(word) : nil
        }
        var value = ""
        while let character = rest.popFirst() {
            if character == quote { return isEnd(rest) ? value : nil }
            guard character == "\\", quote == "\"" else {
                value.append(character)
                continue
            }
            guard let escaped = rest.popFirst(), let meant = escapes[escaped] else { return nil }
            value.append(meant)
        }
        return nil
    }

    private static let escapes: [Character: Character] = ["n": "\n", "t": "\t", "\\": "\\", "\"": "\""]

    private static func isEnd(_ rest: Substring) -> Bool {
        rest.first { !$0.isWhitespace }.map { $0 == "#" } ?? true
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        String(String(text.drop(while: \.isWhitespace).reversed()).drop(while: \.isWhitespace).reversed())
    }

    private static func wrong(_ file: String, _ index: Int, _ line: String) -> CLIError {
        CLIError(
            .badConfiguration,
            "\(file):\(index + 1): \(OperationsError.quoted(line)) cannot be read",
            fix: "key = \"value\", key = true, or [profile.NAME]"
        )
    }
}
