/// Splits a line into words as a shell does, without anything else of a shell.
///
/// Spaces and tabs separate words. Inside of single quotes everything stands for itself; inside of double quotes a backslash takes the
/// meaning of `"` and `\` away; outside of quotes it does so for any character. `$`, `*`, `|`, `>`, `;` and the like mean nothing.
package struct CommandWords {
    /// What is wrong with a line.
    package struct Mistake: Error, Equatable {
        /// The column where it begins, from 1.
        package let column: Int
        package let message: String
    }

    /// Not characters: a quote and an accent that follows it would be one.
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var words: [String] = []
    /// nil = between words.
    private var word: String.UnicodeScalarView?

    private init(_ line: String) { scalars = Array(line.unicodeScalars) }

    /// The words of a line; none for an empty line and for one whose first character is `#`.
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
                    throw Mistake(column: position, message: "a backslash at the end; a command is one line")
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
