import Foundation

/// What else a schedule obeys besides its recurrence.
public struct ScheduleRules: Sendable, Hashable {
    /// What happens to instants at which no worker could enqueue for a minute or more. Later ones are made up for, each.
    public enum Misfire: String, Sendable, CaseIterable {
        /// The latest of them is enqueued, as soon as a worker is there.
        case latest
        /// None of them is enqueued.
        case skip
    }

    /// What happens to missed instants.
    public var misfire: Misfire
    /// Delays each operation by up to so much, always by the same for an instant: schedules of many queues do not start at once.
    public var jitter: Duration
    /// No instant before this.
    public var start: Date?
    /// No instant after this.
    public var end: Date?

    /// The rules, each with its default.
    public init(misfire: Misfire = .latest, jitter: Duration = .zero, start: Date? = nil, end: Date? = nil) {
        self.misfire = misfire
        self.jitter = jitter
        self.start = start
        self.end = end
    }
}
