/// A word of a query: an optional field and its values, without quotes.
struct QueryWord: Equatable {
    var isNegated = false
    /// The text before the first `:` outside quotes; nil without a `:`.
    var field: String?
    /// The parts of a path after `args`, without quotes; empty for other fields.
    var path: [String] = []
    var values: [TextPattern] = []
    /// Whether a value was written in quotes.
    var isQuoted = false
    /// The word as it was written.
    var source = ""
}

/// Splits a query into words at blanks outside quotes.
///
/// A quote begins a word, a field's value or, after a comma, the next value. In double quotes, `\` escapes the next
/// character.
struct QueryWords {
    private var rest: Substring

    private init(_ text: String) { rest = text[...] }

    static func split(_ text: String) throws(QueryError) -> [QueryWord] {
        var scanner = QueryWords(text)
        var words: [QueryWord] = []
        while let word = try scanner.next() { words.append(word) }
        return words
    }

    private mutating func next() throws(QueryError) -> QueryWord? {
        rest = rest.drop(while: \.isWhitespace)
        guard let first = rest.first else { return nil }
        let start = rest
        var word = QueryWord()
        if first == "-" || first == "!" {
            word.isNegated = true
            rest = rest.dropFirst()
        }
        if let path = try takePath() {
            (word.field, word.path) = ("args", path)
        } else {
            word.field = takeField()
        }
        word.values = [try value(&word.isQuoted)]
        while rest.first == "," {
            rest = rest.dropFirst()
            word.values.append(try value(&word.isQuoted))
        }
        word.source = String(start[..<rest.startIndex])
        return word
    }

    /// Reads the parts after `args.` up to a `:`, each plain or in quotes; nil if the word is no such field.
    private mutating func takePath() throws(QueryError) -> [String]? {
        let start = rest
        guard rest.prefix(5).lowercased() == "args." else { return nil }
        rest = rest.dropFirst(5)
        var (path, hasQuotes) = ([String](), false)
        while true {
            if let quote = rest.first, quote == "\"" || quote == "'" {
                hasQuotes = true
                path.append(try quoted(by: quote))
            } else {
                let part = rest.prefix { !".:\"'".contains($0) && !$0.isWhitespace }
                rest = rest[part.endIndex...]
                path.append(String(part))
            }
            guard rest.first == "." else { break }
            rest = rest.dropFirst()
        }
        if rest.first == ":" {
            rest = rest.dropFirst()
            return path
        }
        guard hasQuotes else {
            rest = start
            return nil
        }
        throw QueryError(
            "a path of args ends without a \":\" and a value: \(String(start[..<rest.startIndex]))",
            fix: "args.\"first.name\":ann"
        )
    }

    private mutating func takeField() -> String? {
        guard let end = rest.firstIndex(where: { $0 == ":" || $0.isWhitespace || "\"'".contains($0) }), rest[end] == ":"
        else { return nil }
        defer { rest = rest[rest.index(after: end)...] }
        return String(rest[..<end])
    }

    private mutating func value(_ isQuoted: inout Bool) throws(QueryError) -> TextPattern {
        var pieces = [""]
        if let quote = rest.first, quote == "\"" || quote == "'" {
            isQuoted = true
            pieces[0] = try quoted(by: quote)
        }
        while let character = rest.first, character != ",", !character.isWhitespace {
            rest = rest.dropFirst()
            if character == "*" { pieces.append("") } else { pieces[pieces.count - 1].append(character) }
        }
        return TextPattern(pieces: pieces)
    }

    private mutating func quoted(by quote: Character) throws(QueryError) -> String {
        let start = rest
        rest = rest.dropFirst()
        var text = ""
        while let character = rest.popFirst() {
            if character == quote { return text }
            if character == "\\", quote == "\"", let escaped = rest.popFirst() {
                text.append(escaped)
            } else {
                text.append(character)
            }
        }
        throw QueryError("a quote is not closed: \(String(start))", fix: "\(String(start))\(quote)")
    }
}
