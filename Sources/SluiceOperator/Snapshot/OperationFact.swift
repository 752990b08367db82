import Operations

/// A fact about an operation: a name and a value in parts, so that each program shows times, operations and queries in
/// its own way.
package struct OperationFact: Sendable {
    /// The subject of the fact. A page leaves out what it shows in a section of its own.
    package enum Subject: Sendable {
        case place, times, payload, errors, keys, dependencies, control
    }

    package enum Part: Sendable, Equatable {
        case text(String)
        /// A time in milliseconds of server time.
        case time(Int64)
        /// Another operation of the queue.
        case operation(OperationID)
        /// A value that a query finds again, with the name of the query's field.
        case value(String, field: String)
        /// The identifier of a worker.
        case worker(String)
    }

    package var subject: Subject
    package var name: String
    package var parts: [Part]

    package init(_ subject: Subject, _ name: String, _ parts: Part...) {
        (self.subject, self.name, self.parts) = (subject, name, parts)
    }

    /// A fact that the caller finishes with a reason, if there is one.
    func adding(_ reason: String) -> OperationFact {
        guard !reason.isEmpty else { return self }
        var fact = self
        fact.parts.append(.text(": " + reason))
        return fact
    }
}

extension OperationFact.Part: ExpressibleByStringInterpolation {
    package init(stringLiteral text: String) { self = .text(text) }
}
