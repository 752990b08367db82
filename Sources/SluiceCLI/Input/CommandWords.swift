/// Splits a line into words as a shell does, without other features of a shell.
///
/// Spaces and tabs separate words. Single quotes quote everything. Inside double quotes, a backslash escapes `"` and
/// `\`. Outside quotes, a backslash escapes any character. `$`, `*`, `|`, `>` and `;` have no special meaning.
package struct CommandWords {
    /// An error in a line.
    package struct Mistake: Error, Equatable {
        /// The column of the error, counted from 1.
        package let column: Int
        package let message: String
    }

    /// Scalars instead of characters, because a quote and a following accent would form one character.
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var words: [String] = []
    /// The current word; nil = between words.
    private var word: String.UnicodeScalarView?

    private init(_ line: String) { scalars = Array(line.unicodeScalars) }

    /// The words of a line. An empty line and a comment, which begins with `#`, have no words.
    package static func split(_ line: String) throws(Mistake) -> [String] {
        var splitter = CommandWords(line)
        return try splitter.split()
    }

    private mutating func split() throws(Mistake) -> [String] {
        guard scalars.first(where: { !Self.isBlank($0) }) != "#" else { return [] }
        while position < scalars.count {
            let scalar = scalars[position]
            position += 1
            switch scalar {
            case _ where Self.isBlank(scalar): endWord()
            case "'": try quote(until: "'", escapes: false)
            case "\"": try quote(until: "\"", escapes: true)
            case "\\":
                guard position < scalars.count else {
                    throw Mistake(
                        column: position,
                        message: "the line ends with a backslash, but a command is one line"
                    )
                }
                take(scalars[position])
                position += 1
            default: take(scalar)
            }
        }
        endWord()
        return words
    }

    private mutating func quote(until end: Unicode.Scalar, escapes: Bool) throws(Mistake) {
        let start = position
        word = word ?? String.UnicodeScalarView()
        while position < scalars.count {
            let scalar = scalars[position]
            position += 1
            if scalar == end { return }
            if escapes, scalar == "\\", position < scalars.count, ["\"", "\\"].contains(scalars[position]) {
                take(scalars[position])
                position += 1
            } else {
                take(scalar)
            }
        }
        throw Mistake(column: start, message: "the quote \(end) is not closed")
    }

    private mutating func take(_ scalar: Unicode.Scalar) {
        if word == nil { word = String.UnicodeScalarView() }
        word?.append(scalar)
    }

    private mutating func endWord() {
        if let word { words.append(String(word)) }
        word = nil
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }
}
