import Foundation
import Schedules

/// A schedule as it was read: it enqueues an operation again and again.
public struct Schedule: Sendable, Equatable {
    /// What it does at present.
    public enum State: String, Sendable, CaseIterable {
        /// It has a next instant.
        case active
        /// A person or program has paused it.
        case paused
        /// It has ended: no instant is left.
        case over
        /// A worker could not read it; `fault` says why. Set it anew.
        case stopped
    }

    /// Its name in its queue.
    public let id: String
    /// The queue that it enqueues into.
    public let queue: String
    /// The name of the operation that it enqueues.
    public let name: String
    /// When it runs; nil if that cannot be read here.
    public let recurrence: Recurrence?
    /// Missed instants, overlap, jitter, start and end.
    public let rules: ScheduleRules
    /// What it does at present.
    public let state: State
    /// The next instant; nil if it is not active.
    public let next: Date?
    /// How many operations it has enqueued.
    public let enqueued: Int
    /// The last instant whose operation was enqueued.
    public let last: Date?
    /// The operation of that instant.
    public let lastOperation: OperationID?
    /// The last instant at which it has missed some.
    public let missed: Date?
    /// The last instant whose operation was not enqueued, because an earlier one was in flight.
    public let overlapped: Date?
    /// Why it is stopped.
    public let fault: String?
    /// When it was changed last, and by whom.
    public let changed: (at: Date, by: String)

    public static func == (left: Self, right: Self) -> Bool { left.stored == right.stored && left.queue == right.queue }

    package let stored: StoredSchedule
    /// nil if it cannot be read.
    package let definition: ScheduleDefinition?

    package init(_ stored: StoredSchedule, queue: String) {
        let definition = try? ScheduleDefinition(stored.definition)
        self.stored = stored
        self.definition = definition
        self.queue = queue
        id = stored.id
        name = definition.flatMap { try? OperationEnvelope($0.envelope).name } ?? ""
        recurrence = definition?.recurrence
        rules = definition?.rules ?? ScheduleRules()
        state =
            stored.isPaused ? .paused : stored.due != nil ? .active : stored.runs.fault != nil ? .stopped : .over
        next = stored.due.map { Date(milliseconds: $0) }
        enqueued = Int(stored.runs.enqueued)
        last = stored.runs.last.map { Date(milliseconds: $0.instant) }
        lastOperation = stored.runs.last.flatMap { OperationID($0.id) }
        missed = stored.runs.missedAt.map { Date(milliseconds: $0) }
        overlapped = stored.runs.overlappedAt.map { Date(milliseconds: $0) }
        fault = stored.runs.fault
        changed = (Date(milliseconds: stored.changedAt), stored.changedBy)
    }
}
