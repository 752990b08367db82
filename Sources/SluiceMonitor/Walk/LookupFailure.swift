/// A group, a worker or an operation cannot be found by the name that was given.
package struct LookupFailure: Error, Equatable, CustomStringConvertible {
    package enum Code: Sendable {
        case notFound
        /// Several have the name.
        case ambiguous
        /// A node of the cluster that may know it does not answer.
        case unreachable
    }

    package enum Fix: Sendable, Equatable {
        /// The words of a command behind the name of the program: `workers ls`.
        case command(String)
        case advice(String)
    }

    package var code: Code
    package var message: String
    package var notes: [String]
    package var fix: Fix?

    package init(_ code: Code, _ message: String, notes: [String] = [], fix: Fix? = nil) {
        (self.code, self.message, self.notes, self.fix) = (code, message, notes, fix)
    }

    package var description: String {
        if case .advice(let text) = fix { "\(message): \(text)" } else { message }
    }
}
