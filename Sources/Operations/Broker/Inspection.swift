/// What user interfaces and handles exchange with the broker.

/// One tracked operation, as a whole.
package struct OperationDetail: Sendable, Equatable {
    package var queue: String
    package var record: OperationRecord
    /// The state that counts: a record of a cancelled queue that was not yet cleared away says `ready`, this says `cancelled`.
    package var state: OperationState
    /// Its owner, while it runs.
    package var worker: String?
    package var result: [UInt8]?
    /// The last failed attempts, oldest first.
    package var errors: [FailedAttempt]
    package var progress: (fraction: Double, message: String)?
    package var cancel: CancelTrace?
    /// Who holds it; nil = it is not blocked.
    package var hold: OperatorTrace?
    /// What its runs have stored for later ones.
    package var stored = StoredByRuns()
    package var checkpoint: [UInt8]? { stored.checkpoint }
    /// How often its body has asked to be run again later; nil = never.
    package var snooze: SnoozeTrace?
    /// How often its body has left its slot to others.
    package var yields = 0
    /// How it came back from workers that were lost, oldest first; the last ``Recovery/kept``.
    package var recoveries: [Recovery] = []
    /// Where in its log the lines of each attempt begin, in their order; after an operator's retry attempts begin at 1 again.
    package var logStarts: [LogStart]
    /// Whether somebody waited for its end lately.
    package var isAwaited: Bool
    /// It is ready, and waits for a worker that knows its name.
    package var isUnhandled = false
    package var uniqueKey: String?
    /// It is blocked until its turn at its unique key comes.
    package var waitsForTurn = false
    /// Who has its unique key, while it waits for its turn.
    package var keyHolder: OperationID?
    package var links = OperationNeeds()
    package var limitKey: String?
    /// It is ready, and in no lane because of its limit key.
    package var waitsForKey = false

    package init(queue: String, record: OperationRecord, state: OperationState) {
        self.queue = queue
        self.record = record
        self.state = state
        errors = []
        logStarts = []
        isAwaited = false
    }

    package var id: OperationID { record.header.id }

    package static func == (left: Self, right: Self) -> Bool {
        left.queue == right.queue && left.record == right.record && left.state == right.state
            && left.worker == right.worker
            && left.result == right.result && left.errors == right.errors && left.cancel == right.cancel
            && left.hold == right.hold
            && left.progress?.fraction == right.progress?.fraction && left.progress?.message == right.progress?.message
            && left.stored == right.stored && left.logStarts == right.logStarts
            && left.isUnhandled == right.isUnhandled && left.uniqueKey == right.uniqueKey
            && left.waitsForTurn == right.waitsForTurn && left.keyHolder == right.keyHolder
            && left.limitKey == right.limitKey && left.waitsForKey == right.waitsForKey
            && left.links == right.links
            && left.snooze == right.snooze && left.yields == right.yields && left.recoveries == right.recoveries
    }

    /// When the snooze ends in which it is now, milliseconds of server time; nil = it is in none.
    package var snoozedUntil: Int64? {
        guard let snooze, state == .scheduled, snooze.until == record.dueAt else { return nil }
        return snooze.until
    }
}

/// The snoozes of an operation.
package struct SnoozeTrace: Sendable, Equatable {
    package var count: Int
    /// When the last one ended or ends; milliseconds of server time.
    package var until: Int64
    /// Why, as the last one says; may be empty.
    package var reason: String

    package init(count: Int, until: Int64, reason: String) {
        self.count = count
        self.until = until
        self.reason = reason
    }
}

/// The first log line of an attempt, by its number.
package struct LogStart: Sendable, Equatable {
    package var attempt: Int
    package var line: Int

    package init(attempt: Int, line: Int) {
        self.attempt = attempt
        self.line = line
    }
}

/// A line of an operation's log.
package struct LogLine: Sendable, Equatable {
    /// When the worker handed it over, at most 250 ms after it was written; milliseconds of server time. nil = an older version stored it.
    package var at: Int64?
    /// The line without its end; should be UTF-8.
    package var text: [UInt8]

    package init(_ text: [UInt8], at: Int64? = nil) {
        self.at = at
        self.text = text
    }
}

/// An error as it is stored: when, and the JSON that the worker wrote (`OperationFailure`).
package struct FailedAttempt: Sendable, Equatable {
    package var at: Int64
    package var error: [UInt8]

    package init(at: Int64, error: [UInt8]) {
        self.at = at
        self.error = error
    }
}

/// The three visible steps of a cancel, in milliseconds of server time.
package struct CancelTrace: Sendable, Equatable {
    package var requestedAt: Int64
    package var acknowledgedAt: Int64?
    package var stoppedAt: Int64?
    package var reason: String
    package var by: String
    /// How a forced cancel has ended the operation. Then `stoppedAt` is when its worker has said that the body does not run any more.
    package var forced: Forced?
    /// The standing cancel that has caught the operation before its body began.
    package var standing: Int64?

    package struct Forced: Sendable, Equatable {
        package var at: Int64
        package var by: String
        package var reason: String
        /// The worker that ran it.
        package var worker: String

        package init(at: Int64, by: String, reason: String, worker: String) {
            self.at = at
            self.by = by
            self.reason = reason
            self.worker = worker
        }
    }

    package init(
        requestedAt: Int64,
        acknowledgedAt: Int64? = nil,
        stoppedAt: Int64? = nil,
        reason: String,
        by: String,
        forced: Forced? = nil,
        standing: Int64? = nil
    ) {
        self.standing = standing
        self.forced = forced
        self.requestedAt = requestedAt
        self.acknowledgedAt = acknowledgedAt
        self.stoppedAt = stoppedAt
        self.reason = reason
        self.by = by
    }
}

package enum CancelOutcome: Sendable, Equatable {
    /// It was waiting and has ended as cancelled.
    case cancelled
    /// It runs; its owner has been told.
    case requested(worker: String)
    /// It is a group: it takes no more members, and ends as cancelled when those that it has have ended. They are to be cancelled.
    case group
    /// It ran, and has ended as cancelled; what this worker still writes about it is refused.
    case forced(worker: String)
    /// Its end was there before: cancelled (nothing changed), or finished, dead or expired (too late).
    case ended(OperationState, at: Int64)
    /// Not here; if asked for, the intent is stored for an untracked one that may still be claimed.
    case unknown(intentStored: Bool)
}

package enum ChangeOutcome: Sendable, Equatable {
    case done
    /// The state forbids it.
    case refused(OperationState)
    /// Another operation has its unique key.
    case taken(by: OperationID)
    case unknown
}

/// Everything that a screen shows of one queue, read in one step.
package struct QueueSnapshot: Sendable {
    package var queue: String
    /// Milliseconds of server time.
    package var time: Int64
    package var paused: Bool
    /// When a timed pause ends; nil = not timed.
    package var pausedUntil: Int64?
    /// nil = not paused.
    package var pause: OperatorTrace?
    package var limits = QueueLimits()
    /// Who set the limits last; nil = there are none.
    package var limitsSet: OperatorTrace?
    /// Of a rate that lets no operation start now: when the next one may; nil = one may.
    package var nextStartMilliseconds: Int64?
    package var schedules = ScheduleSummary()
    package var counts: [OperationState: Int]
    /// Monotonic: enqueued, started, finished, retried, dead, cancelled, expired, recovered, returned, removed.
    package var totals: [String: Int64]
    /// Milliseconds that the oldest ready operation has waited; nil = none ready.
    package var oldestReadyMilliseconds: Int64?
    package var eventSequence: Int64
    /// The highest number that was given to an operation of the queue: what is enqueued or retried later has a higher one.
    package var sequence: Int64
    /// Until then no lease counts as lapsed, because there was an outage: milliseconds of server time, 0 = never set. That no worker beat is
    /// not enough: a worker of before has come back.
    package var leaseFloor: Int64
    package var workers: [WorkerRow]
    package var executing: [ExecutingRow]
    /// The names with most unhandled operations, the largest number first. These count as ready.
    package var unhandled: [UnhandledName] = []
    /// All names of unhandled operations, and all of these.
    package var unhandledNames = 0
    package var unhandledCount = 0
    /// The limit keys with most ready operations, the largest number first; and how many keys have any.
    package var limitKeys: [LimitKeyRow] = []
    package var limitKeyCount = 0

    package init(queue: String, time: Int64) {
        self.queue = queue
        self.time = time
        paused = false
        counts = [:]
        totals = [:]
        eventSequence = 0
        sequence = 0
        leaseFloor = 0
        workers = []
        executing = []
    }

    /// Milliseconds that are left of a worker's lease; not above zero = lapsed.
    package func leaseMilliseconds(of worker: WorkerRow) -> Int64 { max(worker.leaseUntil, leaseFloor) - time }

    /// Those of the first 200 that are not lost.
    package var liveWorkers: [WorkerRow] { workers.filter { leaseMilliseconds(of: $0) > 0 } }
}

/// What a queue has of a limit key.
package struct LimitKeyRow: Sendable, Equatable {
    package var key: String
    package var ready: Int
    /// Of the ready ones, those in no lane: it is not their turn, or the limit is reached.
    package var waiting: Int
    package var executing: Int
    /// Milliseconds until its rate lets the next one start; nil = one may start now.
    package var nextStartMilliseconds: Int64?

    package init(key: String, ready: Int, waiting: Int, executing: Int) {
        self.key = key
        self.ready = ready
        self.waiting = waiting
        self.executing = executing
    }

    /// - Parameters:
    ///   - bucket: the instant at which all starts of its rate are back, in microseconds; nil = they are.
    ///   - now: milliseconds.
    package mutating func noteNextStart(_ limit: KeyLimit, bucket: Int64?, now: Int64) {
        nextStartMilliseconds = limit.rate?.millisecondsToNextStart(bucket: bucket, now: now)
    }
}

/// What holds back the operations of a limit key.
package struct LimitKeyState: Sendable, Equatable {
    /// The most ids that are named.
    package static let named = 20
    package var row: LimitKeyRow
    package var limit: KeyLimit
    /// Some of those that run.
    package var executing: [OperationID]

    package init(row: LimitKeyRow, limit: KeyLimit, executing: [OperationID]) {
        self.row = row
        self.limit = limit
        self.executing = executing
    }

    /// As many run as may.
    package var isFull: Bool { limit.concurrency.map { row.executing >= $0 } ?? false }
}

/// The operations that a queue starts before a ready one, if no lower lane has waited long enough to be preferred.
package struct Backlog: Sendable, Equatable {
    /// The most elements of a lane that are looked at.
    package static let limit = 10_000
    /// Ahead of it in its lane; for an unhandled operation, among those of its name.
    package var inLane: Int
    package var inHigherLanes: Int
    /// It is further behind in its lane than was looked.
    package var isLeast: Bool

    package init(inLane: Int, inHigherLanes: Int, isLeast: Bool) {
        self.inLane = inLane
        self.inHigherLanes = inHigherLanes
        self.isLeast = isLeast
    }

    package var count: Int { inLane + inHigherLanes }
}

/// Operations that wait for a worker that knows their name.
package struct UnhandledName: Sendable, Equatable {
    package var name: String
    package var count: Int

    package init(name: String, count: Int) {
        self.name = name
        self.count = count
    }
}

package struct WorkerRow: Sendable, Equatable {
    package var worker: String
    /// Milliseconds of server time; in the past = lapsed.
    package var leaseUntil: Int64
    package var beatAt: Int64
    package var inFlight: Int
    /// Encoded `WorkerInfo`.
    package var info: [UInt8]
    /// What operators have set for it.
    package var settings = WorkerSettings()

    package init(worker: String, leaseUntil: Int64, beatAt: Int64, inFlight: Int, info: [UInt8]) {
        self.worker = worker
        self.leaseUntil = leaseUntil
        self.beatAt = beatAt
        self.inFlight = inFlight
        self.info = info
    }
}

/// A worker whose lease lapsed, or whose process had ended, and what became of what it held: the history of a queue.
package struct LostWorker: Sendable, Equatable {
    package var worker: String
    /// When its lease ended; milliseconds of server time, as all times here.
    package var lostAt: Int64
    /// When what it held was handed back, the last of it.
    package var recoveredAt: Int64
    /// 0 = not known any more.
    package var beatAt: Int64
    /// Operations that wait again, or waited again and went on elsewhere.
    package var handedBack = 0
    /// Operations that were lost too often and are dead.
    package var dead = 0
    /// Operations that ended because their cancel had been requested.
    package var cancelled = 0
    /// The first ``named`` operations that it held.
    package var operations: [OperationID] = []
    package static let named = 20
    /// Encoded `WorkerInfo`; empty if it is not known, or was too long to be kept.
    package var info: [UInt8] = []

    package init(worker: String, lostAt: Int64, recoveredAt: Int64, beatAt: Int64) {
        self.worker = worker
        self.lostAt = lostAt
        self.recoveredAt = recoveredAt
        self.beatAt = beatAt
    }
}

package struct ExecutingRow: Sendable {
    package var worker: String
    package var fence: Int64
    package var header: OperationHeader
    package var name: String
    package var maxAttempts: Int
    /// Milliseconds of server time; nil for an untracked one, whose start is not stored.
    package var startedAt: Int64?
    package var progress: (fraction: Double, message: String)?
    package var cancelRequestedAt: Int64?
    /// What the producer said; empty if it has more bytes than a snapshot brings.
    package var envelope: [UInt8] = []
    /// Header, record and envelope are in a snapshot up to so many bytes.
    package static let readBytes = 1024

    package init(worker: String, fence: Int64, header: OperationHeader, name: String, maxAttempts: Int) {
        self.worker = worker
        self.fence = fence
        self.header = header
        self.name = name
        self.maxAttempts = maxAttempts
    }
}

/// A pause of a queue, or its end.
package struct PauseRequest: Sendable, Equatable {
    package var isPaused: Bool
    /// How long it lasts, at least a millisecond; nil = until it is resumed.
    package var forMilliseconds: Int64?
    /// Who wants it.
    package var by: String
    package var reason: String

    package static func pause(forMilliseconds: Int64? = nil, by: String, reason: String = "") -> PauseRequest {
        PauseRequest(isPaused: true, forMilliseconds: forMilliseconds, by: by, reason: reason)
    }

    package static func resume(by: String, reason: String = "") -> PauseRequest {
        PauseRequest(isPaused: false, forMilliseconds: nil, by: by, reason: reason)
    }
}

/// Who paused a queue or holds an operation, since when and why.
package struct OperatorTrace: Sendable, Equatable {
    /// Milliseconds of server time.
    package var at: Int64
    package var by: String
    package var reason: String

    package init(at: Int64, by: String, reason: String) {
        self.at = at
        self.by = by
        self.reason = reason
    }
}

package struct CancelRequest: Sendable, Equatable {
    package var reason: String
    /// Who asks: a label for people.
    package var by: String
    /// Store the intent for ids that are not found, so that an untracked waiting operation is dropped when it is claimed.
    package var storesIntent: Bool
    /// Ends also what runs at once: no grace.
    package var isForced: Bool

    package init(reason: String, by: String, storesIntent: Bool = false, isForced: Bool = false) {
        self.isForced = isForced
        self.reason = reason
        self.by = by
        self.storesIntent = storesIntent
    }
}
