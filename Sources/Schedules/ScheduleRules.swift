import Foundation
import Operations

/// The rules of a schedule in addition to its recurrence.
public struct ScheduleRules: Sendable, Hashable {
    /// The policy for missed instants: for a minute or more, no worker could enqueue their operations. Instants that
    /// are less late are always enqueued.
    public enum Misfire: String, Sendable, CaseIterable {
        /// Enqueues the latest missed instant as soon as a worker runs.
        case latest
        /// Enqueues no missed instant.
        case skip
    }

    /// The policy for an instant while an operation of the schedule is in flight: waiting or executing.
    public enum IfExists: String, Sendable, CaseIterable {
        /// Enqueues nothing: the operation in flight counts for this instant as well. Equal to `skip`.
        case join
        /// Enqueues nothing.
        case skip
        /// Cancels the operation in flight. The new operation runs when that one has ended.
        case replace
        /// Runs the new operation after all operations in flight.
        case enqueue
        /// Cancels waiting operations. The executing operation continues, and the new one runs after it.
        case keepLatest

        package var policy: DuplicatePolicy {
            switch self {
            case .join: .join
            case .skip: .skip
            case .replace: .replace
            case .enqueue: .enqueue
            case .keepLatest: .keepLatest
            }
        }
    }

    /// The policy for missed instants.
    public var misfire: Misfire
    /// The policy for an instant while an earlier operation is in flight; nil = both run side by side.
    public var ifExists: IfExists?
    /// The longest delay of an operation. Each instant has a fixed delay, so that schedules of many queues do not start
    /// at once.
    public var jitter: Duration
    /// The earliest instant; nil = no limit.
    public var start: Date?
    /// The latest instant; nil = no limit.
    public var end: Date?

    /// Makes the rules, each with its default.
    public init(
        misfire: Misfire = .latest,
        ifExists: IfExists? = nil,
        jitter: Duration = .zero,
        start: Date? = nil,
        end: Date? = nil
    ) {
        self.misfire = misfire
        self.ifExists = ifExists
        self.jitter = jitter
        self.start = start
        self.end = end
    }
}
