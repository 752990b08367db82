import Operations

/// A build of the app: when a worker of some queues first reported it, and how many report it now.
package struct BuildSummary: Sendable, Equatable {
    package var build: String
    /// Milliseconds of server time.
    package var firstSeenAt: Int64
    /// Live workers of the queues.
    package var workers: Int

    /// Combines the builds of queues, the newest first.
    ///
    /// - Parameter workers: the workers of the namespace.
    package static func merge(
        _ queues: [(queue: String, builds: [BuildSight])],
        workers: [WorkerSummary]
    ) -> [BuildSummary] {
        var firstSeen: [String: Int64] = [:]
        // A program that wrote the text may not keep the rule.
        for sight in queues.flatMap(\.builds) where BuildRule.allows(sight.build) {
            firstSeen[sight.build] = min(firstSeen[sight.build] ?? .max, sight.firstSeenAt)
        }
        let names = Set(queues.map(\.queue))
        let serving = workers.filter { !$0.isLost && !names.isDisjoint(with: $0.servedQueues) }
        let counts = Dictionary(grouping: serving) { $0.info?.build }.mapValues(\.count)
        return firstSeen.map { BuildSummary(build: $0.key, firstSeenAt: $0.value, workers: counts[$0.key] ?? 0) }
            .sorted { ($0.firstSeenAt, $0.build) > ($1.firstSeenAt, $1.build) }
    }
}

extension MonitorBroker {
    /// Reads the builds of queues, all of them at once over the pipelined connection.
    ///
    /// - Parameter workers: the workers of the namespace.
    package func builds(queues: [String], workers: [WorkerSummary]) async throws -> [BuildSummary] {
        try await withThrowingTaskGroup(of: (queue: String, builds: [BuildSight]).self) { group in
            for queue in queues { group.addTask { (queue, try await builds(queue: queue)) } }
            return BuildSummary.merge(try await group.reduce(into: []) { $0.append($1) }, workers: workers)
        }
    }
}
