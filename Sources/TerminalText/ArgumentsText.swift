import Operations

/// A short form of an operation's arguments, so that its row differs from others in a table.
///
/// Shows an `exec` operation as its command, with words quoted as a shell reads them. Shows others as `key=value`
/// words, as `enqueue` takes them. Hides values whose key names a secret. Shows a reason in place of arguments that
/// cannot be read.
package enum ArgumentsText {
    private static let limits = JSONLimits(maximumBytes: 4 << 20, maximumDepth: 512, duplicateKeys: .lastWins)
    private static let mark = "***"

    /// - Parameter reading: the operation as it may be shown, after redaction.
    package static func line(_ reading: EnvelopeReading) -> String {
        if let hidden = reading.hiddenArguments { return hidden }
        let envelope = reading.envelope
        guard let value = try? JSONValue(parsing: envelope.arguments, limits: limits) else {
            return SecretWords.hidden(in: String(decoding: envelope.arguments, as: UTF8.self), mark: mark)
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

    /// The command, with all other arguments in parentheses; nil without a list of words.
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

    /// Hides secrets. A number with a secret's key is hidden unless the key counts something: `pin_token=1234`, but
    /// `tokens=500`.
    private static func hidingSecrets(_ value: JSONValue, of key: String) -> JSONValue {
        switch value {
        case .string, .array, .object:
            if SecretWords.isSecret(key) { return .string(mark) }
        case .number: return SecretWords.isSecret(key) && !key.hasSuffix("s") ? .string(mark) : value
        case .null, .bool: return value
        }
        if let text = value.stringValue { return .string(SecretWords.hidden(in: text, mark: mark)) }
        if let object = value.objectValue {
            return .object(JSONObject(object.members.map { ($0.key, hidingSecrets($0.value, of: $0.key)) }))
        }
        return value.arrayValue.map { .array($0.map { hidingSecrets($0, of: "") }) } ?? value
    }
}

/// Recognizes and hides secrets by their names.
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

    /// Hides secrets in a command's words: values of options (`--password X`, `-u NAME:X`), and secrets inside words.
    static func hidden(in words: [String], mark: String) -> [String] {
        var before = ""
        return words.map { word in
            defer { before = word }
            if before.hasPrefix("-"), !before.contains("="), isSecret(before) { return mark }
            if ["-u", "--user"].contains(before), let colon = word.firstIndex(of: ":") { return word[...colon] + mark }
            return hidden(in: word, mark: mark)
        }
    }

    /// Hides the text after names like `TOKEN=`, `"password":` or `Authorization:`.
    static func hidden(in text: String, mark: String) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }) else { return text }
        var shown = ""
        var rest = text[...]
        while let separator = rest.firstIndex(where: { "=:".contains($0) }) {
            let start = rest.index(after: separator)
            let name = rest[..<separator].reversed().drop { "\"'\\ ".contains($0) }.prefix(while: isNameCharacter)
            shown += rest[..<start]
            rest = rest[start...]
            guard isSecret(String(name.reversed())), !rest.hasPrefix("//") else { continue }
            let value = value(rest)
            if value.isEmpty { continue }
            shown += rest[..<value.startIndex] + mark
            rest = rest[value.endIndex...]
        }
        return shown + rest
    }

    /// The value at the start of a text, after blanks and a scheme such as `Bearer`: a text in quotes, or all up to the
    /// next blank or separator.
    private static func value(_ text: Substring) -> Substring {
        var rest = text.drop { $0 == " " || $0 == "\\" }
        if let quote = rest.first, "\"'".contains(quote) {
            rest = rest.dropFirst()
            return rest.prefix { $0 != quote && $0 != "\\" }
        }
        let start = rest.prefix(7).lowercased()
        if let scheme = ["bearer ", "basic ", "token "].first(where: start.hasPrefix) {
            rest = rest.dropFirst(scheme.count)
        }
        return rest.prefix { !" \n\t\"';,&)}]".contains($0) }
    }

    private static func isNameCharacter(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "-_.".contains(character)
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
