import Selectors

/// A name matches no group, worker or operation, or it matches several.
package struct LookupFailure: Error, Equatable, CustomStringConvertible {
    package enum Code: Sendable {
        case notFound
        /// The name matches several.
        case ambiguous
        /// More operations than a command changes.
        case tooMany
        /// A cluster node that may know the name does not answer.
        case unreachable
    }

    package enum Fix: Sendable, Equatable {
        /// The words of a command after the name of the program: `workers ls`.
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

    package static func unknownQueue(_ queue: String, known: [String]) -> LookupFailure {
        let near = Suggestion.nearest(to: queue, among: known)
        return LookupFailure(
            .notFound,
            "no queue \"\(queue)\"" + (near.map { "; did you mean \"\($0)\"?" } ?? ""),
            fix: .command("queue ls")
        )
    }

    package var description: String {
        if case .advice(let text) = fix { "\(message): \(text)" } else { message }
    }
}
