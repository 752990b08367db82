/// A query that cannot be read.
package struct QueryError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The problem and the text concerned, in one line.
    package let message: String
    /// The fix: text to write instead.
    package let fix: String

    package init(_ message: String, fix: String) {
        self.message = message
        self.fix = fix
    }

    package var description: String { "\(message); try: \(fix)" }
}
