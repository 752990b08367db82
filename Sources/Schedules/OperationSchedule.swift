import Foundation
import Operations

/// A schedule as it was read. A schedule enqueues an operation repeatedly.
public struct OperationSchedule: Sendable, Equatable {
    /// The state of a schedule.
    public enum State: String, Sendable, CaseIterable {
        /// The schedule has a next instant.
        case active
        /// A person or a program has paused the schedule.
        case paused
        /// The schedule has no instant left.
        case over
        /// A worker could not read the schedule; `fault` says why. Set the schedule again.
        case stopped
    }

    /// The name of the schedule in its queue.
    public let id: String
    /// The queue that gets the operations.
    public let queue: String
    /// The name of the operation that the schedule enqueues.
    public let name: String
    /// When the schedule runs; nil if this program cannot read it.
    public let recurrence: Recurrence?
    /// Rules for missed instants, `ifExists`, jitter, start and end.
    public let rules: ScheduleRules
    /// The state of the schedule.
    public let state: State
    /// The next instant; nil if the schedule is not active.
    public let next: Date?
    /// The number of operations that the schedule has enqueued.
    public let enqueued: Int
    /// The last instant whose operation was enqueued.
    public let last: Date?
    /// The operation of the instant `last`.
    public let lastOperation: OperationID?
    /// The last instant at which the schedule had missed instants.
    public let missed: Date?
    /// The last instant without an operation because an earlier operation was in flight.
    public let overlapped: Date?
    /// Why the schedule is stopped.
    public let fault: String?
    /// When and by whom the schedule was last changed.
    public let changed: Change

    /// The time and the author of a change.
    public struct Change: Sendable, Hashable {
        /// The time by the clock of Redis.
        public let at: Date
        /// The person or program, as it named itself.
        public let by: String
    }

    public static func == (left: Self, right: Self) -> Bool { left.stored == right.stored && left.queue == right.queue }

    package let stored: StoredSchedule
    /// The definition; nil if this program cannot read it.
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
        changed = Change(at: Date(milliseconds: stored.changedAt), by: stored.changedBy)
    }
}
