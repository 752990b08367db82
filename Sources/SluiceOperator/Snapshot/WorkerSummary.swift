import Operations

/// One worker, combined from its queues.
package struct WorkerSummary: Sendable, Equatable {
    package var id: String
    /// The worker's information; nil before its first heartbeat, or if it cannot be read.
    package var info: WorkerInfo?
    /// The queues in which the worker has a lease.
    package var queues: [String]
    /// Operations that the worker has claimed and that have not ended.
    package var inFlight: Int
    /// Milliseconds since its newest heartbeat; nil = none yet.
    package var beatAgeMilliseconds: Int64?
    /// The remaining milliseconds of the longest lease; zero or less = lapsed in all queues.
    package var leaseMilliseconds: Int64

    /// The operator's settings for the worker, from the queue with the newest ones.
    package var settings: WorkerSettings

    /// Whether all leases lapsed without an outage and some operations are not recovered yet.
    package var isLost: Bool { leaseMilliseconds <= 0 }

    /// The queues that the worker serves, from its information and its leases. The information names only the first of
    /// many queues, and a queue may not have a lease yet.
    package var servedQueues: [String] { Set(info?.queues ?? []).union(queues).sorted() }

    /// The label to show.
    package var label: String { Self.label(info, id: id) }

    package static func label(_ info: WorkerInfo?, id: String) -> String {
        guard let name = info?.name, !name.isEmpty else { return "…" + id.suffix(6) }
        return name
    }

    /// `running`, `quiet`, `draining` or `LOST`.
    package var phase: String { isLost ? "LOST" : info?.phase ?? "starting" }

    /// `phase`, and an operator's request that the worker has not applied yet.
    package var phaseText: String {
        let isStopping = info?.phase == "draining"
        switch settings.course?.value {
        case .quiet where phase == "running": return "running, to be quiet"
        case .running where phase == "quiet": return "quiet, to resume"
        case .stop where !isStopping: return "\(phase), to stop"
        default: return phase
        }
    }

    /// Combines the workers of all queues, sorted by label and id.
    package static func merge(_ snapshots: [QueueSnapshot]) -> [WorkerSummary] {
        var merged: [String: WorkerSummary] = [:]
        for snapshot in snapshots {
            for row in snapshot.workers {
                let summary = WorkerSummary(row, of: snapshot)
                merged[row.worker] = merged[row.worker].map { $0.joined(with: summary) } ?? summary
            }
        }
        return merged.values.sorted { ($0.label, $0.id) < ($1.label, $1.id) }
    }

    private init(_ row: WorkerRow, of snapshot: QueueSnapshot) {
        id = row.worker
        info = WorkerInfo(row.info)
        queues = [snapshot.queue]
        inFlight = row.inFlight
        beatAgeMilliseconds = row.beatAt > 0 ? max(0, snapshot.time - row.beatAt) : nil
        leaseMilliseconds = snapshot.leaseMilliseconds(of: row)
        settings = row.settings
    }

    private func joined(with other: WorkerSummary) -> WorkerSummary {
        var joined = leaseMilliseconds >= other.leaseMilliseconds ? self : other
        joined.info = joined.info ?? info ?? other.info
        joined.queues = (queues + other.queues).sorted()
        joined.settings = settings.newest(other.settings)
        joined.inFlight = inFlight + other.inFlight
        joined.beatAgeMilliseconds = [beatAgeMilliseconds, other.beatAgeMilliseconds].compactMap { $0 }.min()
        return joined
    }
}
