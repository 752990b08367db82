/// The part of an error that is the same whenever the error happens: numbers, ids and quoted texts are replaced.
package enum ErrorSignature {
    /// The most characters of a signature.
    private static let length = 160
    /// A word of hexadecimal digits is an id from this length on.
    private static let hexadecimalLength = 8

    /// `HTTPError: status N of "…"` for `HTTPError: status 503 of "https://h/1"`.
    package static func of(type: String, message: String) -> String {
        let line = message.split(whereSeparator: \.isNewline).first ?? ""
        var rest = "\(type): \(line)"[...]
        var text = ""
        while let character = rest.first, text.count < length {
            if "\"'`".contains(character), !endsInWord(text), let end = rest.dropFirst().firstIndex(of: character) {
                text += "\(character)…\(character)"
                rest = rest[rest.index(after: end)...]
            } else if isWord(character) {
                let word = rest.prefix { isWord($0) || $0 == "-" || $0 == "_" }
                text += isID(word) ? "ID" : withoutNumbers(word, &rest)
                rest = rest[max(rest.startIndex, word.endIndex)...]
            } else {
                text.append(character)
                rest = rest.dropFirst()
            }
        }
        return rest.isEmpty ? text : text + "…"
    }

    private static func isWord(_ character: Character) -> Bool { character.isLetter || character.isNumber }

    private static func endsInWord(_ text: String) -> Bool { text.last.map(isWord) ?? false }

    /// A UUID, a ULID or a long hexadecimal number.
    private static func isID(_ word: Substring) -> Bool {
        let letters = word.filter { $0 != "-" }
        guard letters.contains(where: \.isNumber) else { return false }
        if letters.count >= hexadecimalLength, letters.allSatisfy(\.isHexDigit) { return true }
        return letters.count == 26 && letters.allSatisfy { $0.isASCII && (isWord($0)) }
    }

    /// The word with `N` for each number. A number at the end takes the rest of it (`1.5`, `10.0.0.5:6379`) from the text behind the word.
    private static func withoutNumbers(_ word: Substring, _ rest: inout Substring) -> String {
        var text = ""
        for character in word {
            if !character.isNumber { text.append(character) } else if text.last != "N" { text.append("N") }
        }
        guard word.last?.isNumber ?? false else { return text }
        var behind = rest[word.endIndex...]
        while let mark = behind.first, ".,:".contains(mark), behind.dropFirst().first?.isNumber ?? false {
            behind = behind.dropFirst().drop(while: \.isNumber)
        }
        rest = behind
        return text
    }
}
