import Operations

/// The newest operations that a worker has ended.
package enum EndedRuns {
    /// The most operations to read of each state of a queue, and the most queues.
    package static let most = 100
    private static let queuesRead = 4

    /// Reads the newest ended operations of queues, and returns those whose last run was on the worker.
    package static func of(
        _ worker: String,
        queues: [String],
        _ broker: any MonitorBroker
    ) async throws -> [OperationDetail] {
        let places = queues.sorted().prefix(queuesRead).flatMap { queue in
            [OperationState.finished, .dead, .cancelled].map { (queue, $0) }
        }
        return try await withThrowingTaskGroup(of: [OperationDetail].self) { group in
            for (queue, state) in places {
                group.addTask {
                    try await broker.page(state: state, queue: queue, cursor: nil, limit: most).operations
                        .filter { $0.ranOn == worker }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }
}
