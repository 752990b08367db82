import Operations

/// One queue as a value: what the scripts keep in Redis, with the same rules. Every function is one script call; `now` is the
/// server's time during that call.
///
/// Where the protocol leaves a choice open, the rule is in the comment of the function that applies it.
struct QueueModel {
    static let promoteLimit = 100
    /// What a place may promote although another one has filled the limit.
    static let promoteLeast = 25
    static let sweepLimit = 200
    static let clearLimit = 80
    /// Where a claim or a reconciliation stops adding to its answer.
    static let replyBytes = 1 << 18
    static let ageingMilliseconds: Int64 = 30_000
    /// Over how long those are spread that were lost before and have one delivery left.
    static let lastDeliverySpreadMilliseconds: Int64 = 10_000
    static let intentsKept = 10_000
    /// An ended operation is never trimmed earlier than this after its end…
    static let leastRetentionMilliseconds: Int64 = 10_000
    /// …nor while somebody waited for it within this time.
    static let awaitedMilliseconds: Int64 = 60_000
    /// How much longer than a beat interval nobody may have been heard of before that counts as an outage; less with a short
    /// lease, see `beat`.
    static let outageSlackMilliseconds: Int64 = 2000
    /// What a lost worker said about itself is kept up to this size.
    static let lostInfoBytes = 8192
    /// So many lost workers are forgotten at once.
    static let lostForgottenAtOnce = 100
    /// An element of up to this size is usual; `largest` notes only what is larger.
    static let usualBytes = 4096
    /// Every so many hand-outs of a queue one goes by age.
    static let agedEvery: Int64 = 5

    let queue: String
    var retention = Defaults.retention
    var now: Int64 = 0
    var effects = CallEffects()
    /// Whether the wake-up token is there.
    var hasToken = false
    /// How many ended in this call, by state: as many old ones may be trimmed, twice.
    var endedInCall: [OperationState: Int] = [:]

    // Places
    var lanes = [Lane](repeating: Lane(), count: OperationPriority.allCases.count)
    var scheduled = ScoredSet()
    var retrying = ScoredSet()
    /// By since when an operator holds them.
    var blocked = ScoredSet()
    /// Deadlines of tracked operations that were not started yet.
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

    // Who is alive
    var leases: [String: Int64] = [:]
    var lastSeen: Int64?
    /// How long the next beat may take to come before it counts as an outage, in milliseconds.
    var longestGap: Int64?
    var leaseFloor: Int64 = 0
    /// Until then a lapsed lease says nothing, because there was an outage: a worker of before has come back after it.
    var outageUntil: Int64 = 0
    /// The history of lost workers, by worker.
    var lost: [String: LostWorker] = [:]

    /// Figures by minute, hour and day.
    var figures = KeptFigures()

    /// The largest unusual element since the queue was last empty; 0 = none.
    var largest = 0

    /// Unique keys that something has, or had.
    var keys: [String: KeyHolder] = [:]
    /// What waits for its turn at a key, by sequence.
    var behind: [String: ScoredSet] = [:]
    /// Keys of fresh results, by when they are that no more.
    var freshKeys: [String: Int64] = [:]
    /// In this call: who had them, in order.
    var freedKeys: [(key: String, id: OperationID)] = []

    // Dependencies, see `QueueModel+Needs.swift`
    /// Of each operation that depends on others.
    var needs: [OperationID: [DependencyName: Need]] = [:]
    /// What some in the queue depend on. An operation with an id that was used before is not, whatever `dependents` has left of that one.
    var dependencies: Set<OperationID> = []
    /// Operations whose producers have not said all that they depend on.
    var open: Set<OperationID> = []
    /// Short results of dependencies that are kept for the operation.
    var inputs: [OperationID: [DependencyName: [UInt8]]] = [:]
    /// What depends on an operation, by the dependency's sequence at the last end of it that each has heard of.
    var dependents: [DependencyName: ScoredSet] = [:]
    /// What ended and of whose end not all dependents have heard.
    var outbox = ScoredMembers<DependencyName>()
    /// In this call, in order.
    var endedDependencies: [(name: DependencyName, sequence: Int64, end: DependencyEnd)] = []
    /// Something that was blocked can start: a worker is woken when the call ends, unless it has claimed itself.
    var wasBlocked = false
    /// The earliest instant for which something waits that was blocked.
    var startableAt: Int64?
    /// So many dependents may still hear of an end in this call.
    var leftToResolve = QueueModel.resolvedAtOnce
    /// Over so many edges.
    var edgesLeft = QueueModel.edgesAtOnce

    // Groups, see `QueueModel+Groups.swift`
    /// When the opener of each has been silent for too long.
    var openGroups = ScoredSet()
    /// Callbacks that are not needed any more, in this call.
    var needlessCallbacks: [OperationID] = []
    /// How many groups this call has opened again.
    var climbs = 0

    // Dependencies in other queues, see `QueueModel+Remote.swift`
    var remote: [DependencyName: RemoteOperation] = [:]
    /// When each of them is looked at again.
    var asking = ScoredMembers<DependencyName>()
    /// Queues that have to hear of the end of an operation.
    var dependentQueues: [OperationID: [String]] = [:]
    /// By the queue that has to hear of what is in it.
    var outboxes: [String: Outbox] = [:]
    /// In this call.
    var hasNewOutbox = false

    // Counters
    var sequence: Int64 = 0
    var fence: Int64 = 0
    var eventSequence: Int64 = 0
    /// What is kept of the events, the oldest first.
    var storedEvents: [StoredEvents.Entry] = []
    var totals: [String: Int64] = [:]
    /// References left in lanes whose operation has gone elsewhere.
    var stale = 0

    // Control
    var paused = false
    var pausedUntil: Int64?
    var pause: OperatorTrace?
    var limits = QueueLimits()
    var limitsSet: OperatorTrace?
    /// Of the rate: the instant at which all starts are back, in microseconds.
    var bucket: Int64?
    /// A claim found that a limit lets no more start.
    var isFull = false
    /// One has left in this call.
    var wasFull = false
    var cancelledSequence: Int64 = 0
    var cancelledFence: Int64 = 0
    var queueCancel: CancelIntent?
    /// In the order of their ids.
    var standing: [StandingCancel] = []
    var standingRevision: Int64 = 0
    var schedules: [String: StoredSchedule] = [:]
    var scheduleRevision: Int64 = 0
    /// The worker that looks when an instant of a schedule has come.
    var scheduleWatcher: String?
    var intents: [OperationID: CancelIntent] = [:]
    var awaited: [OperationID: Int64] = [:]
    /// Who knows the exact next instant at which something is due, and which one that is.
    var timerOwner: (worker: String, due: Int64)?

    init(queue: String) { self.queue = queue }
}

/// Who asked for a cancel, when and why.
struct CancelIntent {
    var at: Int64
    var by: String
    var reason: String

    var cancellation: Cancellation { Cancellation(reason: reason, by: by, requestedAt: at) }
}

/// A tracked operation: its record and what only some have.
struct StoredOperation {
    var record: OperationRecord
    var result: [UInt8]?
    var errors: [FailedAttempt] = []
    var progress: (fraction: Double, message: String)?
    var cancel: CancelIntent?
    var cancelAcknowledgedAt: Int64?
    /// Who held it last, and the state that it had before.
    var hold: (trace: OperatorTrace, from: OperationState)?
    var forced: (fence: Int64, trace: CancelTrace.Forced)?
    /// The standing cancel that has caught it.
    var standing: Int64?
    var cancelStoppedAt: Int64?
    var stored = StoredByRuns()
    var snooze: SnoozeTrace?
    var yields = 0
    var recoveries: [Recovery] = []
    var log: [LogLine] = []
    var logStarts: [LogStart] = []
    /// Lines that were dropped, so that line numbers stay valid.
    var logBase = 0
    /// The operation's name while it is unhandled, else nil. It waits until a worker that has registered this name claims it.
    var unhandledName: String?
    var unique: UniqueClaim?
    /// It is blocked until its turn at its unique key comes.
    var waitsForTurn = false
    /// See `LimitKeys`.
    var limitKey: String?
    /// Of a group.
    var group: StoredGroup?
    /// The group that ends with its run.
    var runGroup: OperationID?
    /// Of its queue.
    var groups: [OperationID] = []

    init(record: OperationRecord) { self.record = record }
}

/// What Redis keeps of one worker besides its lease.
struct HeldOperations {
    var epoch = 0
    var beatAt: Int64 = 0
    var info: [UInt8] = []
    /// What operators have set for it.
    var settings = WorkerSettings()
    /// Number of the last figures that were taken.
    var figures: Int64 = 0
    /// Number of the last call that reported.
    var reports = 0
    var inFlight: [Int64: LaneElement] = [:]
    /// Requested cancels of running operations, by fence.
    var cancelling: [Int64: CancelIntent] = [:]
    /// Forced cancels whose bodies may still run, by the fence that they took away.
    var forced: [Int64: (id: OperationID, intent: CancelIntent)] = [:]

    /// What a heartbeat says of cancels.
    var orders: [CancelOrder] {
        let requested = cancelling.map { CancelOrder(fence: $0.key, $0.value.cancellation) }
        return (requested + forced.keys.compactMap(forcedOrder)).sorted { $0.fence < $1.fence }
    }

    func order(of fence: Int64) -> CancelOrder? {
        cancelling[fence].map { CancelOrder(fence: fence, $0.cancellation) } ?? forcedOrder(of: fence)
    }

    private func forcedOrder(of fence: Int64) -> CancelOrder? {
        guard let (id, intent) = forced[fence] else { return nil }
        let request = Cancellation(reason: intent.reason, by: intent.by, requestedAt: intent.at, isForced: true)
        return CancelOrder(fence: fence, request, forced: id)
    }

    /// A lower epoch than the known one is ignored.
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
    /// What waited in no lane because of its limit key: those with fewest ready operations first.
    var keyed: [(key: String, waiting: ScoredSet)]
}

/// What a call makes others notice.
struct CallEffects {
    var counts: [OperationState: Int] = [:]
    var transitions: [(id: OperationID, state: OperationState)] = []
    /// One of them is kept, and all others of the call with it.
    var isKept = false
    var change: QueueChange?
    /// One that was changed.
    var subject: OperationID?
    var messages: [(worker: String?, message: ControlMessage)] = []
    /// Operations whose progress changed.
    var progressed: [OperationID] = []

    var isEmpty: Bool { counts.isEmpty && change == nil && messages.isEmpty && progressed.isEmpty }
}

// MARK: - Shared steps

extension QueueModel {
    /// Puts the wake-up token, of which there is at most one.
    mutating func wake() { hasToken = true }

    /// Something is due at `due`: puts the wake-up token if no timer owner knows of an instant that early.
    mutating func announce(due: Int64?) {
        guard let due else { return }
        if let timerOwner, timerOwner.due <= due { return }
        wake()
    }

    mutating func add(_ total: String, _ number: Int = 1) { totals[total, default: 0] += Int64(number) }

    /// Enqueues, starts and finishes are not kept: records say so.
    mutating func event(_ id: OperationID, _ state: OperationState, isNew: Bool = false) {
        if !isNew, state != .executing, state != .finished { effects.isKept = true }
        effects.counts[state, default: 0] += 1
        if effects.transitions.count < 50 { effects.transitions.append((id, state)) }
    }

    /// For those who read: what waits beyond its deadline never starts, and ends with the next claim or sweep.
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

    /// The state that counts: waiting operations of a cancelled queue are cancelled before anybody clears them away.
    func effectiveState(of record: OperationRecord) -> OperationState {
        record.state.isWaiting && record.header.sequence <= cancelledSequence ? .cancelled : record.state
    }

    /// The record of an untracked operation that leaves the fast path. If its id has one, that stands, and the operation is dropped.
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

    /// Whether there is a record to write to.
    mutating func hasRecord(_ element: LaneElement) -> Bool { element.header.tracked || adopt(element) }

    mutating func revise(_ id: OperationID) {
        guard let revision = operations[id]?.record.header.revision else { return }
        operations[id]?.record.header.revision = (revision + 1) % 36
    }
}
