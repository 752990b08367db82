/// Terms of the query language of operations.
enum QueryText {
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
