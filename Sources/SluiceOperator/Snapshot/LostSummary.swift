import Operations
import TerminalText

/// One lost worker, combined from the histories of its queues.
package struct LostSummary: Sendable {
    package var id: String
    /// The worker's information; nil if it is unknown or cannot be read.
    package var info: WorkerInfo?
    /// The queues in which it is lost.
    package var queues: [String]
    /// When the last of its leases ended. All times here are milliseconds of server time.
    package var lostAt: Int64
    /// When its last operation was recovered.
    package var recoveredAt: Int64
    /// The time of the last heartbeat; 0 = unknown.
    package var beatAt: Int64
    package var recovered: Int
    package var dead: Int
    package var cancelled: Int
    /// The first operations that the worker held in each of its queues.
    package var operations: [(queue: String, id: OperationID)]

    /// The label to show.
    package var label: String { WorkerSummary.label(info, id: id) }

    /// `3 recovered, 1 dead`
    package var fate: String {
        let parts = [(recovered, "recovered"), (dead, "dead"), (cancelled, "cancelled")].filter { $0.0 > 0 }
        return parts.isEmpty
            ? "held nothing" : parts.map { "\(QuantityText.grouped($0.0)) \($0.1)" }.joined(separator: ", ")
    }

    /// The lost workers of all queues, the newest first.
    package static func merge(_ histories: [(queue: String, workers: [LostWorker])]) -> [LostSummary] {
        var merged: [String: LostSummary] = [:]
        for history in histories {
            for worker in history.workers {
                let summary = LostSummary(worker, of: history.queue)
                merged[worker.worker] = merged[worker.worker].map { $0.joined(with: summary) } ?? summary
            }
        }
        return merged.values.sorted { ($0.lostAt, $0.id) > ($1.lostAt, $1.id) }
    }

    private init(_ worker: LostWorker, of queue: String) {
        id = worker.worker
        info = WorkerInfo(worker.info)
        queues = [queue]
        lostAt = worker.lostAt
        recoveredAt = worker.recoveredAt
        beatAt = worker.beatAt
        recovered = worker.recovered
        dead = worker.dead
        cancelled = worker.cancelled
        operations = worker.operations.map { (queue, $0) }
    }

    private func joined(with other: LostSummary) -> LostSummary {
        var joined = self
        joined.info = info ?? other.info
        joined.queues = (queues + other.queues).sorted()
        joined.lostAt = max(lostAt, other.lostAt)
        joined.recoveredAt = max(recoveredAt, other.recoveredAt)
        joined.beatAt = max(beatAt, other.beatAt)
        joined.recovered += other.recovered
        joined.dead += other.dead
        joined.cancelled += other.cancelled
        joined.operations += other.operations
        return joined
    }
}

extension MonitorBroker {
    /// Reads the histories of queues, all of them at once over the pipelined connection.
    ///
    /// - Parameter limit: the most workers of each queue.
    package func lostWorkers(queues: [String], limit: Int) async throws -> [LostSummary] {
        try await withThrowingTaskGroup(of: (queue: String, workers: [LostWorker]).self) { group in
            for queue in queues { group.addTask { (queue, try await lostWorkers(queue: queue, limit: limit)) } }
            return LostSummary.merge(try await group.reduce(into: []) { $0.append($1) })
        }
    }
}
