import Foundation

/// What is in a queue at one moment, read in one step.
public struct QueueStatistics: Sendable, Equatable {
    /// The name of the queue.
    public let queue: String
    /// When it was read, by the server's clock, in milliseconds.
    public let time: Date
    /// Whether workers are kept from claiming its operations.
    public let isPaused: Bool
    /// When a timed pause ends; nil if the queue is not paused, or paused until it is resumed.
    public let pausedUntil: Date?
    /// How much of it may run at once.
    public let limits: QueueLimits
    /// How long the oldest ready operation has waited; nil if none is ready.
    public let oldestReady: Duration?
    /// How many workers have a lease. More than 200 count as 200.
    public let liveWorkers: Int
    private let counts: [OperationState: Int]
    private let totals: [String: Int64]

    /// What has happened in a queue since it exists. A total never falls.
    public enum Total: String, Sendable, CaseIterable {
        /// Operations that were enqueued.
        case enqueued
        /// Attempts that workers claimed.
        case started
        /// Operations that ended well.
        case finished
        /// Attempts that failed and are followed by another one.
        case retried
        /// Operations whose attempts are used up.
        case dead
        /// Operations that were cancelled.
        case cancelled
        /// Operations that expired before a worker started them.
        case expired
        /// Operations that were taken back from lost workers.
        case recovered
        /// Operations that workers handed back, without an attempt used.
        case returned
        /// Operations that were removed by a person or a program.
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

    /// How many operations are in a state now. Counts of ended states include only those that are still kept.
    public subscript(state state: OperationState) -> Int { counts[state] ?? 0 }

    /// How often it has happened since the queue exists.
    public subscript(total total: Total) -> Int64 { totals[total.rawValue] ?? 0 }
}

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
