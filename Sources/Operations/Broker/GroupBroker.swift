/// Cancels operations.
package protocol OperationCancelling: Sendable {
    /// Cancels operations: waiting ones end now, running ones are asked to stop. Does not cancel the members of a
    /// group; `cancelWithMembers` does.
    ///
    /// - Returns: one outcome for each operation, in the order of `ids`.
    func cancel(_ ids: [OperationID], request: CancelRequest, queue: String) async throws -> [CancelOutcome]
}

extension NeedsChanging {
    /// Closes a group: it ends when its present members have ended. A closed group stays closed.
    package func closeGroup(_ id: OperationID, by: String, queue: String) async throws -> NeedsOutcome {
        try await change(NeedsChange(id, part: .last), by: by, queue: queue)
    }
}

extension OperationCancelling where Self: EdgeReading {
    /// Cancels operations, and all members of groups, in all queues.
    ///
    /// A group accepts no more members before its members are read, so none is missed. If a call breaks off, the
    /// workers of the group's queue continue the cancel.
    ///
    /// - Returns: one outcome for each operation, in the order of `ids`.
    package func cancelWithMembers(
        _ ids: [OperationID],
        request: CancelRequest,
        queue: String
    ) async throws -> [CancelOutcome] {
        let outcomes = try await cancel(ids, request: request, queue: queue)
        var groups = zip(ids, outcomes).filter { $1 == .group }.map { DependencyName($0.0, queue: queue) }
        var seen = Set(groups)
        // Also cancel members that were announced to their group and are not enqueued yet.
        var request = request
        request.storesIntent = true
        while let group = groups.popLast() {
            let home = group.queue ?? queue
            let members = try await edges(.needs, of: group.id, limit: .max, queue: home)
            for (other, names) in Dictionary(grouping: members, by: { $0.queue ?? home }) {
                for start in stride(from: 0, to: names.count, by: SluiceDefaults.batch) {
                    let part = names[start..<min(start + SluiceDefaults.batch, names.count)].map(\.id)
                    for (id, outcome) in zip(part, try await cancel(part, request: request, queue: other))
                    where outcome == .group && seen.insert(DependencyName(id, queue: other)).inserted {
                        groups.append(DependencyName(id, queue: other))
                    }
                }
            }
        }
        return outcomes
    }
}

extension OperatorBroker {
    /// Retries operations, and the members of groups that ended without finishing.
    ///
    /// Members are retried only if their group is dead or has not ended, and was not cancelled; nested groups are
    /// included. Before this returns, the groups of the retried operations wait for them again, in all queues.
    ///
    /// - Parameter spread: gives the times; nil = all now.
    /// - Returns: one outcome for each operation, in the order of `ids`. The outcome of a group is `done` if a member
    ///   of it is retried.
    package func retryWithMembers(
        _ ids: [OperationID],
        spread: Spread? = nil,
        by: String,
        queue: String
    ) async throws -> [ChangeOutcome] {
        var seen: Set<DependencyName> = []
        return try await retryWithMembers(ids, spread, by: by, queue: queue, &seen)
    }

    /// Retries operations now.
    package func retry(_ ids: [OperationID], by: String, queue: String) async throws -> [ChangeOutcome] {
        try await retry(ids, delays: [], by: by, queue: queue)
    }

    private func retryWithMembers(
        _ ids: [OperationID],
        _ spread: Spread?,
        by: String,
        queue: String,
        _ seen: inout Set<DependencyName>
    ) async throws -> [ChangeOutcome] {
        var outcomes = try await retry(ids, delays: spread?.delays(ids.count) ?? [], by: by, queue: queue)
        // A group that cannot be reached now is notified when the operation ends again.
        do { try await tellGroups(of: zip(ids, outcomes).filter { $1 == .done }.map(\.0), queue: queue) } catch let
            error as OperationsError where [.unavailable, .denied].contains(error.code)
        {}
        let refused = outcomes.indices.filter { [.refused(.dead), .refused(.blocked)].contains(outcomes[$0]) }
        let details = try await allDetails(refused.map { ids[$0] }, queue: queue)
        for (place, detail) in zip(refused, details) where detail?.isGroup == true && detail?.cancel == nil {
            guard seen.insert(DependencyName(ids[place], queue: queue)).inserted else { continue }
            if try await retryMembers(of: ids[place], spread, by: by, queue: queue, &seen) { outcomes[place] = .done }
        }
        return outcomes
    }

    /// - Returns: whether a member is retried.
    private func retryMembers(
        of group: OperationID,
        _ spread: Spread?,
        by: String,
        queue: String,
        _ seen: inout Set<DependencyName>
    ) async throws -> Bool {
        var hasRetried = false
        let members = try await edges(.needs, of: group, limit: .max, queue: queue)
        for (home, names) in Dictionary(grouping: members, by: { $0.queue ?? queue }) {
            for start in stride(from: 0, to: names.count, by: SluiceDefaults.batch) {
                let part = names[start..<min(start + SluiceDefaults.batch, names.count)].map(\.id)
                let failed = try await details(part, queue: home).compactMap { $0 }.filter {
                    $0.isGroup ? [.dead, .blocked].contains($0.state) : $0.state.isTerminal && $0.state != .finished
                }
                let outcomes = try await retryWithMembers(failed.map(\.id), spread, by: by, queue: home, &seen)
                hasRetried = hasRetried || outcomes.contains(.done)
            }
        }
        return hasRetried
    }
}

// MARK: - Groups of what is tried again

extension OperatorBroker {
    private static var dependentsTold: Int { 100 }

    /// Makes groups in other queues wait again for retried operations, and for groups that thereby wait again.
    private func tellGroups(of ids: [OperationID], queue: String) async throws {
        var retried = ids.map { DependencyName($0, queue: queue) }
        var seen = Set(retried)
        var isFirst = true
        while !retried.isEmpty {
            var groups: [DependencyName] = []
            for (home, names) in Dictionary(grouping: retried, by: { $0.queue ?? queue }) {
                let details = try await allDetails(names.map(\.id), queue: home).compactMap { $0 }
                for detail in details where isFirst || detail.isGroup && detail.state == .blocked {
                    groups += try await tellDependents(of: detail)
                }
            }
            retried = groups.filter { seen.insert($0).inserted }
            isFirst = false
        }
    }

    /// - Returns: the dependents of the operation.
    private func tellDependents(of detail: OperationDetail) async throws -> [DependencyName] {
        let (links, home) = (detail.links, detail.queue)
        guard links.dependentCount > 0 || !links.dependentQueues.isEmpty else { return [] }
        for other in links.dependentQueues {
            do {
                try await resolve(try await link([detail.id], in: home, from: other), of: home, queue: other)
            } catch let error as OperationsError where [.unavailable, .denied].contains(error.code) {}
        }
        return try await edges(.dependents, of: detail.id, limit: Self.dependentsTold, queue: home).map {
            DependencyName($0.id, queue: $0.queue ?? home)
        }
    }
}
