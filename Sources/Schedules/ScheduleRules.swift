import Foundation
import Operations

/// What else a schedule obeys besides its recurrence.
public struct ScheduleRules: Sendable, Hashable {
    /// What happens to instants at which no worker could enqueue for a minute or more. Later ones are made up for, each.
    public enum Misfire: String, Sendable, CaseIterable {
        /// The latest of them is enqueued, as soon as a worker is there.
        case latest
        /// None of them is enqueued.
        case skip
    }

    /// What becomes of an instant while an operation of the schedule is in flight: waiting or executing.
    public enum Overlap: String, Sendable, CaseIterable {
        /// The operation in flight counts for this instant, too. The same as `skip`.
        case join
        /// Nothing is enqueued.
        case skip
        /// The operation in flight is cancelled, and the new one runs when that has ended.
        case replace
        /// The new one runs after those that are there.
        case enqueue
        /// What waits is cancelled, what executes goes on, and the new one runs after it.
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

    /// What happens to missed instants.
    public var misfire: Misfire
    /// What becomes of an instant while an earlier operation is in flight; nil = it is enqueued beside it.
    public var overlap: Overlap?
    /// Delays each operation by up to so much, always by the same for an instant: schedules of many queues do not start at once.
    public var jitter: Duration
    /// No instant before this.
    public var start: Date?
    /// No instant after this.
    public var end: Date?

    /// The rules, each with its default.
    public init(
        misfire: Misfire = .latest,
        overlap: Overlap? = nil,
        jitter: Duration = .zero,
        start: Date? = nil,
        end: Date? = nil
    ) {
        self.misfire = misfire
        self.overlap = overlap
        self.jitter = jitter
        self.start = start
        self.end = end
    }
}
