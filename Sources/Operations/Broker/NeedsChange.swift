/// A change of the dependencies of an operation that has not started, or of the members of a group.
package struct NeedsChange: Sendable, Equatable {
    package var id: OperationID
    /// The dependencies to add, with the states that other queues reported; nil = none. Only `after` and `said` are
    /// used.
    package var added: OperationLinks?
    /// The dependencies to remove.
    package var removed: [DependencyName] = []
    /// Which part of the open dependencies this is; nil = the operation is not open.
    package var part: Part?

    package enum Part: String, Sendable { case part, last }

    package init(
        _ id: OperationID,
        added: OperationLinks? = nil,
        removed: [DependencyName] = [],
        part: Part? = nil
    ) {
        (self.id, self.added, self.removed, self.part) = (id, added, removed, part)
    }
}

package enum NeedsOutcome: Sendable, Equatable {
    /// Done. `added` has the dependencies that are new.
    case done(added: [DependencyName])
    case unknown
    /// The change is a part of open dependencies, but they are complete.
    case notOpen
    /// The operation has started, or ended.
    case refused(OperationState)
    /// An operator holds the operation.
    case held
    case unknownDependency(OperationID)
    /// The operation would have more than `OperationLinks.mostDependencies` dependencies, or the group more than
    /// `GroupTerms.mostMembers` members.
    case tooMany
    /// The operation is a group and the added links are not members, or the other way round.
    case otherKind
}

/// Changes what operations wait for, and the members of groups.
package protocol NeedsChanging: Sendable {
    /// Changes the dependencies of an operation before it starts, or the members of a group that has not ended well.
    /// One call adds at most 500 and removes at most 500.
    func change(_ change: NeedsChange, by: String, queue: String) async throws -> NeedsOutcome
}
