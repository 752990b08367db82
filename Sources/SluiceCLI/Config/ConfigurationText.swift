import Operations
import Selectors

/// A configuration file: `key = value` lines, in sections such as `[profile.prod]`. The parser reads only the part of
/// TOML that settings need.
struct ConfigurationText: Sendable, Equatable {
    struct Setting: Sendable, Equatable {
        var text: String
        /// The line number, counted from 1.
        var line: Int
    }

    struct Section: Sendable, Equatable {
        var settings: [String: Setting] = [:]
        /// The line of the section's name, counted from 1.
        var line: Int
    }

    /// Settings by section; "" = before the first section.
    private(set) var sections: [String: Section] = [:]

    /// Parses a text.
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
                if let before = sections[name] { throw Self.twice(file, index, "[\(name)]", before.line) }
                sections[name] = Section(line: index + 1)
                continue
            }
            guard let separator = line.firstIndex(of: "="),
                let value = Self.value(Self.trimmed(line[line.index(after: separator)...]))
            else { throw Self.wrong(file, index, line) }
            let name = Self.trimmed(line[..<separator])
            if let before = sections[section]?.settings[name] { throw Self.twice(file, index, name, before.line) }
            sections[section, default: Section(line: 1)].settings[name] = Setting(text: value, line: index + 1)
        }
    }

    /// Refuses unknown sections, and profiles in a project's file.
    ///
    /// - Throws: `CLIError` with `.badConfiguration`, which names file and line.
    func checkSections(_ file: String, ofProject isProject: Bool) throws(CLIError) {
        for (name, section) in sections.sorted(by: { $0.value.line < $1.value.line }) where name != "" {
            let place = "\(file):\(section.line)"
            guard name.hasPrefix(Self.profile), name != Self.profile else {
                throw Self.unknown(name, place, isProject)
            }
            guard isProject else { continue }
            throw CLIError(
                .badConfiguration,
                "\(place): a project's file cannot have profiles: [\(name)]",
                fix: "write it into ~/.config/sluice/config.toml; \(file) may choose it: "
                    + "profile = \"\(name.dropFirst(Self.profile.count))\""
            )
        }
    }

    private static let profile = "profile."

    private static func unknown(_ name: String, _ place: String, _ isProject: Bool) -> CLIError {
        let words = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let isNear = Suggestion.nearest(to: words[0], among: ["profile"]) != nil
        let near = isNear ? "; did you mean \"[profile.\(words.count > 1 ? words[1] : "NAME")]\"?" : ""
        return CLIError(
            .badConfiguration,
            "\(place): unknown section \(OperationsError.quoted("[\(name)]"))\(near)",
            fix: isProject
                ? "write settings without a section; profiles are in ~/.config/sluice/config.toml"
                : "write settings without a section, or into [profile.NAME]"
        )
    }

    private static func twice(_ file: String, _ index: Int, _ what: String, _ before: Int) -> CLIError {
        CLIError(
            .badConfiguration,
            "\(file):\(index + 1): \(OperationsError.quoted(what)) is already in line \(before)",
            fix: "remove one of the two"
        )
    }

    /// `prod` for `[prod]`, `profile.a b` for `[profile."a b"]`.
    private static func section(_ line: String) -> String? {
        guard let end = line.lastIndex(of: "]") else { return nil }
        let rest = trimmed(line[line.index(after: end)...])
        guard rest.isEmpty || rest.hasPrefix("#") else { return nil }
        return line[line.index(after: line.startIndex)..<end].filter { $0 != "\"" }
    }

    /// A quoted text, or a word such as `true` or `50`; a comment may follow.
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
            "\(file):\(index + 1): \(OperationsError.quoted(line)) is not a valid setting or section",
            fix: "key = \"value\", key = true, or [profile.NAME]"
        )
    }
}
