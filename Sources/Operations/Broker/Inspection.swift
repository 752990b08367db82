/// The values that user interfaces and handles exchange with the broker.

/// All that is stored about one tracked operation.
package struct OperationDetail: Sendable, Equatable {
    package var queue: String
    package var record: OperationRecord
    /// The effective state. The record of a cancelled queue's operation says `ready` until it is cleared away; this
    /// state is `cancelled`.
    package var state: OperationState
    /// The worker that owns the operation, while it runs.
    package var worker: String?
    /// The worker of the last run, if that has ended and the worker is still registered.
    package var ranOn: String?
    package var result: [UInt8]?
    /// The last failed attempts, oldest first.
    package var errors: [FailedAttempt]
    package var progress: (fraction: Double, message: String)?
    package var cancel: CancelTrace?
    /// The hold of an operator; nil = no operator holds the operation.
    package var hold: OperatorTrace?
    /// The values that runs stored for later runs.
    package var stored = StoredByRuns()
    package var checkpoint: [UInt8]? { stored.checkpoint }
    /// The snoozes of the operation; nil = it never snoozed.
    package var snooze: SnoozeTrace?
    /// How often the body left its slot to others.
    package var yields = 0
    /// The recoveries from lost workers, oldest first; the last ``Recovery/kept``.
    package var recoveries: [Recovery] = []
    /// The first log line of each attempt, in order. After an operator's retry, attempts count from 1 again.
    package var logStarts: [LogStart]
    /// Whether a client waited for the end of the operation recently.
    package var isAwaited: Bool
    /// Whether the operation is ready, but waits for a worker that knows its name.
    package var isUnhandled = false
    package var uniqueKey: String?
    /// Whether the operation is blocked until its turn at its unique key.
    package var waitsForTurn = false
    /// The holder of the unique key, while the operation waits for its turn.
    package var keyHolder: OperationID?
    package var links = OperationNeeds()
    package var limitKey: String?
    /// Whether the operation is ready, but in no lane because of its limit key.
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
            && left.worker == right.worker && left.ranOn == right.ranOn
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

    /// Whether a release does not change the operation, although it is blocked: a group and its callbacks wait for
    /// members, and an operation without its unique key waits for its turn.
    package var refusesRelease: Bool { links.group != nil || links.callbackNeed != nil || waitsForTurn }

    /// The end of the current snooze, in milliseconds of server time; nil = the operation is not snoozing.
    package var snoozedUntil: Int64? {
        guard let snooze, state == .scheduled, snooze.until == record.dueAt else { return nil }
        return snooze.until
    }
}

/// The snoozes of an operation.
package struct SnoozeTrace: Sendable, Equatable {
    package var count: Int
    /// The end of the last snooze, in milliseconds of server time.
    package var until: Int64
    /// The reason of the last snooze; may be empty.
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
    /// The time at which the worker sent the line, at most 250 ms after the write; milliseconds of server time. Nil =
    /// an older version stored the line.
    package var at: Int64?
    /// The line without its line break; should be UTF-8.
    package var text: [UInt8]

    package init(_ text: [UInt8], at: Int64? = nil) {
        self.at = at
        self.text = text
    }
}

/// A stored error: its time, and the JSON that the worker wrote (`OperationFailure`).
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
    /// How a forced cancel ended the operation. `stoppedAt` is then the time at which its worker reported that the body
    /// no longer runs.
    package var forced: Forced?
    /// The standing cancel that matched the operation before its body began.
    package var standing: Int64?

    package struct Forced: Sendable, Equatable {
        package var at: Int64
        package var by: String
        package var reason: String
        /// The worker that ran the operation.
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
    /// The operation was waiting and has ended as cancelled.
    case cancelled
    /// The operation runs; its worker has been notified.
    case requested(worker: String)
    /// The operation is a group. The group accepts no more members, and ends as cancelled when its present members have
    /// ended. The caller must cancel the members.
    case group
    /// The operation was running and has ended as cancelled. Later writes of this worker about it are refused.
    case forced(worker: String)
    /// The operation had already ended: cancelled (nothing changed), or finished, dead or expired (too late).
    case ended(OperationState, at: Int64)
    /// No record has this id. If requested, the intent is stored for an untracked operation that may still be claimed.
    case unknown(intentStored: Bool)
}

package enum ChangeOutcome: Sendable, Equatable {
    case done
    /// The operation's state forbids the change.
    case refused(OperationState)
    /// Another operation holds the unique key.
    case taken(by: OperationID)
    case unknown
}

/// All that a screen displays of one queue, read in one step.
package struct QueueSnapshot: Sendable {
    package var queue: String
    /// Milliseconds of server time.
    package var time: Int64
    package var paused: Bool
    /// The end of a timed pause; nil = not timed.
    package var pausedUntil: Int64?
    /// The author, time and reason of the pause; nil = not paused.
    package var pause: OperatorTrace?
    package var limits = QueueLimits()
    /// The author of the last change of limits; nil = the queue has no limits.
    package var limitsSet: OperatorTrace?
    /// Milliseconds until the queue's rate allows the next start; nil = an operation may start now.
    package var nextStartMilliseconds: Int64?
    package var schedules = ScheduleSummary()
    package var counts: [OperationState: Int]
    /// Totals that only grow: enqueued, started, finished, retried, dead, cancelled, expired, recovered, returned,
    /// removed.
    package var totals: [String: Int64]
    /// Milliseconds that the oldest ready operation has waited; nil = no ready operation.
    package var oldestReadyMilliseconds: Int64?
    package var eventSequence: Int64
    /// The highest sequence number of the queue. Operations that are enqueued or retried later have a higher one.
    package var sequence: Int64
    /// The time until which no lease counts as lapsed, because of an outage; milliseconds of server time, 0 = never
    /// set. A gap in the heartbeats alone is no outage: a worker from before the gap must have come back.
    package var leaseFloor: Int64
    package var workers: [WorkerRow]
    package var executing: [ExecutingRow]
    /// The names with the most unhandled operations, largest number first. Unhandled operations count as ready.
    package var unhandled: [UnhandledName] = []
    /// The number of names with unhandled operations, and of unhandled operations.
    package var unhandledNames = 0
    package var unhandledCount = 0
    /// The limit keys with the most ready operations, largest number first; and the number of keys with ready
    /// operations.
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

    /// Returns the milliseconds left of a worker's lease; zero or less = lapsed.
    package func leaseMilliseconds(of worker: WorkerRow) -> Int64 { max(worker.leaseUntil, leaseFloor) - time }

    /// The most workers of a snapshot. Those whose leases end first are read, so lapsed ones come before live ones.
    package static let workerLimit = 200
    /// Whether the queue may have more workers than `workers`.
    package var mayHaveMoreWorkers: Bool { workers.count >= Self.workerLimit }

    /// The workers of the snapshot whose lease has not lapsed.
    package var liveWorkers: [WorkerRow] { workers.filter { leaseMilliseconds(of: $0) > 0 } }
}

/// The operations of a limit key in a queue.
package struct LimitKeyRow: Sendable, Equatable {
    package var key: String
    package var ready: Int
    /// The ready operations that are in no lane: their turn has not come, or the limit is reached.
    package var waiting: Int
    package var executing: Int
    /// Milliseconds until the key's rate allows the next start; nil = an operation may start now.
    package var nextStartMilliseconds: Int64?

    package init(key: String, ready: Int, waiting: Int, executing: Int) {
        self.key = key
        self.ready = ready
        self.waiting = waiting
        self.executing = executing
    }

    /// - Parameters:
    ///   - bucket: the instant at which all starts of the rate are available again, in microseconds; nil = they are
    ///     now.
    ///   - now: milliseconds of server time.
    package mutating func noteNextStart(_ limit: KeyLimit, bucket: Int64?, now: Int64) {
        nextStartMilliseconds = limit.rate?.millisecondsToNextStart(bucket: bucket, now: now)
    }
}

/// The limit and the running operations of a limit key.
package struct LimitKeyState: Sendable, Equatable {
    /// The most ids in `executing`.
    package static let named = 20
    package var row: LimitKeyRow
    package var limit: KeyLimit
    /// Some of the running operations.
    package var executing: [OperationID]

    package init(row: LimitKeyRow, limit: KeyLimit, executing: [OperationID]) {
        self.row = row
        self.limit = limit
        self.executing = executing
    }

    /// Whether as many operations run as the limit allows.
    package var isFull: Bool { limit.concurrency.map { row.executing >= $0 } ?? false }
}

/// The operations that a queue starts before a ready one, if no lower lane has waited long enough to be preferred.
package struct Backlog: Sendable, Equatable {
    /// The most elements of a lane that a call reads.
    package static let limit = 10_000
    /// The number of operations ahead in the lane; for an unhandled operation, ahead among those of its name.
    package var inLane: Int
    package var inHigherLanes: Int
    /// Whether the operation is further back in its lane than the call read, so that `inLane` is a lower bound.
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
    /// The end of the lease in milliseconds of server time; a time in the past = lapsed.
    package var leaseUntil: Int64
    package var beatAt: Int64
    package var inFlight: Int
    /// Encoded `WorkerInfo`.
    package var info: [UInt8]
    /// The settings that operators made for the worker.
    package var settings = WorkerSettings()

    package init(worker: String, leaseUntil: Int64, beatAt: Int64, inFlight: Int, info: [UInt8]) {
        self.worker = worker
        self.leaseUntil = leaseUntil
        self.beatAt = beatAt
        self.inFlight = inFlight
        self.info = info
    }
}

/// A lost worker, and what happened to its operations: an entry in the history of a queue. The lease lapsed, or the
/// process ended.
package struct LostWorker: Sendable, Equatable {
    package var worker: String
    /// The end of the lease, in milliseconds of server time, like all times here.
    package var lostAt: Int64
    /// The time at which the last of its operations was recovered.
    package var recoveredAt: Int64
    /// The last heartbeat; 0 = no longer known.
    package var beatAt: Int64
    /// Operations that were recovered to wait again.
    package var recovered = 0
    /// Operations that are dead because they were lost too often.
    package var dead = 0
    /// Operations that ended as cancelled because a cancel had been requested.
    package var cancelled = 0
    /// The first ``named`` operations that the worker held.
    package var operations: [OperationID] = []
    package static let named = 20
    /// Encoded `WorkerInfo`; empty if it is not known, or was too long to store.
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
    /// The start in milliseconds of server time; nil for an untracked operation, whose start is not stored.
    package var startedAt: Int64?
    package var progress: (fraction: Double, message: String)?
    package var cancelRequestedAt: Int64?
    /// The producer's envelope; empty if it is too long for a snapshot.
    package var envelope: [UInt8] = []
    /// The most bytes of header, record and envelope that a snapshot includes.
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
    /// The length of the pause in milliseconds, at least 1; nil = until the queue is resumed.
    package var forMilliseconds: Int64?
    /// The author of the request.
    package var by: String
    package var reason: String

    package static func pause(forMilliseconds: Int64? = nil, by: String, reason: String = "") -> PauseRequest {
        PauseRequest(isPaused: true, forMilliseconds: forMilliseconds, by: by, reason: reason)
    }

    package static func resume(by: String, reason: String = "") -> PauseRequest {
        PauseRequest(isPaused: false, forMilliseconds: nil, by: by, reason: reason)
    }
}

/// The author, time and reason of a pause or a hold.
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
    /// The author of the request: a label for people.
    package var by: String
    /// Store the intent for ids without a record, so that a waiting untracked operation is dropped when it is claimed.
    package var storesIntent: Bool
    /// End running operations at once too, without a grace.
    package var isForced: Bool

    package init(reason: String, by: String, storesIntent: Bool = false, isForced: Bool = false) {
        self.isForced = isForced
        self.reason = reason
        self.by = by
        self.storesIntent = storesIntent
    }
}
