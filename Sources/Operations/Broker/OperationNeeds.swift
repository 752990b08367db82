/// The direction of dependencies to read.
package enum DependencyEdges: String, Sendable {
    /// The dependencies of the operation.
    case needs
    /// The dependents of the operation.
    case dependents
}

/// The dependencies and dependents of an operation, as far as they are displayed.
package struct OperationNeeds: Sendable, Equatable {
    /// A dependency of the operation.
    package struct Need: Sendable, Equatable {
        package var dependency: OperationDependency
        /// The policy as stored.
        package var policy: NeedPolicy
        /// Whether the dependency no longer blocks the operation.
        package var isMet: Bool
        /// The state of the dependency; nil = it has no record any more, or it is in another queue and no end of it is
        /// known.
        package var state: OperationState?
        /// Whether the operation's queue was notified of an end of the dependency.
        package var hasHeard: Bool

        package init(
            _ name: DependencyName,
            _ policy: NeedPolicy,
            isMet: Bool,
            state: OperationState?,
            hasHeard: Bool
        ) {
            dependency = OperationDependency(name.id, queue: name.queue, onFailure: policy.shown)
            (self.policy, self.isMet, self.state, self.hasHeard) = (policy, isMet, state, hasHeard)
        }

        /// Makes a dependency of an operation that is not a group.
        package init(_ dependency: OperationDependency, isMet: Bool, state: OperationState?, hasHeard: Bool) {
            let policy = NeedPolicy(dependency.policy)
            self.init(dependency.name, policy, isMet: isMet, state: state, hasHeard: hasHeard)
        }

        /// The state in words for people.
        package var stateText: String {
            state?.rawValue ?? (dependency.queue == nil || hasHeard ? "gone" : "not ended")
        }

        /// Whether only an operator can unblock the operation.
        package var isStuck: Bool {
            guard !isMet, let state else { return !isMet && (dependency.queue == nil || hasHeard) }
            return hasHeard && state.isTerminal && state != .finished && policy != .death
        }

        /// Orders unmet dependencies first, then by name.
        package static func isBefore(_ left: Need, _ right: Need) -> Bool {
            left.isMet == right.isMet ? left.dependency.name < right.dependency.name : !left.isMet
        }
    }

    /// The most entries of each list here.
    package static let shown = 20

    /// Some of the dependencies: unmet ones first, then by name.
    package var needs: [Need] = []
    package var needCount = 0
    /// The number of unmet dependencies, plus one while the operation is open.
    package var unmetCount = 0
    /// The number of unmet dependencies.
    package var waitCount: Int { max(0, unmetCount - (isOpen ? 1 : 0)) }
    /// Some of the dependents in this queue.
    package var dependents: [OperationID] = []
    package var dependentCount = 0
    /// Whether the producer has yet to name more dependencies.
    package var isOpen = false
    /// Other queues that may have dependents.
    package var dependentQueues: [String] = []

    /// The group whose success or first death this callback waits for; nil = not such a callback.
    package var callbackNeed: Need? { needs.first { !$0.isMet && [.success, .death].contains($0.policy) } }

    /// The terms of the group; nil = not a group.
    package var group: GroupTerms?
    /// The number of members that ended without finishing.
    package var missCount = 0

    package init() {}
}

/// Reads the dependencies and dependents of operations.
package protocol EdgeReading: Sendable {
    /// Returns the dependencies or the dependents of an operation in the order of their names; also those in other
    /// queues.
    ///
    /// - Parameter limit: the most names to return, at least 1. With more names than that, the selection is undefined.
    func edges(_ kind: DependencyEdges, of id: OperationID, limit: Int, queue: String) async throws -> [DependencyName]
}
