/// Reads schedules.
package protocol ScheduleReading: Sendable {
    /// Reads schedules of a queue, in the order of their ids.
    ///
    /// - Parameter id: begin after this one; nil = from the first.
    func schedules(queue: String, after id: String?) async throws -> SchedulePage

    /// Reads one schedule of a queue; an empty page if it does not exist.
    func schedule(_ id: String, queue: String) async throws -> SchedulePage
}

extension ScheduleReading {
    /// Reads all schedules of a queue, in the order of their ids.
    package func allSchedules(queue: String) async throws -> [StoredSchedule] {
        var found: [StoredSchedule] = []
        var page: SchedulePage
        repeat {
            page = try await schedules(queue: queue, after: found.last?.id)
            found += page.schedules
        } while page.more && !page.schedules.isEmpty
        return found
    }
}

/// Changes schedules.
package protocol ScheduleChanging: ScheduleReading, EventNoting {
    /// Stores a schedule, if its revision is still the one that the caller read.
    func setSchedule(_ change: ScheduleChange, by: String, queue: String) async throws -> ScheduleOutcome

    /// Removes a schedule. Operations that it enqueued stay.
    ///
    /// - Returns: false if the schedule does not exist.
    func removeSchedule(_ id: String, by: String, queue: String) async throws -> Bool
}

/// A schedule as the broker stores it. The broker does not read the definition.
package struct StoredSchedule: Sendable, Equatable {
    /// The most schedules of a queue.
    package static let limit = 1000
    /// The most bytes of a definition.
    package static let definitionBytes = 64 << 10
    /// The most schedules of a page.
    package static let pageLimit = 100
    /// The most due schedules that one call reads.
    package static let dueLimit = 20

    /// The id, which follows `NameRule`.
    package var id: String
    /// A number that changes with each change of the schedule.
    package var revision: Int64
    package var isPaused: Bool
    package var changedAt: Int64
    package var changedBy: String
    package var definition: [UInt8]
    /// The next instant in milliseconds of server time; nil = none: the schedule is paused, over, or stopped.
    package var due: Int64?
    package var runs: Runs

    /// The history of a schedule.
    package struct Runs: Sendable, Equatable {
        /// The number of instants whose operation was enqueued.
        package var enqueued: Int64 = 0
        /// The last such instant, and the operation's id; nil = none yet.
        package var last: (instant: Int64, id: String)?
        /// The last instant at which earlier ones had been missed.
        package var missedAt: Int64?
        /// The last instant whose operation was not enqueued, because another operation held its unique key.
        package var overlappedAt: Int64?
        /// The reason for which a worker stopped the schedule.
        package var fault: String?

        package init() {}

        package static func == (left: Self, right: Self) -> Bool {
            left.enqueued == right.enqueued && left.last?.instant == right.last?.instant
                && left.last?.id == right.last?.id && left.missedAt == right.missedAt
                && left.overlappedAt == right.overlappedAt && left.fault == right.fault
        }
    }

    package init(
        id: String,
        revision: Int64,
        isPaused: Bool,
        changedAt: Int64,
        changedBy: String,
        definition: [UInt8],
        due: Int64?,
        runs: Runs = Runs()
    ) {
        self.id = id
        self.revision = revision
        self.isPaused = isPaused
        self.changedAt = changedAt
        self.changedBy = changedBy
        self.definition = definition
        self.due = due
        self.runs = runs
    }
}

/// Schedules of a queue at one moment.
package struct SchedulePage: Sendable, Equatable {
    /// Milliseconds of server time.
    package var time: Int64
    package var schedules: [StoredSchedule]
    /// Whether more schedules follow.
    package var more: Bool
    /// Milliseconds until the next instant of any schedule of the queue; 0 = it has come; nil = no schedule has a next
    /// instant.
    package var nextMilliseconds: Int64?

    package init(time: Int64, schedules: [StoredSchedule], more: Bool, nextMilliseconds: Int64?) {
        self.time = time
        self.schedules = schedules
        self.more = more
        self.nextMilliseconds = nextMilliseconds
    }
}

/// A change of a schedule.
package struct ScheduleChange: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case set(definition: [UInt8])
        case pause
        case resume
    }

    package var id: String
    package var kind: Kind
    /// The revision that the caller read; 0 = the schedule is new.
    package var revision: Int64
    /// The next instant; nil = none.
    package var due: Int64?
    package var isPaused: Bool
    /// A line for the event.
    package var detail: String

    package init(
        id: String,
        kind: Kind,
        revision: Int64,
        due: Int64?,
        isPaused: Bool = false,
        detail: String = ""
    ) {
        self.id = id
        self.kind = kind
        self.revision = revision
        self.due = due
        self.isPaused = isPaused
        self.detail = detail
    }

    /// The verb in the event of the change.
    package var verb: QueueChange.Verb {
        switch kind {
        case .set: .setSchedule
        case .pause: .pauseSchedule
        case .resume: .resumeSchedule
        }
    }
}

package enum ScheduleOutcome: Sendable, Equatable {
    case done(revision: Int64)
    /// The schedule has another revision by now, is gone, or already exists.
    case outdated
    /// The queue has `StoredSchedule.limit` schedules.
    case full
}

/// An instant of a schedule that has come, and the next one.
package struct ScheduleFiring: Sendable, Equatable {
    package var id: String
    package var instant: Int64
    /// The revision of the definition that the worker read.
    package var revision: Int64
    /// The next instant; nil = none.
    package var next: Int64?
    /// Whether instants were missed.
    package var hasMissed: Bool
    /// Why the schedule must stop; nil = it continues.
    package var fault: String?
    /// The operation to enqueue; nil = none.
    package var operation: NewOperation?

    package init(
        id: String,
        instant: Int64,
        revision: Int64,
        next: Int64?,
        hasMissed: Bool = false,
        fault: String? = nil,
        operation: NewOperation?
    ) {
        self.id = id
        self.instant = instant
        self.revision = revision
        self.next = next
        self.hasMissed = hasMissed
        self.fault = fault
        self.operation = operation
    }
}

/// The outcome of firing an instant.
package struct FiringReply: Sendable, Equatable {
    /// False if another worker has fired the instant, the schedule has changed, or the instant has not come yet.
    package var isDone: Bool
    /// Milliseconds until the next instant of any schedule of the queue; 0 = it has come; nil = no schedule has a next
    /// instant.
    package var nextMilliseconds: Int64?

    package init(isDone: Bool, nextMilliseconds: Int64?) {
        self.isDone = isDone
        self.nextMilliseconds = nextMilliseconds
    }
}

/// The number of a queue's schedules, and their next instant.
package struct ScheduleSummary: Sendable, Equatable {
    package var count: Int
    /// The next instant of any schedule; nil = none.
    package var next: Int64?

    package init(count: Int = 0, next: Int64? = nil) {
        self.count = count
        self.next = next
    }
}
