import Operations

/// Searches for operations that would wait for themselves.
extension OperatorBroker {
    /// The maximum number of operations to look at, in addition to the given ones.
    private static var mostLookedAt: Int { 20_000 }

    /// Finds an operation that waits for `target` or is it, directly or not.
    ///
    /// - Parameters:
    ///   - names: the operations to start from; those without a queue are in the queue of `target`.
    ///   - target: the operation, with its queue.
    /// - Returns: one of `names`; nil if none of them waits for `target`.
    /// - Throws: `.refused` if the search would look at too many operations.
    func first(of names: [DependencyName], thatWaitsFor target: DependencyName) async throws -> DependencyName? {
        /// The name from which the search reached each operation.
        var origins: [DependencyName: DependencyName] = [:]
        for name in names { origins[DependencyName(name.id, queue: name.queue ?? target.queue)] = name }
        let most = origins.count + Self.mostLookedAt
        var layer = Array(origins.keys)
        while !layer.isEmpty {
            if let origin = origins[target] { return origin }
            guard origins.count <= most else {
                throw OperationsError(
                    .refused,
                    "the search for a cycle stopped, because more than 20,000 operations would be before operation "
                        + "\(target.id): use a group of them and wait for the group",
                    id: target.id
                )
            }
            var next: [DependencyName] = []
            for (queue, names) in Dictionary(grouping: layer, by: \.queue) {
                guard let queue else { continue }
                for (name, needs) in try await unmetNeeds(of: names.map(\.id), queue: queue) {
                    for need in needs where origins[need] == nil {
                        origins[need] = origins[name]
                        next.append(need)
                    }
                }
            }
            layer = next
        }
        return nil
    }

    /// Reads the unmet dependencies of these operations, also those that would count after a retry. All returned names
    /// have a queue.
    private func unmetNeeds(
        of ids: [OperationID],
        queue: String
    ) async throws -> [(name: DependencyName, needs: [DependencyName])] {
        var found: [(name: DependencyName, needs: [DependencyName])] = []
        for start in stride(from: 0, to: ids.count, by: SluiceDefaults.batch) {
            let part = Array(ids[start..<min(start + SluiceDefaults.batch, ids.count)])
            for detail in try await details(part, queue: queue).compactMap({ $0 })
            where detail.state != .finished && detail.links.unmetCount > 0 {
                let links = detail.links
                let needs =
                    links.needCount <= links.needs.count
                    ? links.needs.filter { !$0.isMet }.map(\.dependency.name)
                    : try await edges(.needs, of: detail.id, queue: queue)
                let name = DependencyName(detail.id, queue: queue)
                found.append((name, needs.map { DependencyName($0.id, queue: $0.queue ?? queue) }))
            }
        }
        return found
    }
}
