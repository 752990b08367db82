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
    /// So many operations are looked at, at most, to see whether one would wait for itself.
    private static let mostLookedAt = 20_000

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
        try await apply(reference, added, removed.map(name))
        guard try await isReached(reference, from: added.map(\.name)) else { return }
        try await apply(reference, [], added.map(\.name))
        throw OperationsError(
            .invalidOption,
            "\(added[0].name) waits for operation \(reference.id) already, or for what waits for it",
            id: reference.id
        )
    }

    private func apply(_ reference: OperationReference, _ added: [Dependency], _ removed: [DependencyName]) async throws
    {
        let places = stride(from: 0, to: max(added.count, removed.count), by: OperationLinks.dependenciesOfACall)
        for start in places {
            let part = { (count: Int) in min(start, count)..<min(start + OperationLinks.dependenciesOfACall, count) }
            let after = Array(added[part(added.count)])
            var links = OperationLinks(after: after)
            links?.said = try await broker.said(of: after, queue: reference.queue)
            let change = NeedsChange(reference.id, added: links, removed: Array(removed[part(removed.count)]))
            try check(try await broker.change(change, by: Self.identity, queue: reference.queue), reference)
        }
    }

    private func check(_ outcome: NeedsOutcome, _ reference: OperationReference) throws(OperationsError) {
        let id = reference.id
        switch outcome {
        case .done: return
        case .unknown: throw reference.notFound
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
        case .unknownDependency(let other):
            throw OperationsError(
                .notFound,
                "the operation to wait for, \(other), is not there: it never was, was removed, was untracked, or its time is over",
                id: id
            )
        }
    }

    /// Whether one of these waits for the operation, directly or not.
    private func isReached(_ reference: OperationReference, from names: [DependencyName]) async throws -> Bool {
        let target = DependencyName(reference.id, queue: reference.queue)
        var layer = names.map { DependencyName($0.id, queue: $0.queue ?? reference.queue) }
        var seen = Set(layer)
        while !layer.isEmpty {
            if layer.contains(target) { return true }
            guard seen.count <= Self.mostLookedAt else { return true }
            var next: [DependencyName] = []
            for (queue, names) in Dictionary(grouping: layer, by: \.queue) {
                guard let queue else { continue }
                for need in try await unmetNeeds(of: names.map(\.id), queue: queue) where seen.insert(need).inserted {
                    next.append(need)
                }
            }
            layer = next
        }
        return false
    }

    /// What these wait for, with queues.
    private func unmetNeeds(of ids: [OperationID], queue: String) async throws -> [DependencyName] {
        var names: [DependencyName] = []
        for start in stride(from: 0, to: ids.count, by: Defaults.batch) {
            let part = Array(ids[start..<min(start + Defaults.batch, ids.count)])
            for detail in try await broker.details(part, queue: queue).compactMap({ $0 })
            where !detail.state.isTerminal && detail.links.unmetCount > 0 {
                let links = detail.links
                names +=
                    links.needCount <= links.needs.count
                    ? links.needs.filter { !$0.isMet }.map(\.dependency.name)
                    : try await broker.edges(.needs, of: detail.id, queue: queue)
            }
        }
        return names.map { DependencyName($0.id, queue: $0.queue ?? queue) }
    }
}
