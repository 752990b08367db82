import Operations
import TerminalText

/// One running operation with its queue.
package struct ExecutingSummary: Sendable {
    package var queue: String
    package var row: ExecutingRow
    /// The label of its worker.
    package var workerLabel: String
    /// The run time so far, by server time; nil = not stored (untracked).
    package var runtimeMilliseconds: Int64?
    /// Whether the lease of the worker has run out, so that the operation waits to be recovered.
    package var isLost: Bool

    package var id: OperationID { row.header.id }

    /// Attempt and limit: `2/5`. Known for untracked operations as well.
    package var tries: String { "\(row.header.failedAttempts + 1)/\(row.maxAttempts)" }

    /// Returns a short form of the arguments; empty if the snapshot does not contain all of them.
    package func arguments(_ view: PayloadView) -> String {
        guard !row.envelope.isEmpty else { return "" }
        return ArgumentsText.line(EnvelopeReading(row.envelope, id: id, queue: queue, view: view))
    }

    /// The time since the cancel was requested.
    package var cancelAgeMilliseconds: Int64?

    /// Returns the running operations of all queues: longest run first, unknown starts last, equal ones by id.
    package static func merge(_ snapshots: [QueueSnapshot], workers: [WorkerSummary]) -> [ExecutingSummary] {
        let labels = Dictionary(workers.map { ($0.id, $0.label) }) { first, _ in first }
        let rows = snapshots.flatMap { snapshot in
            let lost = snapshot.lostWorkers
            return snapshot.executing.map { row in
                ExecutingSummary(
                    queue: snapshot.queue,
                    row: row,
                    workerLabel: labels[row.worker] ?? "…" + row.worker.suffix(6),
                    runtimeMilliseconds: row.startedAt.map { max(0, snapshot.time - $0) },
                    isLost: lost.contains(row.worker),
                    cancelAgeMilliseconds: row.cancelRequestedAt.map { max(0, snapshot.time - $0) }
                )
            }
        }
        return rows.sorted { left, right in
            let (first, second) = (left.runtimeMilliseconds ?? -1, right.runtimeMilliseconds ?? -1)
            return first == second ? left.id < right.id : first > second
        }
    }
}

extension QueueSnapshot {
    /// The workers whose lease in this queue has run out.
    package var lostWorkers: Set<String> { Set(workers.filter { leaseMilliseconds(of: $0) <= 0 }.map(\.worker)) }
}
