import Operations
import Selectors

/// Selects the events to print: `state:dead queue:mail id:01J…`.
package struct EventFilter: Sendable {
    private static let fields: Set<OperationQuery.Field> = [.state, .queue, .id]

    private let query: OperationQuery
    /// Whether only changes by clients and operators are printed.
    private let onlyChanges: Bool

    /// Parses the words of a filter.
    ///
    /// - Throws: `QueryError` if a word concerns a field that events do not have, or a state although only
    ///   changes are wanted.
    package init(_ words: [String], onlyChanges: Bool = false) throws(QueryError) {
        query = try OperationQuery(parsing: words)
        self.onlyChanges = onlyChanges
        guard query.terms.allSatisfy({ Self.fields.contains($0.field) }) else {
            throw QueryError("events can be filtered only by state, queue and id", fix: "state:dead queue:mail id:01J…")
        }
        guard !onlyChanges || !query.terms.contains(where: { $0.field == .state }) else {
            throw QueryError(
                "--changes excludes state:, because a change has no state",
                fix: "drop state: or --changes"
            )
        }
    }

    func queues(of known: [String]) -> [String] { query.queues(of: known) }

    /// Whether all transitions are printed. Only then are the numbers of unkept events printed too.
    package var isWhole: Bool { !query.filtersTransitions && !onlyChanges }

    /// Whether the change of a step is printed. Without a filter by id or state, every change is. A filter by id
    /// selects changes of matching operations; a filter by state hides all changes.
    private func showsChange(of batch: EventBatch) -> Bool {
        guard query.filtersTransitions else { return true }
        guard let id = batch.subject else { return false }
        return query.terms.allSatisfy { $0.field != .state && $0.allows(id, queue: batch.queue) }
    }

    package func matches(_ transition: (id: OperationID, state: OperationState), in queue: String) -> Bool {
        !onlyChanges && query.states.contains(transition.state)
            && query.terms.allSatisfy { $0.allows(transition.id, queue: queue) }
    }

    /// The part of a batch to print; nil = nothing.
    package func part(of batch: EventBatch) -> EventBatch? {
        var part = batch
        if !showsChange(of: batch) || (onlyChanges && part.change?.isOfPerson == false) { part.change = nil }
        guard !isWhole else { return part }
        part.transitions = batch.transitions.filter { matches($0, in: batch.queue) }
        return part.transitions.isEmpty && part.change == nil ? nil : part
    }
}

extension OperationQuery {
    fileprivate var filtersTransitions: Bool { terms.contains { $0.field != .queue } }
}
