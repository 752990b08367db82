import Operations

extension MonitorBroker {
    /// Reads the operations connected with an operation by dependencies, in both directions, nearest first.
    ///
    /// - Parameters:
    ///   - id: the operation at which the search begins.
    ///   - limit: the most operations to read.
    /// - Returns: nil if the operation does not exist.
    package func graph(of id: OperationID, queue: String, limit: Int) async throws -> OperationGraph? {
        let subject = DependencyName(id, queue: queue)
        var seen: Set<DependencyName> = [subject]
        var frontier = [subject]
        var details: [OperationDetail] = []
        var needs: [DependencyName: Set<DependencyName>] = [:]
        var isCutShort = false
        while !frontier.isEmpty {
            let layer = try await allDetails(frontier)
            details += layer
            frontier = []
            for detail in layer {
                let dependencies = try await dependencies(of: detail, limit: limit + 1)
                if dependencies.count > limit { isCutShort = true }
                needs[detail.name, default: []].formUnion(dependencies)
                // Dependents are read to find more operations, until the limit is reached.
                let dependents = isCutShort ? [] : try await dependents(of: detail, limit: limit + 1)
                // A dependent with very many dependencies may not name this one among those that are read.
                for dependent in dependents { needs[dependent, default: []].insert(detail.name) }
                for other in dependencies + dependents where !seen.contains(other) {
                    guard seen.count < limit else {
                        isCutShort = true
                        break
                    }
                    seen.insert(other)
                    frontier.append(other)
                }
            }
        }
        guard !details.isEmpty else { return nil }
        let time = try await snapshot(queue: queue, executingRows: 0).time
        return OperationGraph(details, needs: needs.mapValues { Array($0) }, isCutShort: isCutShort, time: time)
    }

    /// Reads the direct dependencies and dependents of an operation.
    ///
    /// - Parameters:
    ///   - limit: the most operations of the graph, with the operation itself.
    ///   - time: the server time, in milliseconds.
    /// - Returns: a graph that is cut short if the operation has more; nil if it has no dependencies and no dependents.
    ///   The reads are at most one for each queue of a neighbour, and one more if other queues have dependents.
    package func neighbours(of detail: OperationDetail, limit: Int, time: Int64) async throws -> OperationGraph? {
        let links = detail.links
        guard links.needCount + links.dependentCount > 0 || !links.dependentQueues.isEmpty else { return nil }
        let known = links.dependents.map { DependencyName($0, queue: detail.queue) }
        let all =
            links.dependentQueues.isEmpty || known.count >= limit
            ? known : try await dependents(of: detail, limit: limit)
        let places = limit - 1
        let needs = links.needs.prefix(max(places - all.count, places - places / 2)).map {
            $0.dependency.name.from(detail.queue)
        }
        let dependents = all.prefix(places - needs.count)
        let isCutShort =
            needs.count < links.needCount || dependents.count < max(all.count, links.dependentCount)
        var edges = Dictionary(uniqueKeysWithValues: Set(dependents).map { ($0, [detail.name]) })
        edges[detail.name] = needs
        let details = [detail] + (try await allDetails(needs + dependents))
        return OperationGraph(details, needs: edges, isCutShort: isCutShort, time: time)
    }

    private func dependencies(of detail: OperationDetail, limit: Int) async throws -> [DependencyName] {
        let links = detail.links
        let names =
            links.needCount <= links.needs.count
            ? links.needs.map(\.dependency.name)
            : try await edges(.needs, of: detail.id, limit: limit, queue: detail.queue)
        return names.map { $0.from(detail.queue) }
    }

    private func dependents(of detail: OperationDetail, limit: Int) async throws -> [DependencyName] {
        let links = detail.links
        let names =
            links.dependentCount <= links.dependents.count && links.dependentQueues.isEmpty
            ? links.dependents.map { DependencyName($0) }
            : try await edges(.dependents, of: detail.id, limit: limit, queue: detail.queue)
        return names.map { $0.from(detail.queue) }
    }

    /// Reads the details of any number of operations in any queues. Unknown operations are left out.
    private func allDetails(_ names: [DependencyName]) async throws -> [OperationDetail] {
        var all: [OperationDetail] = []
        for (queue, names) in Dictionary(grouping: names, by: \.queue).sorted(by: { ($0.key ?? "") < ($1.key ?? "") }) {
            guard let queue else { continue }
            all += try await allDetails(names.map(\.id), queue: queue).compactMap { $0 }
        }
        return all
    }
}

extension OperationDetail {
    /// The name of the operation, with its queue.
    package var name: DependencyName { DependencyName(id, queue: queue) }
}

extension DependencyName {
    /// Adds the queue to a name that has none, because it refers to the queue that stores it.
    fileprivate func from(_ queue: String) -> DependencyName { DependencyName(id, queue: self.queue ?? queue) }
}
