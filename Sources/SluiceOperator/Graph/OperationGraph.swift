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
    /// All operations: first those without dependencies, then those whose dependencies are in earlier levels. A level
    /// is sorted by name.
    package private(set) var levels: [[DependencyName]] = []
    /// All operations, each after its dependencies; within a level sorted by name.
    package var order: [DependencyName] { levels.flatMap { $0 } }
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
        levels = sorted()
    }

    /// The operations without dependencies in the graph.
    package var roots: [DependencyName] { order.filter { nodes[$0]?.needs.isEmpty ?? false } }

    package var counts: [OperationState: Int] {
        nodes.values.reduce(into: [:]) { $0[$1.detail.state, default: 0] += 1 }
    }

    private func sorted() -> [[DependencyName]] {
        var open = nodes.mapValues(\.needs.count)
        var level = open.filter { $0.value == 0 }.map(\.key).sorted()
        var levels: [[DependencyName]] = []
        while !level.isEmpty {
            levels.append(level)
            var next: [DependencyName] = []
            for dependent in level.flatMap({ nodes[$0]?.dependents ?? [] }) {
                open[dependent, default: 0] -= 1
                if open[dependent] == 0 { next.append(dependent) }
            }
            level = next.sorted()
        }
        return levels
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
