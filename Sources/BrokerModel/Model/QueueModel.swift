import Operations

/// One queue as a value: the content that the scripts keep in Redis, with the same rules. Every function is one script
/// call, and `now` is the server's time during that call.
///
/// Where the protocol leaves a choice open, the comment of the function that applies the rule states it.
struct QueueModel {
    static let promoteLimit = 100
    /// How many operations a place may promote even if another one has used the limit.
    static let promoteLeast = 25
    static let sweepLimit = 200
    static let clearLimit = 80
    /// The size in bytes at which a claim or a reconciliation stops adding to its answer.
    static let replyBytes = 1 << 18
    static let ageingMilliseconds: Int64 = 30_000
    /// The time over which lost operations with one delivery left are spread.
    static let lastDeliverySpreadMilliseconds: Int64 = 10_000
    static let intentsKept = 10_000
    /// The count limit trims no operation that ended less than this time ago.
    static let leastRetentionMilliseconds: Int64 = 10_000
    /// An operation that a client awaited within this time is not trimmed.
    static let awaitedMilliseconds: Int64 = 60_000
    /// How much longer than a heartbeat interval the queue may be silent before that counts as an outage. With a short
    /// lease the time is shorter, see `beat`.
    static let outageSlackMilliseconds: Int64 = 2000
    /// The largest info of a lost worker that is kept.
    static let lostInfoBytes = 8192
    /// How many lost workers one call may forget.
    static let lostForgottenAtOnce = 100
    /// The size up to which an element is usual; `largest` notes only larger ones.
    static let usualBytes = 4096
    /// One operation in so many is chosen by age when the queue hands operations out.
    static let agedEvery: Int64 = 5

    let queue: String
    var retention = SluiceDefaults.retention
    var now: Int64 = 0
    var effects = CallEffects()
    /// Whether the wake-up token is present.
    var hasToken = false
    /// How many operations ended in this call, by state. Twice as many old ones may be trimmed.
    var endedInCall: [OperationState: Int] = [:]

    // Places
    var lanes = [Lane](repeating: Lane(), count: OperationPriority.allCases.count)
    var scheduled = ScoredSet()
    var retrying = ScoredSet()
    /// Blocked operations, by the time at which they were blocked.
    var blocked = ScoredSet()
    /// Deadlines of tracked operations that have not started yet.
    var expiring = ScoredSet()
    var ended: [OperationState: ScoredSet] = [:]
    var batches: [CancelledBatch] = []
    /// Unhandled operations by name.
    var unhandled: [String: UnhandledSet] = [:]
    var limitKeys = LimitKeys()
    /// The number of the newest set of unhandled operations.
    var newestUnhandled: Int64 = 0
    var operations: [OperationID: StoredOperation] = [:]
    var workers: [String: HeldOperations] = [:]

    // Liveness
    var leases: [String: Int64] = [:]
    var lastSeen: Int64?
    /// The longest pause before the next heartbeat that is no outage, in milliseconds.
    var longestGap: Int64?
    var leaseFloor: Int64 = 0
    /// The time until which a lapsed lease proves nothing, because a worker has come back after an outage.
    var outageUntil: Int64 = 0
    /// The history of lost workers, by worker.
    var lost: [String: LostWorker] = [:]
    /// The times at which a worker of each build first registered, by build.
    var builds: [String: Int64] = [:]

    /// Statistics by minute, hour and day.
    var statistics = KeptStatistics()

    /// The largest unusual element since the queue was last empty; 0 = none.
    var largest = 0

    /// Unique keys with their holder, or the last one.
    var keys: [String: KeyHolder] = [:]
    /// Operations that wait for their turn at a key, by sequence.
    var behind: [String: ScoredSet] = [:]
    /// Keys of fresh results, by the time until which these are fresh.
    var freshKeys: [String: Int64] = [:]
    /// Keys freed in this call, with the operation that held them, in order.
    var freedKeys: [(key: String, id: OperationID)] = []

    // Dependencies, see `QueueModel+Needs.swift`
    /// The dependencies of each operation.
    var needs: [OperationID: [DependencyName: Need]] = [:]
    /// Operations on which others of the queue depend. An operation that reuses an id is not among them, even if
    /// `dependents` still has entries of the earlier one.
    var dependencies: Set<OperationID> = []
    /// Operations whose producers have not named all dependencies yet.
    var open: Set<OperationID> = []
    /// Short results of dependencies, kept for each operation.
    var inputs: [OperationID: [DependencyName: [UInt8]]] = [:]
    /// The dependents of an operation. The score is the dependency's sequence at its last end that was reported to the
    /// dependent.
    var dependents: [DependencyName: ScoredSet] = [:]
    /// Ended dependencies of which not all dependents were notified.
    var outbox = ScoredMembers<DependencyName>()
    /// Dependencies that ended in this call, in order.
    var endedDependencies: [(name: DependencyName, sequence: Int64, end: DependencyEnd)] = []
    /// Whether an operation that was blocked can start. The end of the call wakes a worker, unless the call itself has
    /// claimed.
    var wasBlocked = false
    /// The earliest time at which an operation that was blocked can start.
    var startableAt: Int64?
    /// How many more dependents this call may notify.
    var leftToResolve = QueueModel.resolvedAtOnce
    /// How many more edges this call may follow.
    var edgesLeft = QueueModel.edgesAtOnce

    // Groups, see `QueueModel+Groups.swift`
    /// Groups to look at again, by time. An open group is due when its opener was silent for too long.
    var openGroups = ScoredSet()
    /// Callbacks that are no longer needed, in this call.
    var needlessCallbacks: [OperationID] = []
    /// How many groups this call has opened again.
    var climbs = 0

    // Dependencies in other queues, see `QueueModel+Remote.swift`
    var remote: [DependencyName: RemoteOperation] = [:]
    /// The time at which each of them is looked at again.
    var asking = ScoredMembers<DependencyName>()
    /// Other queues that must be notified of the end of an operation.
    var dependentQueues: [OperationID: [String]] = [:]
    /// Ends to report, by the queue that they go to.
    var outboxes: [String: Outbox] = [:]
    /// Whether this call has filled a new outbox.
    var hasNewOutbox = false

    // Counters
    var sequence: Int64 = 0
    var fence: Int64 = 0
    var eventSequence: Int64 = 0
    /// Stored events, the oldest first.
    var storedEvents: [StoredEvents.Entry] = []
    var totals: [String: Int64] = [:]
    /// The number of stale references in lanes, whose operations are elsewhere.
    var stale = 0

    // Control
    var paused = false
    var pausedUntil: Int64?
    var pause: OperatorTrace?
    var limits = QueueLimits()
    var limitsSet: OperatorTrace?
    /// The time at which all starts of the rate are back, in microseconds.
    var bucket: Int64?
    /// Whether a claim found that a limit lets no more operations start.
    var isFull = false
    /// Whether an operation has left a full queue in this call.
    var wasFull = false
    var cancelledSequence: Int64 = 0
    var cancelledFence: Int64 = 0
    var queueCancel: CancelIntent?
    /// Standing cancels, in the order of their ids.
    var standing: [StandingCancel] = []
    var standingRevision: Int64 = 0
    var schedules: [String: StoredSchedule] = [:]
    var scheduleRevision: Int64 = 0
    /// The timer owner of the schedules: the worker that waits for their next instant.
    var scheduleWatcher: String?
    var intents: [OperationID: CancelIntent] = [:]
    var awaited: [OperationID: Int64] = [:]
    /// The worker that times the next due instant, and that instant.
    var timerOwner: (worker: String, due: Int64)?

    init(queue: String) { self.queue = queue }
}

/// The requester, time and reason of a cancel.
struct CancelIntent {
    var at: Int64
    var by: String
    var reason: String

    var cancellation: OperationCancellation { OperationCancellation(reason: reason, by: by, requestedAt: at) }
}

/// A tracked operation: its record and its extras.
struct StoredOperation {
    var record: OperationRecord
    /// The worker of the last run.
    var ranOn: String?
    var result: [UInt8]?
    var errors: [FailedAttempt] = []
    var progress: (fraction: Double, message: String)?
    var cancel: CancelIntent?
    var cancelAcknowledgedAt: Int64?
    /// The last hold, and the state before it.
    var hold: (trace: OperatorTrace, from: OperationState)?
    var forced: (fence: Int64, trace: CancelTrace.Forced)?
    /// The standing cancel that cancelled the operation.
    var standing: Int64?
    var cancelStoppedAt: Int64?
    var stored = StoredByRuns()
    var snooze: SnoozeTrace?
    var yields = 0
    var recoveries: [Recovery] = []
    var log: [LogLine] = []
    var logStarts: [LogStart] = []
    /// How many lines were dropped; line numbers stay valid.
    var logBase = 0
    /// The operation's name while it is unhandled, else nil. Until a worker that has registered the name claims the
    /// operation, it waits.
    var unhandledName: String?
    var unique: UniqueClaim?
    /// Whether the operation is blocked until its turn at its unique key.
    var waitsForTurn = false
    /// See `LimitKeys`.
    var limitKey: String?
    /// Set only if the operation is a group.
    var group: StoredGroup?
    /// The group that ends with the operation's run.
    var runGroup: OperationID?
    /// The groups of the queue that have the operation as a member.
    var groups: [OperationID] = []

    init(record: OperationRecord) { self.record = record }
}

/// The state of one worker in Redis, besides its lease.
struct HeldOperations {
    var epoch = 0
    var beatAt: Int64 = 0
    var info: [UInt8] = []
    /// Settings that operators have made.
    var settings = WorkerSettings()
    /// The number of the last statistics taken.
    var statistics: Int64 = 0
    /// The number of the last call with reports.
    var reports = 0
    var inFlight: [Int64: LaneElement] = [:]
    /// Requested cancels of running operations, by fence.
    var cancelling: [Int64: CancelIntent] = [:]
    /// Forced cancels whose bodies may still run, by the fence that they took away.
    var forced: [Int64: (id: OperationID, intent: CancelIntent)] = [:]

    /// The cancel requests in the answer to a heartbeat.
    var cancelRequests: [FencedCancel] {
        let requested = cancelling.map { FencedCancel(fence: $0.key, $0.value.cancellation) }
        return (requested + forced.keys.compactMap(forcedCancel)).sorted { $0.fence < $1.fence }
    }

    func cancelRequest(of fence: Int64) -> FencedCancel? {
        cancelling[fence].map { FencedCancel(fence: fence, $0.cancellation) } ?? forcedCancel(of: fence)
    }

    private func forcedCancel(of fence: Int64) -> FencedCancel? {
        guard let (id, intent) = forced[fence] else { return nil }
        let request = OperationCancellation(
            reason: intent.reason,
            by: intent.by,
            requestedAt: intent.at,
            isForced: true
        )
        return FencedCancel(fence: fence, request, forced: id)
    }

    /// Raises the epoch. A lower epoch than the known one is ignored.
    mutating func note(epoch new: Int) { epoch = max(epoch, new) }
}

/// The waiting operations of a cancelled queue, until a sweep has cleared them away.
struct CancelledBatch {
    var sequence: Int64
    var cancel: CancelIntent
    var lanes: [Lane]
    var scheduled: ScoredSet
    var retrying: ScoredSet
    var blocked: ScoredSet
    var unhandled: [String: UnhandledSet]
    /// Operations that waited for their limit key in no lane, the key with fewest ready operations first.
    var keyed: [(key: String, waiting: ScoredSet)]
}

/// Effects of a call that others notice.
struct CallEffects {
    var counts: [OperationState: Int] = [:]
    var transitions: [(id: OperationID, state: OperationState)] = []
    /// Whether the events of this call are stored, because at least one of them must be.
    var isKept = false
    var change: QueueChange?
    /// The first operation that was changed.
    var subject: OperationID?
    var messages: [(worker: String?, message: ControlMessage)] = []
    /// Operations whose progress changed.
    var progressed: [OperationID] = []

    var isEmpty: Bool { counts.isEmpty && change == nil && messages.isEmpty && progressed.isEmpty }
}

// MARK: - Shared steps

extension QueueModel {
    /// Puts the wake-up token. A queue has at most one.
    mutating func wake() { hasToken = true }

    /// Puts the wake-up token for a due instant, unless the timer owner knows an instant that early.
    mutating func announce(due: Int64?) {
        guard let due else { return }
        if let timerOwner, timerOwner.due <= due { return }
        wake()
    }

    mutating func add(_ total: String, _ number: Int = 1) { totals[total, default: 0] += Int64(number) }

    /// Notes a transition. Enqueues, starts and finishes are not stored as events, because records show them.
    mutating func event(_ id: OperationID, _ state: OperationState, isNew: Bool = false) {
        if !isNew, state != .executing, state != .finished { effects.isKept = true }
        effects.counts[state, default: 0] += 1
        if effects.transitions.count < 50 { effects.transitions.append((id, state)) }
    }

    /// The state shown to readers. An operation that waits beyond its deadline never starts; the next claim or sweep
    /// ends it.
    func shownState(of record: OperationRecord) -> OperationState {
        let state = effectiveState(of: record)
        return isOverdue(record, state) ? .expired : state
    }

    func isOverdue(_ record: OperationRecord, _ state: OperationState) -> Bool {
        let deadline = record.header.expiresAt
        return deadline > 0 && deadline <= now && [.ready, .scheduled, .blocked].contains(state)
    }

    /// Ends an operation whose deadline has passed while it waited.
    mutating func expireInTime(_ id: OperationID) {
        if let record = operations[id]?.record, isOverdue(record, effectiveState(of: record)) { expire(id) }
    }

    /// The state that counts. Waiting operations of a cancelled queue are cancelled even before a sweep clears them
    /// away.
    func effectiveState(of record: OperationRecord) -> OperationState {
        record.state.isWaiting && record.header.sequence <= cancelledSequence ? .cancelled : record.state
    }

    /// Creates the record of an untracked operation that leaves the fast path. If its id has a record already, that
    /// record stays, the operation is dropped, and the result is false.
    mutating func adopt(_ element: LaneElement, fence: Int64 = 0) -> Bool {
        guard operations[element.id] == nil else {
            add("removed")
            return false
        }
        var header = element.header
        header.tracked = true
        let record = OperationRecord(
            header: header,
            state: .executing,
            fence: fence,
            enqueuedAt: header.readyAt,
            envelope: element.envelope
        )
        operations[element.id] = StoredOperation(record: record)
        return true
    }

    /// Whether the operation has a record, which is created if it is untracked.
    mutating func hasRecord(_ element: LaneElement) -> Bool { element.header.tracked || adopt(element) }

    mutating func revise(_ id: OperationID) {
        guard let revision = operations[id]?.record.header.revision else { return }
        operations[id]?.record.header.revision = (revision + 1) % 36
    }
}
