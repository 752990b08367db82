import Operations

/// A short form of an operation's arguments, which tells its row of a table from others.
///
/// For `exec` the command, its words quoted as a shell reads them; for others `key=value` words, as `enqueue` takes them. Values whose key
/// says that they are secret are hidden. What cannot be read says so.
package enum ArgumentsText {
    private static let limits = JSONLimits(maximumBytes: 4 << 20, maximumDepth: 512, duplicateKeys: .lastWins)
    private static let mark = "***"

    /// - Parameter reading: the operation as it may be shown; its redaction has been applied.
    package static func line(_ reading: EnvelopeReading) -> String {
        if let hidden = reading.hiddenArguments { return hidden }
        let envelope = reading.envelope
        guard let value = try? JSONValue(parsing: envelope.arguments, limits: limits) else {
            return String(decoding: envelope.arguments, as: UTF8.self)
        }
        guard let object = value.objectValue else { return word(value) }
        if envelope.name == "exec", let command = command(object) { return command }
        return pairs(object)
    }

    private static func pairs(_ object: JSONObject, without key: String? = nil) -> String {
        object.members.filter { $0.key != key }.map { member in
            "\(ShellWord.quoted(member.key))=\(word(hidingSecrets(member.value, of: member.key)))"
        }.joined(separator: " ")
    }

    /// The command, and in parentheses what else is said; nil = there is no list of words.
    private static func command(_ object: JSONObject) -> String? {
        guard let words = object["argv"]?.arrayValue?.compactMap(\.stringValue), !words.isEmpty,
            words.count == object["argv"]?.arrayValue?.count
        else { return nil }
        let command = SecretWords.hidden(in: words, mark: mark).map(ShellWord.quoted).joined(separator: " ")
        let rest = pairs(object, without: "argv")
        return rest.isEmpty ? command : "\(command) (\(rest))"
    }

    private static func word(_ value: JSONValue) -> String {
        value.stringValue.map { $0 == mark ? $0 : ShellWord.quoted($0) } ?? value.serialized()
    }

    /// Numbers are no secrets: `tokens=500`.
    private static func hidingSecrets(_ value: JSONValue, of key: String) -> JSONValue {
        switch value {
        case .string, .array, .object:
            if SecretWords.isSecret(key) { return .string(mark) }
        case .null, .bool, .number: return value
        }
        if let object = value.objectValue {
            return .object(JSONObject(object.members.map { ($0.key, hidingSecrets($0.value, of: $0.key)) }))
        }
        return value.arrayValue.map { .array($0.map { hidingSecrets($0, of: "") }) } ?? value
    }
}

/// Names that say that what they name is secret.
enum SecretWords {
    private static let parts = [
        "password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey", "credential",
        "authorization", "cookie",
    ]
    private static let whole: Set<String> = ["pass", "pwd", "auth", "key"]

    /// Whether a key like `api_key`, `DB_PASSWORD` or `X-Auth-Token` names a secret.
    static func isSecret(_ key: some StringProtocol) -> Bool {
        let letters = key.lowercased().filter(\.isLetter)
        return whole.contains(letters) || parts.contains { letters.contains($0) }
    }

    /// A command's words with what follows `--password`, `TOKEN=` or `Authorization:` hidden.
    static func hidden(in words: [String], mark: String) -> [String] {
        var hidesNext = false
        return words.map { word in
            defer { hidesNext = word.hasPrefix("-") && !word.contains("=") && isSecret(word) }
            if hidesNext, !word.hasPrefix("-") { return mark }
            guard let end = word.firstIndex(where: { "=:".contains($0) }), isName(word[..<end]), isSecret(word[..<end]),
                !word[end...].hasPrefix("://")
            else { return word }
            return word[...end] + mark
        }
    }

    private static func isName(_ text: Substring) -> Bool {
        text.allSatisfy { $0.isLetter || $0.isNumber || "-_.".contains($0) }
    }
}

/// A word as a POSIX shell reads it back.
enum ShellWord {
    static func quoted(_ word: String) -> String {
        let isPlain = !word.isEmpty && word.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !special.contains($0) }
        return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }

    private static let special = Set("'\"\\$`!*?[](){}<>|&;#~".utf8)
}
