/// A change of what an operation that has not started waits for.
package struct NeedsChange: Sendable, Equatable {
    package var id: OperationID
    /// What it waits for besides, with what other queues have said; nil = nothing. Only `after` and `said` count.
    package var added: OperationLinks?
    /// What it waits for no more.
    package var removed: [DependencyName] = []
    /// A part of what its producer has left open.
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
    /// `added`: those that it has not waited for before.
    case done(added: [DependencyName])
    case unknown
    /// It is to get a part of what its producer has left open, but that is complete.
    case notOpen
    /// It has started, or ended.
    case refused(OperationState)
    /// An operator holds it.
    case held
    case unknownDependency(OperationID)
    /// It would wait for more than `OperationLinks.mostDependencies`, or it is a group and would have more than `GroupTerms.mostMembers` members.
    case tooMany
    /// It is a group and what is added are no members, or it is none.
    case otherKind
}

/// Changes what operations wait for, and the members of groups.
package protocol NeedsChanging: Sendable {
    /// Changes what an operation waits for, before it starts, or the members of a group that has not ended well: at most 500 more, and at most 500 no more.
    func change(_ change: NeedsChange, by: String, queue: String) async throws -> NeedsOutcome
}
