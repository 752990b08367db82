/// A change of what an operation that has not started waits for.
package struct NeedsChange: Sendable, Equatable {
    package var id: OperationID
    /// What it waits for besides, with what other queues have said; nil = nothing. Only `after` and `said` count.
    package var added: OperationLinks?
    /// What it waits for no more.
    package var removed: [DependencyName] = []
    /// Its producer has said now all that it waits for.
    package var isComplete = false

    package init(
        _ id: OperationID,
        added: OperationLinks? = nil,
        removed: [DependencyName] = [],
        isComplete: Bool = false
    ) {
        (self.id, self.added, self.removed, self.isComplete) = (id, added, removed, isComplete)
    }
}

package enum NeedsOutcome: Sendable, Equatable {
    case done
    case unknown
    /// It has started, or ended.
    case refused(OperationState)
    /// An operator holds it.
    case held
    case unknownDependency(OperationID)
    /// It would wait for more than `OperationLinks.mostDependencies`.
    case tooMany
}
