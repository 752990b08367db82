import Operations

/// All queues of a namespace, read in one round. All user interfaces are derived from it.
package struct NamespaceSnapshot: Sendable {
    /// A snapshot of each queue, sorted by name. Each one was taken at another time of the round.
    package var queues: [QueueSnapshot]
    /// Cluster nodes that could not be reached, whose queues are missing.
    package var absent: [AbsentNode]
    /// The reasons why servers refuse writes.
    package var refusals: [WriteRefusal]
    /// When the round ended, by the caller's monotonic clock.
    package var receivedAt: Duration

    package init(
        queues: [QueueSnapshot],
        absent: [AbsentNode] = [],
        refusals: [WriteRefusal] = [],
        receivedAt: Duration
    ) {
        self.absent = absent
        self.refusals = refusals
        self.queues = queues.sorted { $0.queue < $1.queue }
        self.receivedAt = receivedAt
    }

    /// The snapshot of a queue.
    ///
    /// - Throws: `LookupFailure` if there is no such queue, or if its node does not answer.
    package func queue(_ name: String) throws(LookupFailure) -> QueueSnapshot {
        if let queue = queues.first(where: { $0.queue == name }) { return queue }
        if let node = absent.first(where: { $0.queues.contains(name) }) {
            throw LookupFailure(.unreachable, "queue \(name) cannot be read now", notes: [node.sentence])
        }
        throw .unknownQueue(name, known: queues.map(\.queue))
    }

    /// Milliseconds of server time; nil = the namespace has no queues.
    package var time: Int64? { queues.map(\.time).max() }

    /// Operations per state, over all queues.
    package var counts: [OperationState: Int] {
        queues.reduce(into: [:]) { sum, queue in sum.merge(queue.counts, uniquingKeysWith: +) }
    }

    /// The monotonic totals, over all queues.
    package var totals: [String: Int64] {
        queues.reduce(into: [:]) { sum, queue in sum.merge(queue.totals, uniquingKeysWith: +) }
    }

    /// Whether no operation waits or runs. False if a queue could not be read.
    package var isIdle: Bool {
        absent.isEmpty && counts.allSatisfy { state, count in state.isTerminal || count <= 0 }
    }
}

extension MonitorBroker {
    /// Reads every queue of the namespace, all at once over the pipelined connection.
    ///
    /// Queues of cluster nodes that do not answer are left out, and the snapshot names them.
    ///
    /// - Parameters:
    ///   - executingRows: the most running operations to read from each queue.
    ///   - clock: returns the time of receipt.
    /// - Throws: errors of the broker. `OperationsError` with `.unavailable` if no queue can be read.
    package func namespaceSnapshot(
        executingRows: Int,
        clock: @Sendable () -> Duration
    ) async throws -> NamespaceSnapshot {
        async let refusals = writeRefusals()
        let (names, absent) = try await reachable(try await queues())
        let snapshots = try await withThrowingTaskGroup(of: QueueSnapshot.self) { group in
            for name in names { group.addTask { try await snapshot(queue: name, executingRows: executingRows) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        return NamespaceSnapshot(
            queues: snapshots,
            absent: absent,
            refusals: try await refusals,
            receivedAt: clock()
        )
    }

    /// Returns the queues that can be read now, and the unreachable nodes of the others.
    ///
    /// - Throws: `OperationsError` with `.unavailable` if no queue can be read.
    package func reachable(_ queues: [String]) async throws -> (queues: [String], absent: [AbsentNode]) {
        let absent = try await absentNodes(of: queues)
        let away = Set(absent.flatMap(\.queues))
        if !queues.isEmpty, away.count == queues.count { throw OperationsError(nothingLeftOf: absent) }
        return (queues.filter { !away.contains($0) }, absent)
    }
}
