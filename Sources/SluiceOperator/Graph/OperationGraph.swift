import Operations

/// Operations that depend on each other, as they were when they were read.
///
/// The operations may be in several queues, so each name includes the queue.
package struct OperationGraph: Sendable {
    package struct Node: Sendable {
        package var detail: OperationDetail
        /// The dependencies that are in the graph, sorted by name.
        package var needs: [DependencyName] = []
        /// The dependents that are in the graph, sorted by name.
        package var dependents: [DependencyName] = []

        /// The name of the operation, with its queue.
        package var name: DependencyName { detail.name }

        /// Returns the duration of the last run in milliseconds; a run in progress counts until `now`.
        package func runTime(now: Int64) -> Int64 {
            let record = detail.record
            guard record.startedAt > 0 else { return 0 }
            return max(0, (record.endedAt > 0 ? record.endedAt : now) - record.startedAt)
        }
    }

    package private(set) var nodes: [DependencyName: Node] = [:]
    /// All operations, each after its dependencies; within a level sorted by name.
    package private(set) var order: [DependencyName] = []
    /// Whether operations are missing because the graph has more than the limit.
    package private(set) var isCutShort = false
    /// The server time at which the graph was read, in milliseconds.
    package let time: Int64

    package init(_ details: [OperationDetail], needs: [DependencyName: [DependencyName]], isCutShort: Bool, time: Int64)
    {
        for detail in details { nodes[detail.name] = Node(detail: detail) }
        for (id, dependencies) in needs where nodes[id] != nil {
            for dependency in dependencies.sorted() where nodes[dependency] != nil {
                nodes[id]?.needs.append(dependency)
                nodes[dependency]?.dependents.append(id)
            }
        }
        for id in nodes.keys { nodes[id]?.dependents.sort() }
        self.isCutShort = isCutShort
        self.time = time
        order = sorted()
    }

    /// The operations without dependencies in the graph.
    package var roots: [DependencyName] { order.filter { nodes[$0]?.needs.isEmpty ?? false } }

    package var counts: [OperationState: Int] {
        nodes.values.reduce(into: [:]) { $0[$1.detail.state, default: 0] += 1 }
    }

    private func sorted() -> [DependencyName] {
        var open = nodes.mapValues(\.needs.count)
        var layer = open.filter { $0.value == 0 }.map(\.key).sorted()
        var order: [DependencyName] = []
        while !layer.isEmpty {
            order += layer
            var next: [DependencyName] = []
            for dependent in layer.flatMap({ nodes[$0]?.dependents ?? [] }) {
                open[dependent, default: 0] -= 1
                if open[dependent] == 0 { next.append(dependent) }
            }
            layer = next.sorted()
        }
        return order
    }

    /// The path with the longest sum of runs, and this sum in milliseconds. Operations that have not started count as
    /// zero.
    package var criticalPath: (names: [DependencyName], milliseconds: Int64) {
        var longest: [DependencyName: (time: Int64, before: DependencyName?)] = [:]
        for id in order {
            guard let node = nodes[id] else { continue }
            let before = node.needs.max { longest[$0]?.time ?? 0 < longest[$1]?.time ?? 0 }
            let time = (before.flatMap { longest[$0]?.time } ?? 0) + node.runTime(now: time)
            longest[id] = (time, before)
        }
        guard let last = order.max(by: { longest[$0]?.time ?? 0 < longest[$1]?.time ?? 0 }) else { return ([], 0) }
        var path: [DependencyName] = []
        var next: DependencyName? = last
        while let id = next {
            path.append(id)
            next = longest[id]?.before
        }
        return (path.reversed(), longest[last]?.time ?? 0)
    }
}

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
        var needs: [DependencyName: [DependencyName]] = [:]
        var isCutShort = false
        while !frontier.isEmpty {
            let layer = try await allDetails(frontier)
            details += layer
            frontier = []
            for detail in layer {
                let dependencies = try await dependencies(of: detail)
                needs[detail.name] = dependencies
                // The graph stores dependencies only. Dependents are read to find more operations, until the limit is
                // reached.
                let dependents = isCutShort ? [] : try await dependents(of: detail, limit: limit + 1)
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
        return OperationGraph(details, needs: needs, isCutShort: isCutShort, time: time)
    }

    private func dependencies(of detail: OperationDetail) async throws -> [DependencyName] {
        let links = detail.links
        let names =
            links.needCount <= links.needs.count
            ? links.needs.map(\.dependency.name)
            : try await edges(.needs, of: detail.id, queue: detail.queue)
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
