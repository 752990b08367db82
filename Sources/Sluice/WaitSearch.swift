import Operations

/// Looks for what would wait for itself.
extension OperatorBroker {
    /// So many operations are looked at besides those that are asked about, at most.
    private static var mostLookedAt: Int { 20_000 }

    /// - Parameters:
    ///   - names: those without a queue are in that of `target`.
    ///   - target: with its queue.
    /// - Returns: one of these that waits for `target` or is it, directly or not.
    /// - Throws: `.refused` if there are too many operations to look at.
    func first(of names: [DependencyName], thatWaitsFor target: DependencyName) async throws -> DependencyName? {
        /// By which of the names each was found.
        var origins: [DependencyName: DependencyName] = [:]
        for name in names { origins[DependencyName(name.id, queue: name.queue ?? target.queue)] = name }
        let most = origins.count + Self.mostLookedAt
        var layer = Array(origins.keys)
        while !layer.isEmpty {
            if let origin = origins[target] { return origin }
            guard origins.count <= most else {
                throw OperationsError(
                    .refused,
                    "more than 20,000 operations are before operation \(target.id) then: whether it would wait for itself cannot be seen",
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

    /// What these wait for, or would if they were tried again; with queues.
    private func unmetNeeds(
        of ids: [OperationID],
        queue: String
    ) async throws -> [(name: DependencyName, needs: [DependencyName])] {
        var found: [(name: DependencyName, needs: [DependencyName])] = []
        for start in stride(from: 0, to: ids.count, by: Defaults.batch) {
            let part = Array(ids[start..<min(start + Defaults.batch, ids.count)])
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
