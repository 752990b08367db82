/// Reading schedules.
package protocol ScheduleReading: Sendable {
    /// Schedules of a queue, in the order of their ids.
    ///
    /// - Parameter id: read those behind this one; nil = from the first.
    func schedules(queue: String, after id: String?) async throws -> SchedulePage

    /// One schedule of a queue; an empty page if there is none.
    func schedule(_ id: String, queue: String) async throws -> SchedulePage
}

extension ScheduleReading {
    /// All schedules of a queue, in the order of their ids.
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

/// Changing schedules.
package protocol ScheduleChanging: ScheduleReading {
    /// Stores a schedule, if it still has the revision that the caller has read.
    func setSchedule(_ change: ScheduleChange, by: String, queue: String) async throws -> ScheduleOutcome

    /// Removes a schedule. What it has enqueued stays.
    ///
    /// - Returns: false if there is none.
    func removeSchedule(_ id: String, by: String, queue: String) async throws -> Bool
}

/// A schedule as the broker keeps it, which does not read its definition.
package struct StoredSchedule: Sendable, Equatable {
    /// Most schedules of a queue.
    package static let limit = 1000
    /// Most bytes of a definition.
    package static let definitionBytes = 64 << 10
    /// Most schedules of a page.
    package static let pageLimit = 100
    /// Most due ones that are read at once.
    package static let dueLimit = 20

    /// Follows `NameRule`.
    package var id: String
    /// Another one after each change.
    package var revision: Int64
    package var isPaused: Bool
    package var changedAt: Int64
    package var changedBy: String
    package var definition: [UInt8]
    /// The next instant, milliseconds of server time; nil = it does not go on: paused, over, or stopped.
    package var due: Int64?
    package var runs: Runs

    /// What has come of it.
    package struct Runs: Sendable, Equatable {
        /// Instants whose operation was enqueued.
        package var enqueued: Int64 = 0
        /// The last of them; nil = none yet.
        package var last: (instant: Int64, id: String)?
        /// The last instant at which some were missed.
        package var missedAt: Int64?
        /// The last instant whose operation was not enqueued, because another one has its unique key.
        package var overlappedAt: Int64?
        /// Why a worker has stopped it.
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

/// Schedules of a queue as they were at one moment.
package struct SchedulePage: Sendable, Equatable {
    /// Milliseconds of server time.
    package var time: Int64
    package var schedules: [StoredSchedule]
    /// There are more.
    package var more: Bool
    /// Milliseconds until the next instant of any schedule of the queue; 0 = it has come; nil = there is none.
    package var nextMilliseconds: Int64?

    package init(time: Int64, schedules: [StoredSchedule], more: Bool, nextMilliseconds: Int64?) {
        self.time = time
        self.schedules = schedules
        self.more = more
        self.nextMilliseconds = nextMilliseconds
    }
}

/// What a schedule is to be.
package struct ScheduleChange: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case set(definition: [UInt8])
        case pause
        case resume
    }

    package var id: String
    package var kind: Kind
    /// The revision that the caller has read; 0 = it is new.
    package var revision: Int64
    /// Its next instant; nil = none.
    package var due: Int64?
    package var isPaused: Bool
    /// One line for the event.
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

    /// The change as events name it.
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
    /// It has another revision by now, or is gone, or is there already.
    case outdated
    /// The queue has `StoredSchedule.limit` schedules.
    case full
}

/// An instant of a schedule, and what comes after it.
package struct ScheduleFiring: Sendable, Equatable {
    package var id: String
    package var instant: Int64
    /// Of the definition that was read.
    package var revision: Int64
    /// The next instant; nil = there is none.
    package var next: Int64?
    /// Instants were missed.
    package var hasMissed: Bool
    /// Why it cannot go on: it stops.
    package var fault: String?
    /// What is enqueued; nil = nothing.
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

/// What became of an instant.
package struct FiringReply: Sendable, Equatable {
    /// False if another worker has done it, the schedule has changed, or the instant has not come yet.
    package var isDone: Bool
    /// Milliseconds until the next instant of any schedule of the queue; 0 = it has come; nil = there is none.
    package var nextMilliseconds: Int64?

    package init(isDone: Bool, nextMilliseconds: Int64?) {
        self.isDone = isDone
        self.nextMilliseconds = nextMilliseconds
    }
}

/// The schedules of a queue in numbers.
package struct ScheduleSummary: Sendable, Equatable {
    package var count: Int
    /// The next instant of any of them; nil = there is none.
    package var next: Int64?

    package init(count: Int = 0, next: Int64? = nil) {
        self.count = count
        self.next = next
    }
}
