import Operations

extension OperationReference {
    /// Lets the operation wait for another one besides those that it waits for already. Only before it starts: it is `blocked` from then on, unless the
    /// other one has ended well.
    ///
    /// ```swift
    /// try await merge.addDependency(page)
    /// try await cleanUp.addDependency(merge.onFailure(.run))
    /// ```
    ///
    /// - Parameter other: a tracked operation of any queue of the namespace, with a policy or without; an id is one of the queue of this operation.
    /// - Throws: `OperationsError` with `.refused` if it has started or ended, is held, or would wait for more than 10,000; `.invalidOption` if the other
    ///   one waits for it already, directly or not; `.notFound` if one of them is not there; `.unavailable` if Redis cannot be reached.
    public func addDependency(_ other: any DependencyConvertible) async throws {
        try await client.change(self, adding: [other.dependency])
    }

    /// Lets the operation wait for another one no more. If it waits for nothing else, it is ready, or scheduled if its time is to come.
    ///
    /// - Parameter other: what it waits for, or has waited for. Any other one is ignored.
    /// - Throws: `OperationsError` with `.refused` if it has started or ended, or is held; `.notFound` if it is not there; `.unavailable` if Redis
    ///   cannot be reached.
    public func removeDependency(_ other: any DependencyConvertible) async throws {
        try await client.change(self, removing: [other.dependency])
    }
}

extension OperationHandle {
    /// Lets the operation wait for another one besides; see `OperationReference.addDependency(_:)`.
    ///
    /// - Parameter other: a tracked operation of any queue of the namespace, with a policy or without.
    /// - Throws: as `OperationReference.addDependency(_:)`.
    public func addDependency(_ other: any DependencyConvertible) async throws {
        try await reference.addDependency(other)
    }

    /// Lets the operation wait for another one no more; see `OperationReference.removeDependency(_:)`.
    ///
    /// - Parameter other: what it waits for, or has waited for.
    /// - Throws: as `OperationReference.removeDependency(_:)`.
    public func removeDependency(_ other: any DependencyConvertible) async throws {
        try await reference.removeDependency(other)
    }
}

extension SluiceClient {
    /// Changes what an operation waits for. An edge is written first and looked at then: of two that would close a cycle from two sides at once, at
    /// least one sees it, and takes its edge back.
    package func change(
        _ reference: OperationReference,
        adding added: [Dependency] = [],
        removing removed: [Dependency] = []
    ) async throws {
        let name = { (dependency: Dependency) in
            DependencyName(dependency.id, queue: dependency.queue == reference.queue ? nil : dependency.queue)
        }
        let added = added.map { Dependency($0.id, queue: name($0).queue, onFailure: $0.policy) }
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
                "\(other) waits for operation \(reference.id) already, or for what waits for it",
                id: reference.id
            )
        } catch {
            if !new.isEmpty { try? await apply(reference, [], new) { _ in } }
            throw error
        }
    }

    /// - Parameter note: is called with those that it has not waited for before.
    private func apply(
        _ reference: OperationReference,
        _ added: [Dependency],
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
                "operation \(id) is \(state.rawValue): what it waits for can change only before it starts",
                id: id
            )
        case .held:
            throw OperationsError(.refused, "operation \(id) is held: release it first", id: id)
        case .tooMany:
            throw OperationsError(
                .refused,
                "operation \(id) would wait for more than \(OperationLinks.mostDependencies) others",
                id: id
            )
        case .otherKind:
            throw OperationsError(
                .refused,
                "operation \(id) is a group, which waits for its members only: enqueue them with .group, or add them to it",
                id: id
            )
        case .unknownDependency(let other):
            throw OperationsError(
                .notFound,
                "the operation to wait for, \(other), is not there: it never was, was removed, was untracked, or its time is over",
                id: id
            )
        }
    }
}
