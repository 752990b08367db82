/// The part of an error that stays equal whenever the error happens.
///
/// Ids, times, addresses, counts and quoted texts are replaced. Codes stay. Quoted names stay after a word for what
/// they name (`KeyError: 'email'`, `column "price"`), because such names show what went wrong.
package enum ErrorSignature {
    /// The number of characters after which a signature is cut.
    private static let length = 160
    /// A word of hexadecimal digits is an id from this length on.
    private static let hexadecimalLength = 8
    /// A short number after one of these words, or at the end of one, is a code.
    private static let codeWords: Set<String> = [
        "http", "https", "status", "statuscode", "smtp", "ftp", "exit", "code", "signal", "errno", "sqlstate", "error",
        "err", "e", "ora",
        "oserror", "winerror", "grpc",
    ]
    private static let longestCode = 6
    /// A quoted text of letters after one of these words is a name.
    private static let nameWords: Set<String> = [
        "argument", "attribute", "class", "column", "command", "field", "function", "index", "key", "method", "module",
        "option", "parameter",
        "property", "relation", "table", "type", "variable",
    ]
    private static let longestName = 40

    /// Returns the signature of an error.
    ///
    /// `HTTPError: status 503 of "https://h/1", try 2` gives `HTTPError: status 503 of "…", try N`.
    package static func of(type: String, message: String) -> String {
        let line = message.split(whereSeparator: \.isNewline).first ?? ""
        var reader = Reader(text: "\(type): ", rest: line)
        while reader.text.count < length, reader.next() {}
        return reader.rest.isEmpty ? reader.text : reader.text + "…"
    }

    /// Reads an error from its beginning, and writes its signature.
    private struct Reader {
        /// Whether a number is a code.
        private enum Expectation {
            case no
            /// After a code word.
            case code
            /// After a code: `HTTP/1.1 503`, `SMTP 550 5.1.1`, `ERROR 1062 (23000)`.
            case more(isDotted: Bool)
        }

        private(set) var text: String
        private(set) var rest: Substring
        private var expects = Expectation.no
        private var lastWord = ""
        /// The text after the last word.
        private var between = ""
        /// Whether a quoted name is kept: at the beginning, after a name word, and after the name of an error.
        private var expectsName = true

        init(text: String, rest: Substring) { (self.text, self.rest) = (text, rest) }

        /// - Returns: false at the end.
        mutating func next() -> Bool {
            guard let character = rest.first else { return false }
            if "\"'`".contains(character), !(text.last.map(isWord) ?? false),
                let end = rest.dropFirst().firstIndex(of: character)
            {
                let quoted = rest[..<end].dropFirst()
                text +=
                    expectsName && isName(quoted) ? "\(character)\(quoted)\(character)" : "\(character)…\(character)"
                rest = rest[rest.index(after: end)...]
                (expects, expectsName, between) = (.no, false, "")
            } else if isWord(character) {
                readWord()
            } else {
                between.append(character)
                text.append(character)
                rest = rest.dropFirst()
            }
            return true
        }

        private mutating func readWord() {
            let word = rest.prefix { isWord($0) || $0 == "-" || $0 == "_" }
            defer { between = "" }
            if !word.contains(where: \.isNumber) {
                text += word
                rest = rest[word.endIndex...]
                lastWord = word.lowercased()
                expects = codeWords.contains(lastWord) ? .code : .no
                expectsName =
                    nameWords.contains(lastWord) || word.hasSuffix("Error") || word.hasSuffix("Exception")
                return
            }
            expectsName = false
            if let code = code(word) {
                text += code
                rest = rest[code.endIndex...]
                if case .more = expects { expects = .no } else { expects = .more(isDotted: code.contains(".")) }
            } else {
                text += isID(word) ? "ID" : withoutNumbers(word)
                rest = rest[max(rest.startIndex, word.endIndex)...]
                expects = .no
            }
        }

        /// The code in a word; nil if the word has no code. A code is a number after a code word, with its parts after
        /// points (`5.1.1`), or a code word that ends in a number (`E11000`, `ORA-00942`).
        private func code(_ word: Substring) -> Substring? {
            let letters = word.prefix { !$0.isNumber }
            let isMarked = codeWords.contains(letters.filter { $0 != "-" && $0 != "_" }.lowercased())
            let digits = word.dropFirst(letters.count)
            guard isMarked || (letters.isEmpty && expectsNumber), digits.count <= longestCode,
                digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0.isUppercase) })
            else { return nil }
            var (end, points) = (word.endIndex, 0)
            while rest[end...].first == ".", rest[end...].dropFirst().first?.isNumber ?? false {
                end = rest[end...].dropFirst().drop(while: \.isNumber).startIndex
                points += 1
            }
            // Four numbers are an address. A number before a colon may begin an address or a time.
            let isOther = points > 2 || (rest[end...].first == ":" && rest[end...].dropFirst().first?.isNumber ?? false)
            if case .more(isDotted: false) = expects, between == " ", points == 0 { return nil }
            return isOther ? nil : rest[..<end]
        }

        private var expectsNumber: Bool {
            switch expects {
            case .no: false
            // `Error: 17 rows` and `http://10.0.0.5` contain no code.
            case .code: [" ", "=", ": ", "[", " [", "/", " = ", "=\"", "(", " ("].contains(between) && !isLoose
            case .more: [" ", " ("].contains(between)
            }
        }

        /// Whether the last word fits any error. A message follows it, not a code.
        private var isLoose: Bool {
            between == ": " && ["error", "err", "e"].contains(lastWord)
        }

        /// The word with `N` for each number. If the word ends in a number, also takes the rest of the number (`1.5`,
        /// `10.0.0.5:6379`) from the text after the word.
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

    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty && text.count <= longestName && text.allSatisfy { $0.isLetter || "_-".contains($0) }
    }

    /// A UUID, a ULID or a long hexadecimal number.
    private static func isID(_ word: Substring) -> Bool {
        let letters = word.filter { $0 != "-" }
        guard letters.contains(where: \.isNumber) else { return false }
        if letters.count >= hexadecimalLength, letters.allSatisfy(\.isHexDigit) { return true }
        return letters.count == 26 && letters.allSatisfy { $0.isASCII && (isWord($0)) }
    }
}
