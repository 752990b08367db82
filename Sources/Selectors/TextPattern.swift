/// A value of a query: a text, in which a `*` outside quotes matches anything.
package struct TextPattern: Sendable, Equatable, Hashable {
    /// The texts between the `*`. A single piece is a text without `*`.
    package let pieces: [String]

    package init(pieces: [String]) { self.pieces = pieces }

    /// A pattern that matches exactly this text.
    package init(exactly text: String) { pieces = [text] }

    /// The text of a pattern without `*`; nil for other patterns.
    package var exactText: String? { pieces.count == 1 ? pieces[0] : nil }

    /// The pattern as it is written.
    package var text: String { pieces.joined(separator: "*") }

    /// Whether the pattern matches all of the text.
    package func matches(_ text: some StringProtocol) -> Bool {
        guard pieces.count > 1 else { return text == pieces[0] }
        guard text.hasPrefix(pieces[0]) else { return false }
        var rest = Substring(text.dropFirst(pieces[0].count))
        for piece in pieces[1..<(pieces.count - 1)] where !piece.isEmpty {
            guard let range = rest.firstRange(of: piece) else { return false }
            rest = rest[range.upperBound...]
        }
        return rest.hasSuffix(pieces[pieces.count - 1])
    }

    /// Whether the text contains the pieces, in order.
    ///
    /// - Parameter text: text in lower case. The pieces must be in lower case as well.
    package func isContained(in text: String) -> Bool {
        var rest = text[...]
        for piece in pieces where !piece.isEmpty {
            guard let range = rest.firstRange(of: piece) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }

    package func lowercased() -> TextPattern { TextPattern(pieces: pieces.map { $0.lowercased() }) }
}
