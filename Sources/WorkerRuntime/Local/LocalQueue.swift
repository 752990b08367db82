import Operations

/// The operations and slots of this worker: all decisions, without clocks, tasks or connections.
///
/// Six values answer one question each. `Slots` and `FairShare` exist once, the others for each queue:
///
/// - `Slots`: which queue uses how many slots?
/// - `FairShare`: which queue gets the next slot?
/// - `Outbox`: which ends have to be reported?
/// - `Lease`: which operations does this worker still own?
/// - `Calls`: which calls are in flight?
/// - `Supply`: which operations does Redis still have?
///
/// `LocalQueue+Life.swift` follows an operation through them.
struct LocalQueue: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The phase of the whole worker.
    enum Phase: String, Sendable {
        case running
        /// An operator wants nothing new claimed or started until further notice.
        case quiet
        /// The worker stops: nothing new is claimed or started.
        case draining
        /// The loops end.
        case stopped
    }

    /// Which queue uses how many slots.
    var slots: Slots
    /// Which queue gets the next slot.
    var share = FairShare()
    var phase = Phase.running
    var members: [Member] = []
    /// Operations that have a slot and wait for an executor task.
    var line = StartLine()
    /// The members' indexes by queue name.
    private(set) var indexes: [String: Int] = [:]
    /// The number of walks over all members so far. A worker may have a thousand queues, so a test limits the walks of
    /// a change.
    private(set) var walks = 0
    /// The instant that the alarm waits for.
    var alarmSet: Instant?
    /// When the worker may next look at a queue whose wake-up tokens it does not wait for.
    var looks = Looks()
    /// The number of runs after which the worker is replaced; nil = no limit.
    private var lifetime: Int?

    init(slots: Int, lifetime: Int? = nil) {
        self.slots = Slots(count: slots)
        self.lifetime = lifetime
    }

    /// Adds a queue. The number of queues before it is its index.
    mutating func add(_ share: QueueShare) {
        indexes[share.name] = members.count
        members.append(Member(share))
        slots.add(own: share.reservedSlots)
        self.share.add(weight: share.weight)
    }

    /// Counts a walk over the members, and returns all indexes.
    @discardableResult
    mutating func walk() -> Range<Int> {
        walks += 1
        return members.indices
    }

    // MARK: Phases

    /// The phase of one queue: the first of these that applies.
    enum QueuePhase: Sendable {
        /// No lease is valid: the worker has just started, or Redis has not answered for too long. Nothing is sent or
        /// started.
        case unleased
        /// The lease has lapsed and is valid again. Redis is asked what this worker still owns; nothing starts before
        /// the answer.
        case lapsed
        /// Redis is asked what this worker owns, because an answer was lost. Held operations may start.
        case unsure
        /// Unanswered ends are sent again, alone. Nothing is claimed.
        case repeating
        /// The worker stops or is quiet: ends are sent, and nothing is claimed or started.
        case draining
        /// Operations are believed to be ready, and are claimed as slots become free.
        case claiming
        /// Nothing is known to be ready: the worker waits for a wake-up token.
        case quiet
        /// The queue is paused. The worker waits for a wake-up token as well.
        case paused
    }

    @inline(__always)
    func phase(of index: Int, _ now: Instant) -> QueuePhase { members[index].phase(in: phase, now) }

    /// True if the queue is quiet or paused, and no call is in flight that could report a ready operation.
    func isQuiet(_ index: Int, _ now: Instant) -> Bool {
        guard members[index].calls.isIdle else { return false }
        switch phase(of: index, now) {
        case .quiet, .paused: return true
        default: return false
        }
    }

    /// Returns why a running operation should leave its slot; nil = it may stay.
    ///
    /// - Parameter sliceIsOver: true if the operation has had its time slice.
    func slotWish(sliceIsOver: Bool) -> SlotWish? {
        guard phase == .running || phase == .quiet else { return .stopping }
        guard sliceIsOver, slots.free == 0 else { return nil }
        return members.contains { !$0.waiting.isEmpty || $0.supply.state == .ready } ? .others : nil
    }

    /// Counts a run towards the lifetime of the worker. Operations that go back untried do not count.
    ///
    /// - Returns: true once, for the last run: nothing starts from this instant on.
    mutating func age(by settlement: Settlement) -> Bool {
        if case .returned = settlement { return false }
        guard let left = lifetime, left > 0 else { return false }
        lifetime = left - 1
        guard left == 1, phase == .running || phase == .quiet else { return false }
        phase = .draining
        return true
    }
}
