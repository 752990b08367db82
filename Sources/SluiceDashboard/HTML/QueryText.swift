import Selectors

/// Terms of the query language of operations.
enum QueryText {
    /// The longest query that a request may have, in bytes. Redis compares each row with all its values.
    static let longest = 2_000

    /// Reads the query of a request.
    static func parse(_ text: String) throws(QueryError) -> OperationQuery {
        guard text.utf8.count <= longest else {
            throw QueryError("the query has more than \(longest) bytes", fix: "shorten it, or use the command line")
        }
        return try OperationQuery(parsing: text)
    }

    /// A term with exactly this value, quoted so that no character has another meaning.
    static func term(_ field: String, _ value: String) -> String {
        let isPlain =
            !value.isEmpty
            && value.utf8.allSatisfy { byte in
                let character = Character(Unicode.Scalar(byte))
                return byte < 0x80 && (character.isLetter || character.isNumber || "-_./@".contains(character))
            }
        return "\(field):"
            + (isPlain ? value : "\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"")
    }
}
