import Operations

extension EnqueueOptions {
    /// Returns the groups that the operation enters, each once, after checking them.
    ///
    /// - Throws: `.invalidOption` if the operation cannot enter groups or enters too many; `.invalidName` for a queue
    ///   name.
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
        guard !isForCompletion else {
            throw OperationsError(
                .invalidOption,
                "an operation with .withCompletion cannot enter a group, because each failed run removes it: "
                    + "drop .group or .withCompletion"
            )
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
    /// Enqueues operations that may depend on each other and may enter groups. A group of another queue gets its new
    /// members before they are enqueued, so it never ends without a stored member.
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
        let sorted = try operations.map { operation throws(OperationsError) in try operation.entering(from: queue) }
        try await refuseCycles(sorted, queue: queue)
        var announced = AnnouncedMembers()
        var outcomes = sorted.map { EnqueueOutcome.closedGroup($0.id) }
        do {
            try await announce(sorted, queue: queue, &announced)
            let places = sorted.indices.filter { announced.closed[$0] == nil }
            let made = try await enqueueWaiting(places.map { sorted[$0] }, queue: queue, progress: progress)
            for (place, outcome) in zip(places, made) { outcomes[place] = outcome }
        } catch {
            await takeBack(announced, queue: queue, after: error)
            throw error
        }
        for (place, group) in announced.closed { outcomes[place] = .closedGroup(group) }
        try await settle(sorted, outcomes, announced, queue: queue)
        return outcomes
    }

    /// - Throws: `.invalidOption` if a new member would wait for an operation that waits for its group.
    private func refuseCycles(_ operations: [NewOperation], queue: String) async throws {
        for (group, places) in operations.placesByGroup({ $0.links?.entering ?? [] }) {
            let home = DependencyName(group.id, queue: group.queue ?? queue)
            let needed = operations.needed(by: places).map { DependencyName($0.id, queue: $0.queue ?? queue) }
            guard let name = try await found(in: needed, waitingFor: home) else { continue }
            throw OperationsError(
                .invalidOption,
                "the operation cannot enter group \(group.id) and depend on \(name), which waits for that group: "
                    + "drop the group or the dependency",
                id: name.id
            )
        }
    }

    /// - Returns: an operation of `names` that waits for the group, directly or not; nil also if the search would look
    ///   at too many operations.
    private func found(in names: [DependencyName], waitingFor group: DependencyName) async throws -> DependencyName? {
        do {
            return try await first(of: names, thatWaitsFor: group)
        } catch let error as OperationsError where error.code == .refused {
            return nil
        }
    }

    /// Removes announced members that were not enqueued, after an enqueue has thrown. If the outcome is unknown, the
    /// members stay, and their groups ask for them.
    private func takeBack(_ announced: AnnouncedMembers, queue: String, after error: any Error) async {
        let code = (error as? OperationsError)?.code
        guard let code, ![.unavailable, .outcomeUnknown].contains(code) else { return }
        for (group, names) in announced.new {
            let details = (try? await allDetails(names.map(\.id), queue: queue)) ?? []
            let missing = zip(names, details).filter { $1 == nil }.map(\.0)
            try? await remove(missing, from: group)
        }
    }

    /// Adds the new members to groups of other queues.
    private func announce(
        _ operations: [NewOperation],
        queue: String,
        _ announced: inout AnnouncedMembers
    ) async throws {
        for (group, places) in operations.placesByGroup({ $0.links?.entering.filter { $0.queue != nil } ?? [] }) {
            let names = places.map { DependencyName(operations[$0].id, queue: queue) }
            if try await add(names, to: group, note: { announced.new[group, default: []] += $0 }) { continue }
            for place in places { announced.closed[place] = group.id }
        }
    }

    /// Adds operations that existed before to their groups, and removes operations that were not enqueued.
    private func settle(
        _ operations: [NewOperation],
        _ outcomes: [EnqueueOutcome],
        _ announced: AnnouncedMembers,
        queue: String
    ) async throws {
        for (group, places) in operations.placesByGroup({ $0.links?.entering ?? [] }) {
            let home = DependencyName(group.id, queue: group.queue ?? queue)
            let isElsewhere = group.queue != nil
            let new = Set(announced.new[group] ?? [])
            var (added, removed): ([DependencyName], [DependencyName]) = ([], [])
            for place in places {
                let own = DependencyName(operations[place].id, queue: isElsewhere ? queue : nil)
                switch outcomes[place] {
                case .created: continue
                case .exists: added.append(own)
                case .taken(by: let id):
                    added.append(DependencyName(id, queue: own.queue))
                    removed.append(own)
                case .crowded, .unknownDependency, .closedGroup, .staleRun: removed.append(own)
                }
            }
            if let name = try await found(in: added, waitingFor: home) {
                try? await remove(added.filter(new.contains), from: home)
                throw OperationsError(
                    .invalidOption,
                    "the existing operation \(name.id) waits for group \(group.id), so it cannot be a member: "
                        + "drop that dependency first",
                    id: name.id
                )
            }
            let isDone: Bool
            do { isDone = try await add(added, to: home, exist: true, note: { _ in }) } catch {
                try? await remove(removed.filter(new.contains), from: home)
                throw error
            }
            guard isDone else {
                throw OperationsError(
                    .refused,
                    "operation \(added[0].id) exists and cannot enter group \(group.id), "
                        + "which takes no more members: use another group",
                    id: added[0].id
                )
            }
            try await remove(removed.filter(new.contains), from: home)
        }
    }

    /// - Parameters:
    ///   - group: the group, with its queue.
    ///   - exist: whether the operations exist. The queues of new members then report their ends, also those that have
    ///     come already.
    ///   - note: called with the operations that were no members before.
    /// - Returns: true if all operations are members now.
    private func add(
        _ names: [DependencyName],
        to group: DependencyName,
        exist: Bool = false,
        note: ([DependencyName]) -> Void
    ) async throws -> Bool {
        for part in names.parts {
            var links = OperationLinks(members: part)
            if exist { links.said = try await saidOfExisting(part, queue: group.queue ?? "") }
            let change = NeedsChange(group.id, added: links)
            switch try await self.change(change, by: "producer", queue: group.queue ?? "") {
            case .done(let new): note(new)
            default: return false
            }
        }
        return true
    }

    /// Asks the queues of members for their states. An operation that is gone was removed since its enqueue.
    private func saidOfExisting(_ names: [DependencyName], queue: String) async throws -> [DependencyName: RemoteState]
    {
        try await said(of: names.map { OperationDependency($0.id, queue: $0.queue) }, queue: queue)
            .mapValues { $0.status == .unknown ? RemoteState($0.id, .removed, sequence: 1) : $0 }
    }

    private func remove(_ names: [DependencyName], from group: DependencyName) async throws {
        for part in names.parts {
            _ = try await change(NeedsChange(group.id, removed: part), by: "producer", queue: group.queue ?? "")
        }
    }
}

/// The answers of groups in other queues that got members before an enqueue.
private struct AnnouncedMembers {
    /// By group, the operations that were no members before.
    var new: [DependencyName: [DependencyName]] = [:]
    /// By the indexes of operations that are not enqueued, the group that takes no more members.
    var closed: [Int: OperationID] = [:]
}

extension [DependencyName] {
    /// The names, split into parts that fit into one call.
    var parts: [[DependencyName]] {
        stride(from: 0, to: count, by: OperationLinks.dependenciesOfACall).map {
            Array(self[$0..<Swift.min($0 + OperationLinks.dependenciesOfACall, count)])
        }
    }
}

extension [NewOperation] {
    /// Returns, for each group, the indexes of the operations that enter it, in order.
    fileprivate func placesByGroup(_ groups: (NewOperation) -> [DependencyName]) -> [(DependencyName, [Int])] {
        var places: [DependencyName: [Int]] = [:]
        for (place, operation) in enumerated() {
            for group in groups(operation) { places[group, default: []].append(place) }
        }
        return places.sorted { $0.key < $1.key }
    }
}

extension [NewOperation] {
    /// Returns the dependencies outside this array that the operations at these indexes have, directly or through
    /// others of the array.
    fileprivate func needed(by places: [Int]) -> [DependencyName] {
        guard contains(where: { $0.links?.after.isEmpty == false }) else { return [] }
        let own = Dictionary(enumerated().map { ($1.id, $0) }) { first, _ in first }
        var (seen, line, needed) = (Set(places), places, Set<DependencyName>())
        while let place = line.popLast() {
            for dependency in self[place].links?.after ?? [] {
                if dependency.queue == nil, let other = own[dependency.id] {
                    if seen.insert(other).inserted { line.append(other) }
                } else {
                    needed.insert(DependencyName(dependency.id, queue: dependency.queue))
                }
            }
        }
        return needed.sorted()
    }
}

extension NewOperation {
    /// Returns the operation with its groups sorted into those of its queue and those of other queues.
    ///
    /// - Throws: `.invalidOption` if the operation depends on a group that it enters: the group would wait for it.
    fileprivate func entering(from queue: String) throws(OperationsError) -> NewOperation {
        var operation = self
        let names = (links?.entering ?? []).map { DependencyName($0.id, queue: $0.queue == queue ? nil : $0.queue) }
        let needed = (links?.after ?? []).map { DependencyName($0.id, queue: $0.queue == queue ? nil : $0.queue) }
        if let group = names.first(where: needed.contains) {
            throw OperationsError(
                .invalidOption,
                "the operation cannot be a member of group \(group) and wait for it: drop the group or the dependency",
                id: id
            )
        }
        operation.links?.entering = names
        operation.links?.groups = names.filter { $0.queue == nil }.map(\.id)
        operation.links?.tells = Set(names.compactMap(\.queue)).sorted()
        return operation
    }
}
