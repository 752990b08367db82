extension LocalOperation {
    /// Serializes additions of dependencies in the whole process, so that the search for cycles sees all of them.
    private static let editing = Guarded(())

    /// Makes this operation wait for another one, which may be in another queue or in no queue.
    ///
    /// - Parameters:
    ///   - dependency: the operation that must end first. A second call with it changes the policy.
    ///   - onFailure: what happens to this operation if the dependency ends as dead, cancelled or expired.
    /// - Throws: `OperationsError` with `.refused` if this operation has started or ended, or if the dependency waits
    ///   for this operation, directly or indirectly. The message names the path. After an error nothing is changed.
    public func addDependency(_ dependency: LocalOperation, onFailure: DependencyFailurePolicy = .cancel) throws {
        let (edge, end) = try Self.editing.withLock { _ -> (DependencyEdge, OperationState?) in
            try DependencyPath.refuseCycle(from: self, to: dependency)
            let isKnownToBeNew = dependency.locked { _ in
                !dependency.guardedState.isTerminal && dependency.links.map { $0.hasEdge(from: self) == false } ?? true
            }
            let (edge, isNew) = try link(to: dependency, onFailure, isKnownToBeNew)
            return (edge, dependency.append(isNew ? Dependent(operation: self, edge: edge) : nil))
        }
        if let end { dependencyEnded(edge, as: end) }
    }

    /// Removes a dependency. If it was the last one, this operation becomes ready. Ignores an operation that is not a
    /// dependency.
    ///
    /// - Parameter dependency: the dependency to remove.
    public func removeDependency(_ dependency: LocalOperation) {
        let edge = decide { scheduler, _ -> DependencyEdge? in
            guard let edge = openEdge(to: dependency) else { return nil }
            scheduler.release(edge, of: self)
            links?.dependencies.removeAll { $0 === edge }
            return edge
        }
        guard let edge else { return }
        dependency.locked { _ in
            guard let links = dependency.links else { return }
            if let index = links.dependents.firstIndex(where: { $0.edge === edge }) {
                links.dependents.remove(at: index)
            }
        }
    }

    /// The operations that this one still waits for.
    ///
    /// Ended operations are left out, except a failed one with the policy `hold`, and one whose end is being processed.
    public var dependencies: [LocalOperation] { locked { _ in openDependencies } }

    var openDependencies: [LocalOperation] {
        links?.dependencies.compactMap { $0.isResolved ? nil : $0.dependency } ?? []
    }

    private func openEdge(to dependency: LocalOperation) -> DependencyEdge? {
        links?.openEdge(to: dependency)
    }

    private func link(
        to dependency: LocalOperation,
        _ policy: DependencyFailurePolicy,
        _ isKnownToBeNew: Bool
    ) throws(OperationsError) -> (DependencyEdge, isNew: Bool) {
        let answer = locked { scheduler -> Result<(DependencyEdge, isNew: Bool), OperationsError> in
            guard attempt == 0, guardedState == .ready || guardedState == .blocked else {
                let message = "a dependency cannot be added to an operation in state \(guardedState)"
                return .failure(OperationsError(.refused, message))
            }
            if !isKnownToBeNew, let edge = openEdge(to: dependency) {
                edge.policy = policy
                return .success((edge, false))
            }
            let edge = DependencyEdge(to: dependency, policy: policy)
            orMakeLinks.dependencies.append(edge)
            scheduler.hold(self)
            return .success((edge, true))
        }
        return try answer.get()
    }

    /// Adds a dependent on the side of the dependency.
    ///
    /// - Returns: the terminal state if the dependency has ended; else nil.
    private func append(_ dependent: Dependent?) -> OperationState? {
        locked { _ in
            if guardedState.isTerminal { return guardedState }
            if let dependent { orMakeLinks.dependents.append(dependent) }
            return nil
        }
    }
}

extension LocalOperation {
    /// Adds an operation to a queue while no dependencies are edited, unless the operation could never start there.
    func enter(_ core: QueueCore, asBarrier: Bool) throws(OperationsError) {
        guard locked({ _ in links != nil }) else { return try move(to: core, asBarrier: asBarrier) }
        let answer = Self.editing.withLock { _ -> Result<Void, OperationsError> in
            do throws(OperationsError) {
                try DependencyPath.refuseWaitingBehindBarrier(self, core, asBarrier: asBarrier)
                return .success(try move(to: core, asBarrier: asBarrier))
            } catch {
                return .failure(error)
            }
        }
        return try answer.get()
    }

    private func move(to core: QueueCore, asBarrier: Bool) throws(OperationsError) {
        let answer = locked { scheduler -> Result<Bool, OperationsError> in
            // A cancelled operation is accepted: the queue would not have run it either.
            if guardedState == .cancelled { return .success(false) }
            guard attempt == 0, !isQueued else {
                return .failure(
                    OperationsError(.refused, "the operation is in a queue already, or has started: add it once")
                )
            }
            core.scheduler.withLock { scheduler in
                settle(in: core)
                scheduler.add(self, asBarrier: asBarrier)
            }
            return .success(true)
        }
        guard try answer.get() else { return }
        core.launchWanted()
    }
}
