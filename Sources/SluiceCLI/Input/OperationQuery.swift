import Operations
import Sluice

/// Which operations to list: `state:retrying,dead queue:mail name:Send* tag:vip -tag:test`.
///
/// Terms are joined by "and", values behind a comma by "or", and `-` or `!` negates. `*` at the end of a value stands for anything.
/// Only what is written as a query has patterns: a tag from `-t` is compared as it is.
package struct OperationQuery: Sendable, Equatable {
    package enum Field: String, CaseIterable, Sendable {
        case state, queue, name, tag, priority, worker
    }

    package struct Term: Sendable, Equatable {
        package var field: Field
        package var values: [String]
        package var isNegated: Bool
        /// A `*` in the values is a character like others.
        package var isExact = false

        /// Any of these tags, as they are.
        package static func tags(_ tags: [String]) -> Term {
            Term(field: .tag, values: tags, isNegated: false, isExact: true)
        }

        /// True if the text is one of the values, or matches one where they are patterns.
        fileprivate func matches(_ text: String) -> Bool {
            values.contains { value in
                !isExact && value.hasSuffix("*") ? text.hasPrefix(value.dropLast()) : text == value
            }
        }
    }

    package var terms: [Term]

    /// Reads the words of a query.
    ///
    /// - Throws: `CLIError` with `.usage` that names the word.
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
                "\(OperationsError.quoted(word)) is no term of a query",
                fix: "FIELD:VALUE with \(Field.allCases.map(\.rawValue).joined(separator: ", ")), like state:dead"
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

// MARK: - Where to look

extension OperationQuery {
    /// The order in which states are listed: what runs first, what is over last.
    private static let order: [OperationState] = [
        .executing, .retrying, .ready, .scheduled, .blocked, .dead, .cancelled, .expired, .finished,
    ]

    package var states: [OperationState] {
        Self.order.filter { state in allows(.state) { $0.values.contains { $0.lowercased() == state.rawValue } } }
    }

    package func queues(of known: [String]) -> [String] {
        known.filter { queue in allows(.queue) { $0.matches(queue) } }
    }

    /// True if rows must be looked at one by one.
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
