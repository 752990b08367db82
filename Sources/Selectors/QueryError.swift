/// A query that cannot be read.
package struct QueryError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong, with the text concerned: one line.
    package let message: String
    /// What to write instead.
    package let fix: String

    package init(_ message: String, fix: String) {
        self.message = message
        self.fix = fix
    }

    package var description: String { "\(message); try: \(fix)" }
}
