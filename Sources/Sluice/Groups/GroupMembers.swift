import Operations

extension EnqueueOptions {
    /// The groups that the operation enters, each once.
    ///
    /// - Throws: `.invalidOption`.
    func checkedGroups() throws(OperationsError) -> [DependencyName] {
        guard !groups.isEmpty else { return [] }
        guard tracked != false else {
            throw OperationsError(.invalidOption, "an untracked operation cannot be in a group: drop .untracked")
        }
        var names: [DependencyName] = []
        for name in groups where !names.contains(name) {
            if let queue = name.queue { try NameRule.check(queue, role: "queue") }
            names.append(name)
        }
        guard names.count <= GroupTerms.mostGroups else {
            throw OperationsError(
                .invalidOption,
                "an operation enters at most \(GroupTerms.mostGroups) groups, not \(names.count): let one of these be in another"
            )
        }
        return names
    }
}

extension ProducerBroker where Self: OperatorBroker {
    /// Enqueues operations that may wait for each other and may enter groups. A group of another queue waits for its new members before they
    /// are enqueued: so it never ends without one that is there.
    ///
    /// - Returns: the outcomes in the order of the operations.
    func enqueueLinked(
        _ operations: [NewOperation],
        queue: String,
        progress: (Int) -> Void
    ) async throws -> [EnqueueOutcome] {
        guard operations.contains(where: { $0.links?.entering.isEmpty == false }) else {
            return try await enqueueWaiting(operations, queue: queue, progress: progress)
        }
        let sorted = operations.map { $0.entering(from: queue) }
        let closed = try await announce(sorted, queue: queue)
        let places = sorted.indices.filter { closed[$0] == nil }
        var outcomes = sorted.indices.map { EnqueueOutcome.closedGroup(closed[$0] ?? sorted[$0].id) }
        do {
            let made = try await enqueueWaiting(places.map { sorted[$0] }, queue: queue, progress: progress)
            for (place, outcome) in zip(places, made) { outcomes[place] = outcome }
        } catch let error as OperationsError where error.code != .unavailable {
            // Nothing, or a part: what is there stays a member, and the rest is asked for until it counts as removed.
            throw error
        }
        try await settle(sorted, outcomes, queue: queue)
        return outcomes
    }

    /// Groups of other queues hear of their new members.
    ///
    /// - Returns: by the places of operations that cannot be enqueued, the group that takes no more.
    private func announce(_ operations: [NewOperation], queue: String) async throws -> [Int: OperationID] {
        var closed: [Int: OperationID] = [:]
        for (group, places) in operations.placesByGroup({ $0.links?.entering.filter { $0.queue != nil } ?? [] }) {
            let names = places.map { DependencyName(operations[$0].id, queue: queue) }
            guard try await change(group, adding: names) else {
                for place in places { closed[place] = group.id }
                continue
            }
        }
        return closed
    }

    /// What was there before enters its groups as well, and what was not enqueued leaves them.
    private func settle(_ operations: [NewOperation], _ outcomes: [EnqueueOutcome], queue: String) async throws {
        for (group, places) in operations.placesByGroup({ $0.links?.entering ?? [] }) {
            let isElsewhere = group.queue != nil
            func name(_ id: OperationID) -> DependencyName { DependencyName(id, queue: isElsewhere ? queue : nil) }
            var (added, removed): ([DependencyName], [DependencyName]) = ([], [])
            for place in places {
                switch outcomes[place] {
                case .created: continue
                case .exists: added.append(name(operations[place].id))
                case .taken(by: let id):
                    added.append(name(id))
                    removed.append(name(operations[place].id))
                case .crowded, .unknownDependency, .closedGroup, .staleRun: removed.append(name(operations[place].id))
                }
            }
            _ = try await change(DependencyName(group.id, queue: group.queue ?? queue), adding: added)
            guard isElsewhere else { continue }
            for part in removed.parts {
                let change = NeedsChange(group.id, removed: part)
                _ = try await self.change(change, by: "producer", queue: group.queue ?? queue)
            }
        }
    }

    /// - Returns: whether the group takes members.
    private func change(_ group: DependencyName, adding names: [DependencyName]) async throws -> Bool {
        for part in names.parts {
            let change = NeedsChange(group.id, added: OperationLinks(members: part))
            guard case .done = try await self.change(change, by: "producer", queue: group.queue ?? "") else {
                return false
            }
        }
        return true
    }
}

extension [DependencyName] {
    /// As many as a call carries.
    var parts: [[DependencyName]] {
        stride(from: 0, to: count, by: OperationLinks.dependenciesOfACall).map {
            Array(self[$0..<Swift.min($0 + OperationLinks.dependenciesOfACall, count)])
        }
    }
}

extension [NewOperation] {
    /// The places of the operations that are to be in a group, in order.
    fileprivate func placesByGroup(_ groups: (NewOperation) -> [DependencyName]) -> [(DependencyName, [Int])] {
        var places: [DependencyName: [Int]] = [:]
        for (place, operation) in enumerated() {
            for group in groups(operation) { places[group, default: []].append(place) }
        }
        return places.sorted { $0.key < $1.key }
    }
}

extension NewOperation {
    /// With its groups as its queue calls them.
    fileprivate func entering(from queue: String) -> NewOperation {
        var operation = self
        let names = (links?.entering ?? []).map { DependencyName($0.id, queue: $0.queue == queue ? nil : $0.queue) }
        operation.links?.entering = names
        operation.links?.groups = names.filter { $0.queue == nil }.map(\.id)
        operation.links?.tells = Set(names.compactMap(\.queue)).sorted()
        return operation
    }
}
