import Foundation

/// Counts, totals and settings of a queue at one moment, read in one step.
public struct QueueStatistics: Sendable, Equatable {
    /// The name of the queue.
    public let queue: String
    /// The server's time of the read, in whole milliseconds.
    public let time: Date
    /// True if the queue is paused: workers claim none of its operations.
    public let isPaused: Bool
    /// When a timed pause ends; nil if the queue is not paused, or paused until it is resumed.
    public let pausedUntil: Date?
    /// The limits of the queue.
    public let limits: QueueLimits
    /// How long the oldest ready operation has waited; nil if none is ready.
    public let oldestReady: Duration?
    /// The number of workers with a valid lease. More than 200 count as 200.
    public let liveWorkers: Int
    private let counts: [OperationState: Int]
    private let totals: [String: Int64]

    /// A total since the queue exists; it never falls.
    public enum Total: String, Sendable, CaseIterable {
        /// Operations that were enqueued.
        case enqueued
        /// Attempts that workers claimed.
        case started
        /// Operations that finished.
        case finished
        /// Failed attempts that are followed by another one.
        case retried
        /// Operations whose attempts are used up.
        case dead
        /// Operations that were cancelled.
        case cancelled
        /// Operations that expired before a worker started them.
        case expired
        /// Operations that were recovered from lost workers.
        case recovered
        /// Operations that workers gave back without using an attempt.
        case returned
        /// Operations that a person or a program removed.
        case removed
    }

    package init(_ snapshot: QueueSnapshot) {
        queue = snapshot.queue
        time = Date(milliseconds: snapshot.time)
        isPaused = snapshot.paused
        pausedUntil = snapshot.pausedUntil.map { Date(milliseconds: $0) }
        limits = snapshot.limits
        oldestReady = snapshot.oldestReadyMilliseconds.map { .milliseconds($0) }
        liveWorkers = snapshot.liveWorkers.count
        counts = snapshot.counts
        totals = snapshot.totals
    }

    /// The number of operations that are in a state now. Ended operations count only while they are stored.
    public subscript(state state: OperationState) -> Int { counts[state] ?? 0 }

    /// A total since the queue exists.
    public subscript(total total: Total) -> Int64 { totals[total.rawValue] ?? 0 }
}
