/// The part of an error that is the same whenever the error happens: ids, times, addresses, counts and quoted texts are replaced. Codes
/// and quoted names stay, because they say what went wrong.
package enum ErrorSignature {
    /// The most characters of a signature.
    private static let length = 160
    /// A word of hexadecimal digits is an id from this length on.
    private static let hexadecimalLength = 8
    /// Behind these words, or at the end of them, a short number is a code.
    private static let codeWords: Set<String> = [
        "http", "https", "status", "statuscode", "smtp", "ftp", "exit", "code", "signal", "errno", "sqlstate", "error",
        "err", "e", "ora",
        "oserror", "winerror", "grpc", "dns", "tls",
    ]
    private static let longestCode = 6
    /// A quoted text of letters is a name up to this length.
    private static let longestName = 40

    /// `HTTPError: status 503 of "…", try N` for `HTTPError: status 503 of "https://h/1", try 2`.
    package static func of(type: String, message: String) -> String {
        let line = message.split(whereSeparator: \.isNewline).first ?? ""
        var reader = Reader(text: "\(type): ", rest: line)
        while reader.text.count < length, reader.next() {}
        return reader.rest.isEmpty ? reader.text : reader.text + "…"
    }

    /// Reads an error from its beginning, and writes its signature.
    private struct Reader {
        private(set) var text: String
        private(set) var rest: Substring
        /// The last word says that a number is a code.
        private var expectsCode = false

        init(text: String, rest: Substring) { (self.text, self.rest) = (text, rest) }

        /// - Returns: false at the end.
        mutating func next() -> Bool {
            guard let character = rest.first else { return false }
            if "\"'`".contains(character), !(text.last.map(isWord) ?? false),
                let end = rest.dropFirst().firstIndex(of: character)
            {
                let quoted = rest[..<end].dropFirst()
                text += isName(quoted) ? "\(character)\(quoted)\(character)" : "\(character)…\(character)"
                rest = rest[rest.index(after: end)...]
                expectsCode = false
            } else if isWord(character) {
                readWord()
            } else {
                // `status=503`, `[Errno 2]` and `SQLSTATE[42P01]` are codes, `exit, 5 left` is none.
                if ",;.".contains(character) { expectsCode = false }
                text.append(character)
                rest = rest.dropFirst()
            }
            return true
        }

        private mutating func readWord() {
            let word = rest.prefix { isWord($0) || $0 == "-" || $0 == "_" }
            if !word.contains(where: \.isNumber) {
                text += word
                rest = rest[word.endIndex...]
                expectsCode = isCodeWord(word)
            } else if let code = code(word) {
                text += code
                rest = rest[code.endIndex...]
            } else {
                text += isID(word) ? "ID" : withoutNumbers(word)
                rest = rest[max(rest.startIndex, word.endIndex)...]
                expectsCode = false
            }
        }

        /// A number behind a code word, with what follows at points (`5.1.1`), or a code word that ends in one (`E11000`, `ORA-00942`).
        private func code(_ word: Substring) -> Substring? {
            let letters = word.prefix { !$0.isNumber }
            let isMarked = isCodeWord(letters.filter { $0 != "-" && $0 != "_" })
            guard isMarked || (expectsCode && word.first?.isNumber ?? false) else { return nil }
            let digits = word.dropFirst(letters.count)
            let isCode = digits.allSatisfy { $0.isASCII && ($0.isNumber || $0.isUppercase) }
            guard isCode, digits.count <= longestCode else { return nil }
            var end = word.endIndex
            while rest[end...].first == ".", rest[end...].dropFirst().first?.isNumber ?? false {
                end = rest[end...].dropFirst().drop(while: \.isNumber).startIndex
            }
            return rest[..<end]
        }

        /// The word with `N` for each number. A number at the end takes the rest of it (`1.5`, `10.0.0.5:6379`) from the text behind the word.
        private mutating func withoutNumbers(_ word: Substring) -> String {
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

    private static func isWord(_ character: Character) -> Bool { character.isLetter || character.isNumber }

    private static func isCodeWord(_ word: some StringProtocol) -> Bool { codeWords.contains(word.lowercased()) }

    /// The name of a field, a class or a command, as opposed to an address, a time or a text.
    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty && text.count <= longestName && text.allSatisfy { $0.isLetter || "_.-".contains($0) }
    }

    /// A UUID, a ULID or a long hexadecimal number.
    private static func isID(_ word: Substring) -> Bool {
        let letters = word.filter { $0 != "-" }
        guard letters.contains(where: \.isNumber) else { return false }
        if letters.count >= hexadecimalLength, letters.allSatisfy(\.isHexDigit) { return true }
        return letters.count == 26 && letters.allSatisfy { $0.isASCII && (isWord($0)) }
    }
}
