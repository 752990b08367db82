/// Which edges of an operation.
package enum DependencyEdges: String, Sendable {
    /// To what it depends on.
    case needs
    /// From what depends on it.
    case dependents
}

/// What an operation depends on and what depends on it, as far as it is shown.
package struct OperationNeeds: Sendable, Equatable {
    /// One of its dependencies.
    package struct Need: Sendable, Equatable {
        package var dependency: Dependency
        /// As it is kept.
        package var policy: NeedPolicy
        /// Whether the operation waits for it.
        package var isMet: Bool
        /// nil = it has no record any more; of one in another queue, no end of it is known.
        package var state: OperationState?
        /// Whether the operation has heard of an end of it.
        package var hasHeard: Bool

        package init(
            _ name: DependencyName,
            _ policy: NeedPolicy,
            isMet: Bool,
            state: OperationState?,
            hasHeard: Bool
        ) {
            dependency = Dependency(name.id, queue: name.queue, onFailure: policy.shown)
            (self.policy, self.isMet, self.state, self.hasHeard) = (policy, isMet, state, hasHeard)
        }

        /// Of an operation that is no group.
        package init(_ dependency: Dependency, isMet: Bool, state: OperationState?, hasHeard: Bool) {
            let policy = NeedPolicy(dependency.policy)
            self.init(dependency.name, policy, isMet: isMet, state: state, hasHeard: hasHeard)
        }

        /// Its state as people read it.
        package var stateText: String {
            state?.rawValue ?? (dependency.queue == nil || hasHeard ? "gone" : "not ended")
        }

        /// Nothing but a person lets the operation go on.
        package var isStuck: Bool {
            guard !isMet, let state else { return !isMet && (dependency.queue == nil || hasHeard) }
            return hasHeard && state.isTerminal && state != .finished && policy != .death
        }

        /// Those that it waits for first, then by their names.
        package static func isBefore(_ left: Need, _ right: Need) -> Bool {
            left.isMet == right.isMet ? left.dependency.name < right.dependency.name : !left.isMet
        }
    }

    /// So many of each kind are shown.
    package static let shown = 20

    /// Some of its dependencies: those that it waits for first, then in the order of their names.
    package var needs: [Need] = []
    package var needCount = 0
    /// How many of them it waits for. One more while it is open.
    package var unmetCount = 0
    /// How many of them it waits for.
    package var waitCount: Int { max(0, unmetCount - (isOpen ? 1 : 0)) }
    /// Some of what depends on it.
    package var dependents: [OperationID] = []
    package var dependentCount = 0
    /// Its producer has not said all that it depends on.
    package var isOpen = false
    /// Other queues that may have more.
    package var dependentQueues: [String] = []

    /// The group for whose success or first death it waits, if it is such a callback.
    package var callbackNeed: Need? { needs.first { !$0.isMet && [.success, .death].contains($0.policy) } }

    /// Of a group.
    package var group: GroupTerms?
    /// How many members of it have ended otherwise than finished.
    package var missCount = 0

    package init() {}
}

/// Reads the edges of operations.
package protocol EdgeReading: Sendable {
    /// What an operation depends on, or what depends on it, in the order of their names; also in other queues.
    ///
    /// - Parameter limit: most of them, at least 1. Which ones they are is undefined if there are more.
    func edges(_ kind: DependencyEdges, of id: OperationID, limit: Int, queue: String) async throws -> [DependencyName]
}
