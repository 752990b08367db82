import Operations

/// Operations that depend on each other, as they were when they were read.
package struct OperationGraph: Sendable {
    package struct Node: Sendable {
        package var detail: OperationDetail
        /// What it depends on, of what is in the graph, in the order of their ids.
        package var needs: [OperationID] = []
        /// What depends on it, of what is in the graph, in the order of their ids.
        package var dependents: [OperationID] = []

        package var id: OperationID { detail.id }

        /// How long its last run took, or takes until `now`.
        package func runTime(now: Int64) -> Int64 {
            let record = detail.record
            guard record.startedAt > 0 else { return 0 }
            return max(0, (record.endedAt > 0 ? record.endedAt : now) - record.startedAt)
        }
    }

    package private(set) var nodes: [OperationID: Node] = [:]
    /// Each operation behind what it depends on; among equals by their ids.
    package private(set) var order: [OperationID] = []
    /// Whether there are operations that were not read, since they are too many.
    package private(set) var isCutShort = false
    /// Server time at which it was read.
    package let time: Int64

    init(_ details: [OperationDetail], needs: [OperationID: [OperationID]], isCutShort: Bool, time: Int64) {
        for detail in details { nodes[detail.id] = Node(detail: detail) }
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
    package var roots: [OperationID] { order.filter { nodes[$0]?.needs.isEmpty ?? false } }

    package var counts: [OperationState: Int] {
        nodes.values.reduce(into: [:]) { $0[$1.detail.state, default: 0] += 1 }
    }

    private func sorted() -> [OperationID] {
        var open = nodes.mapValues(\.needs.count)
        var layer = open.filter { $0.value == 0 }.map(\.key).sorted()
        var order: [OperationID] = []
        while !layer.isEmpty {
            order += layer
            var next: [OperationID] = []
            for dependent in layer.flatMap({ nodes[$0]?.dependents ?? [] }) {
                open[dependent, default: 0] -= 1
                if open[dependent] == 0 { next.append(dependent) }
            }
            layer = next.sorted()
        }
        return order
    }

    /// The path along which the runs took longest, and how long, in milliseconds. What has not started counts as nothing.
    package var criticalPath: (ids: [OperationID], milliseconds: Int64) {
        var longest: [OperationID: (time: Int64, before: OperationID?)] = [:]
        for id in order {
            guard let node = nodes[id] else { continue }
            let before = node.needs.max { longest[$0]?.time ?? 0 < longest[$1]?.time ?? 0 }
            let time = (before.flatMap { longest[$0]?.time } ?? 0) + node.runTime(now: time)
            longest[id] = (time, before)
        }
        guard let last = order.max(by: { longest[$0]?.time ?? 0 < longest[$1]?.time ?? 0 }) else { return ([], 0) }
        var path: [OperationID] = []
        var next: OperationID? = last
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
        var seen: Set<OperationID> = [id]
        var frontier = [id]
        var details: [OperationDetail] = []
        var needs: [OperationID: [OperationID]] = [:]
        var isCutShort = false
        while !frontier.isEmpty {
            let layer = try await allDetails(frontier, queue: queue).compactMap { $0 }
            details += layer
            frontier = []
            for detail in layer {
                let dependencies = try await dependencies(of: detail, queue: queue)
                needs[detail.id] = dependencies
                // Edges come from what each needs. What depends on it only leads on, as long as there is room.
                let dependents = isCutShort ? [] : try await dependents(of: detail, limit: limit + 1, queue: queue)
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

    private func dependencies(of detail: OperationDetail, queue: String) async throws -> [OperationID] {
        let links = detail.links
        guard links.needCount > links.needs.count else { return links.needs.map(\.dependency.id) }
        return try await edges(.needs, of: detail.id, queue: queue)
    }

    private func dependents(of detail: OperationDetail, limit: Int, queue: String) async throws -> [OperationID] {
        let links = detail.links
        guard links.dependentCount > links.dependents.count else { return links.dependents }
        return try await edges(.dependents, of: detail.id, limit: limit, queue: queue)
    }

    /// Reads the details of any number of operations, in calls of bounded size.
    package func allDetails(_ ids: [OperationID], queue: String) async throws -> [OperationDetail?] {
        var all: [OperationDetail?] = []
        for start in stride(from: 0, to: ids.count, by: Defaults.batch) {
            all += try await details(Array(ids[start..<min(start + Defaults.batch, ids.count)]), queue: queue)
        }
        return all
    }
}
