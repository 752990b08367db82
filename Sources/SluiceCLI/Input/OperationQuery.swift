import Operations
import Sluice

/// A query for operations: `state:retrying,dead queue:mail name:Send* tag:vip -tag:test`.
///
/// Terms are joined by "and", values separated by commas by "or", and `-` or `!` negates. `*` at the end of a value matches anything. Only a
/// query has patterns: a tag of `-t` is compared as it is.
package struct OperationQuery: Sendable, Equatable {
    package enum Field: String, CaseIterable, Sendable {
        case state, queue, name, tag, priority, worker
    }

    package struct Term: Sendable, Equatable {
        package var field: Field
        package var values: [String]
        package var isNegated: Bool
        /// Whether `*` in the values is an ordinary character.
        package var isExact = false

        /// Makes a term for any of these tags, without patterns.
        package static func tags(_ tags: [String]) -> Term {
            Term(field: .tag, values: tags, isNegated: false, isExact: true)
        }

        /// Whether the text equals one of the values, or matches one as a pattern.
        fileprivate func matches(_ text: String) -> Bool {
            values.contains { value in
                !isExact && value.hasSuffix("*") ? text.hasPrefix(value.dropLast()) : text == value
            }
        }
    }

    package var terms: [Term]

    /// Reads the words of a query.
    ///
    /// - Throws: `CLIError` with `.usage`, which names the word.
    package init(parsing words: [String]) throws(CLIError) {
        terms = []
        for word in words.flatMap({ $0.split(whereSeparator: \.isWhitespace).map(String.init) }) {
            terms.append(try Self.term(word))
        }
    }

    private static func term(_ word: String) throws(CLIError) -> Term {
        let isNegated = word.hasPrefix("-") || word.hasPrefix("!")
        let rest = isNegated ? word.dropFirst() : word[...]
        guard let colon = rest.firstIndex(of: ":") else {
            throw .usage(
                "\(OperationsError.quoted(word)) is not a term of a query",
                fix: "FIELD:VALUE like state:dead; fields are \(Field.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        let name = rest[..<colon].lowercased()
        guard let field = Field(rawValue: name) else {
            let near = Suggestion.nearest(to: name, among: Field.allCases.map(\.rawValue))
            throw .usage(
                "unknown field \(OperationsError.quoted(name))" + (near.map { "; did you mean \"\($0)\"?" } ?? ""),
                fix: Field.allCases.map { $0.rawValue + ":" }.joined(separator: " ")
            )
        }
        let values = rest[rest.index(after: colon)...].split(separator: ",").map(String.init)
        guard !values.isEmpty else { throw .usage("\"\(name):\" has no value", fix: "\(name):VALUE") }
        try check(values, of: field)
        return Term(field: field, values: values, isNegated: isNegated)
    }

    private static func check(_ values: [String], of field: Field) throws(CLIError) {
        switch field {
        case .state:
            for value in values where OperationState(rawValue: value.lowercased()) == nil {
                let states = OperationState.allCases.map(\.rawValue)
                let near = Suggestion.nearest(to: value, among: states).map { "; did you mean \"\($0)\"?" } ?? ""
                throw .usage(
                    "unknown state \(OperationsError.quoted(value))\(near)",
                    fix: states.joined(separator: ", ")
                )
            }
        case .priority: for value in values { _ = try OperationPriority(typed: value) }
        case .queue, .name, .tag, .worker: break
        }
    }
}

// MARK: - Places

extension OperationQuery {
    /// The order in which states are listed: executing first, ended last.
    private static let order: [OperationState] = [
        .executing, .retrying, .ready, .scheduled, .blocked, .dead, .cancelled, .expired, .finished,
    ]

    package var states: [OperationState] {
        Self.order.filter { state in allows(.state) { $0.values.contains { $0.lowercased() == state.rawValue } } }
    }

    package func queues(of known: [String]) -> [String] {
        known.filter { queue in allows(.queue) { $0.matches(queue) } }
    }

    /// Whether single rows must be compared with the query.
    package var filtersRows: Bool { terms.contains { $0.field != .state && $0.field != .queue } }

    package func matches(_ detail: OperationDetail) -> Bool {
        let envelope = detail.envelope
        let priority = detail.record.header.priority
        return allows(.name) { $0.matches(envelope.name) }
            && allows(.tag) { envelope.tags.contains(where: $0.matches) }
            && allows(.worker) { $0.matches(detail.worker ?? "") }
            && allows(.priority) { $0.values.contains { (try? OperationPriority(typed: $0)) == priority } }
            && allows(.state) { $0.values.contains { $0.lowercased() == detail.state.rawValue } }
    }

    private func allows(_ field: Field, _ matches: (Term) -> Bool) -> Bool {
        terms.allSatisfy { $0.field != field || matches($0) != $0.isNegated }
    }
}
