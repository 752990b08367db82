import Operations

/// Operations that depend on each other, as they were when they were read. They may be in several queues: each name has its queue.
package struct OperationGraph: Sendable {
    package struct Node: Sendable {
        package var detail: OperationDetail
        /// What it depends on, of what is in the graph, in the order of their names.
        package var needs: [DependencyName] = []
        /// What depends on it, of what is in the graph, in the order of their names.
        package var dependents: [DependencyName] = []

        /// With its queue.
        package var name: DependencyName { detail.name }

        /// How long its last run took, or takes until `now`.
        package func runTime(now: Int64) -> Int64 {
            let record = detail.record
            guard record.startedAt > 0 else { return 0 }
            return max(0, (record.endedAt > 0 ? record.endedAt : now) - record.startedAt)
        }
    }

    package private(set) var nodes: [DependencyName: Node] = [:]
    /// Each operation behind what it depends on; among equals by their names.
    package private(set) var order: [DependencyName] = []
    /// Whether there are operations that were not read, since they are too many.
    package private(set) var isCutShort = false
    /// Server time at which it was read.
    package let time: Int64

    init(_ details: [OperationDetail], needs: [DependencyName: [DependencyName]], isCutShort: Bool, time: Int64) {
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

    /// What depends on nothing in the graph.
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

    /// The path along which the runs took longest, and how long, in milliseconds. What has not started counts as nothing.
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
    /// Reads what an operation is connected with along its edges, in both directions, the nearest first.
    ///
    /// - Parameters:
    ///   - id: where it begins.
    ///   - limit: read no more operations than these.
    /// - Returns: nil if there is no such operation.
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
                // Edges come from what each needs. What depends on it only leads on, as long as there is room.
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

    /// Reads the details of any number of operations of any queues; what is unknown is left out.
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
    /// With its queue.
    package var name: DependencyName { DependencyName(id, queue: queue) }
}

extension DependencyName {
    /// What a queue calls like this, with its queue.
    fileprivate func from(_ queue: String) -> DependencyName { DependencyName(id, queue: self.queue ?? queue) }
}
