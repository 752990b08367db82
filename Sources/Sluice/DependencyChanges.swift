import Operations

extension OperationReference {
    /// Adds a dependency to this operation before it starts. The operation is `blocked` from then on, unless the other
    /// one has finished.
    ///
    /// ```swift
    /// try await merge.addDependency(page)
    /// try await cleanUp.addDependency(merge.onFailure(.run))
    /// ```
    ///
    /// - Parameter other: a tracked operation of any queue of the namespace, with or without a policy. An id alone
    ///   means an operation in the queue of this operation.
    /// - Throws: `OperationsError`:
    ///   - `.refused` if this operation has started or ended, is held, is a group, or would have more than 10,000
    ///     dependencies.
    ///   - `.invalidOption` if the other operation depends on this one, directly or not.
    ///   - `.notFound` if one of them does not exist.
    ///   - `.unavailable` if Redis cannot be reached.
    public func addDependency(_ other: any OperationDependencyConvertible) async throws {
        try await client.change(self, adding: [other.dependency])
    }

    /// Removes a dependency. An operation without further dependencies becomes ready, or scheduled if its time has not
    /// come.
    ///
    /// - Parameter other: a current or former dependency; any other operation is ignored.
    /// - Throws: `OperationsError` with `.refused` if this operation has started or ended, or is held; `.notFound` if
    ///   it does not exist; `.unavailable` if Redis cannot be reached.
    public func removeDependency(_ other: any OperationDependencyConvertible) async throws {
        try await client.change(self, removing: [other.dependency])
    }
}

extension OperationHandle {
    /// Adds a dependency to this operation; see `OperationReference.addDependency(_:)`.
    ///
    /// - Parameter other: a tracked operation of any queue of the namespace, with or without a policy.
    /// - Throws: as `OperationReference.addDependency(_:)`.
    public func addDependency(_ other: any OperationDependencyConvertible) async throws {
        try await reference.addDependency(other)
    }

    /// Removes a dependency from this operation; see `OperationReference.removeDependency(_:)`.
    ///
    /// - Parameter other: a current or former dependency.
    /// - Throws: as `OperationReference.removeDependency(_:)`.
    public func removeDependency(_ other: any OperationDependencyConvertible) async throws {
        try await reference.removeDependency(other)
    }
}

extension SluiceClient {
    /// Changes the dependencies of an operation. Writes new dependencies first, and searches for a cycle afterwards. If
    /// two changes at once close a cycle from both sides, at least one of them sees it and removes its dependency
    /// again.
    package func change(
        _ reference: OperationReference,
        adding added: [OperationDependency] = [],
        removing removed: [OperationDependency] = []
    ) async throws {
        let name = { (dependency: OperationDependency) in
            DependencyName(dependency.id, queue: dependency.queue == reference.queue ? nil : dependency.queue)
        }
        let added = added.map { OperationDependency($0.id, queue: name($0).queue, onFailure: $0.policy) }
        guard !added.contains(where: { $0.queue == nil && $0.id == reference.id }) else {
            throw OperationsError(.invalidOption, "operation \(reference.id) cannot wait for itself", id: reference.id)
        }
        var new: [DependencyName] = []
        do {
            try await apply(reference, added, removed.map(name)) { new += $0 }
            let own = DependencyName(reference.id, queue: reference.queue)
            guard let other = try await broker.first(of: new, thatWaitsFor: own) else { return }
            throw OperationsError(
                .invalidOption,
                "\(other) already depends on operation \(reference.id), directly or not: drop this dependency, "
                    + "which would close a cycle",
                id: reference.id
            )
        } catch {
            if !new.isEmpty { try? await apply(reference, [], new) { _ in } }
            throw error
        }
    }

    /// - Parameter note: called with the dependencies that are new.
    private func apply(
        _ reference: OperationReference,
        _ added: [OperationDependency],
        _ removed: [DependencyName],
        note: ([DependencyName]) -> Void
    ) async throws {
        let places = stride(from: 0, to: max(added.count, removed.count), by: OperationLinks.dependenciesOfACall)
        for start in places {
            let part = { (count: Int) in min(start, count)..<min(start + OperationLinks.dependenciesOfACall, count) }
            let after = Array(added[part(added.count)])
            var links = OperationLinks(after: after)
            links?.said = try await broker.said(of: after, queue: reference.queue)
            let change = NeedsChange(reference.id, added: links, removed: Array(removed[part(removed.count)]))
            note(try check(try await broker.change(change, by: Self.identity, queue: reference.queue), reference))
        }
    }

    private func check(
        _ outcome: NeedsOutcome,
        _ reference: OperationReference
    ) throws(OperationsError) -> [DependencyName] {
        let id = reference.id
        switch outcome {
        case .done(let added): return added
        case .unknown, .notOpen: throw reference.notFound
        case .refused(let state):
            throw OperationsError(
                .refused,
                "operation \(id) is \(state.rawValue): its dependencies can change only before it starts",
                id: id
            )
        case .held:
            throw OperationsError(.refused, "operation \(id) is held: release it first", id: id)
        case .tooMany:
            throw OperationsError(
                .refused,
                "operation \(id) would have more than \(OperationLinks.mostDependencies) dependencies: "
                    + "use a group of some of them",
                id: id
            )
        case .otherKind:
            throw OperationsError(
                .refused,
                "operation \(id) is a group, which waits only for its members: enqueue operations with .group, "
                    + "or call OperationGroup.add(_:)",
                id: id
            )
        case .unknownDependency(let other):
            throw OperationsError(
                .notFound,
                "dependency \(other) does not exist: it was never enqueued, was removed, is untracked, "
                    + "or is past its retention",
                id: id
            )
        }
    }
}
