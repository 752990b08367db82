/// One page of a list.
package struct OperationPage: Sendable {
    package var operations: [OperationDetail]
    /// For each operation the cursor of the rest after it.
    package var places: [String]
    /// The number of operations that were left out because they certainly do not match.
    package var leftOut: Int
    /// Where the next page begins; nil = this page was the last. A cursor is a place in an order, not a number of rows.
    /// So a walk finds each operation that keeps its place exactly once, even if others come and go.
    package var cursor: String?

    package init(operations: [OperationDetail], places: [String] = [], leftOut: Int = 0, cursor: String?) {
        self.operations = operations
        self.places = places
        self.leftOut = leftOut
        self.cursor = cursor
    }

    /// Checks a cursor, which may come from outside: up to six words of letters, digits and signs, with numbers that
    /// Redis can count to. A limit key is the longest word.
    ///
    /// - Throws: `OperationsError` with `.invalidOption`.
    package static func check(cursor: String) throws(OperationsError) {
        let words = cursor.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count <= 6, words.allSatisfy(isWordOfCursor) else {
            throw OperationsError(
                .invalidOption,
                "the cursor \(OperationsError.quoted(String(cursor.prefix(60)))) is not valid; expected the cursor of the previous page"
            )
        }
    }

    private static func isWordOfCursor(_ word: Substring) -> Bool {
        let isNumber = word.allSatisfy(\.isNumber)
        return (1...(isNumber ? 15 : 129)).contains(word.count)
            && word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "().:+-_".contains($0)) }
    }

    /// The most operations that a page returns.
    package static let answered = 200

    /// The most operations that a page reads. Operations that are left out are not returned, and cost little.
    package static func limit(_ sought: SoughtText?) -> Int { sought == nil ? answered : 500 }
}
