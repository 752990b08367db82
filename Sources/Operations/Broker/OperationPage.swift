/// One page of a list.
package struct OperationPage: Sendable {
    package var operations: [OperationDetail]
    /// For each of them the cursor of what is behind it.
    package var places: [String]
    /// How many others the page has that are certainly not sought.
    package var leftOut: Int
    /// Where the next page begins; nil = this was the last. A place in an order, never a number of rows: what stays where it is is found once in a walk,
    /// whatever comes and goes.
    package var cursor: String?

    package init(operations: [OperationDetail], places: [String] = [], leftOut: Int = 0, cursor: String?) {
        self.operations = operations
        self.places = places
        self.leftOut = leftOut
        self.cursor = cursor
    }

    /// Checks a cursor, which may come from outside: a few words of letters, digits and signs, with numbers that Redis can count to.
    ///
    /// - Throws: `OperationsError` with `.invalidOption`.
    package static func check(cursor: String) throws(OperationsError) {
        let words = cursor.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count <= 4, words.allSatisfy(isWordOfCursor) else {
            throw OperationsError(
                .invalidOption,
                "the cursor \(OperationsError.quoted(String(cursor.prefix(60)))) is not valid; expected the cursor of the previous page"
            )
        }
    }

    private static func isWordOfCursor(_ word: Substring) -> Bool {
        let isNumber = word.allSatisfy(\.isNumber)
        return (1...(isNumber ? 15 : 40)).contains(word.count)
            && word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "().:+-".contains($0)) }
    }

    /// Most operations that a page answers.
    package static let answered = 200

    /// Most operations of a page. Those that are left out are not answered, and cost little.
    package static func limit(_ sought: SoughtText?) -> Int { sought == nil ? answered : 500 }
}
