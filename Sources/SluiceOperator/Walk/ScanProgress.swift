import TerminalText

/// How far a list came that a person reads page by page.
package struct ScanProgress: Sendable, Equatable {
    /// The numbers of all pages up to this one.
    package private(set) var scanned: Int
    package private(set) var found: Int
    /// The number of operations to scan; nil = not counted, because all of them match.
    private let total: Int?
    private let unread: Int
    package let isOver: Bool

    /// - Parameters:
    ///   - scanned: the number of operations that the pages before have scanned.
    ///   - found: the number of operations that these pages have found.
    package init(_ page: ListWalk.Result, scanned: Int = 0, found: Int = 0) {
        self.scanned = max(0, scanned) + page.scanned
        self.found = max(0, found) + page.found
        (total, unread, isOver) = (page.total, page.unread, page.next == nil)
    }

    /// `120,000 of 205,376 scanned, 12 found so far`; nil if the operations were not counted.
    package var text: String? {
        guard let total else { return nil }
        // Rows after the last one of a page are scanned again for the next page, and some come or go meanwhile.
        let done = isOver ? total : min(scanned, total)
        let scanned = "\(QuantityText.grouped(done)) of \(QuantityText.grouped(total)) scanned"
        let left =
            unread > 0
            ? ", \(QuantityText.grouped(unread)) of them not looked at: their arguments are encrypted (--keys-file FILE)"
            : ""
        return "\(scanned)\(left), \(findings)"
    }

    /// `12 found so far`, `none found so far`, `12 found, no more`
    package var findings: String {
        let number = found == 0 ? "none" : QuantityText.grouped(found)
        return isOver ? (found == 0 ? "none found" : "\(number) found, no more") : "\(number) found so far"
    }
}
