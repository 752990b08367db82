import Operations

/// What this worker holds and which slots are free: the decisions, without clocks, tasks or connections.
///
/// Six values answer one question each: `Slots` which queue uses how many slots, `FairShare` whose turn it is, and for each queue `Outbox`
/// what is to be settled, `Lease` what is still owned, `Calls` which calls are under way, and `Supply` what Redis still has. `LocalQueue+Life.swift` follows an operation through them.
struct LocalQueue: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// What the whole worker does.
    enum Phase: String, Sendable {
        case running
        /// An operator wants nothing new claimed or started, until they say otherwise.
        case quiet
        /// The worker stops: nothing new is claimed or started.
        case draining
        /// The loops end.
        case stopped
    }

    /// Which queue uses how many slots.
    var slots: Slots
    /// Whose turn it is.
    var share = FairShare()
    var phase = Phase.running
    var members: [Member] = []
    /// Operations that have a slot and wait for an executor task.
    var line = StartLine()
    /// The members' indexes by the names of their queues.
    private(set) var indexes: [String: Int] = [:]
    /// Walks over all members so far: a worker may have a thousand queues, so a test bounds how many a change takes.
    private(set) var walks = 0
    /// The instant that the alarm waits for.
    var alarmSet: Instant?
    /// When another queue may next be looked at whose wake-up tokens the worker does not wait for.
    var looks = Looks()
    /// Runs after which the worker is to be replaced; nil = never.
    private var lifetime: Int?

    init(slots: Int, lifetime: Int? = nil) {
        self.slots = Slots(count: slots)
        self.lifetime = lifetime
    }

    /// Adds a queue; its index is the number of those before it.
    mutating func add(_ share: QueueShare) {
        indexes[share.name] = members.count
        members.append(Member(share))
        slots.add(own: share.reservedSlots)
        self.share.add(weight: share.weight)
    }

    /// All indexes, for a walk over the members.
    @discardableResult
    mutating func walk() -> Range<Int> {
        walks += 1
        return members.indices
    }

    // MARK: Phases

    /// What one queue does now: the first of these that applies.
    enum QueuePhase: Sendable {
        /// No lease is valid: the worker has just started, or Redis has not answered for too long. Nothing is sent or started.
        case unleased
        /// The lease has lapsed and is valid again. Redis is asked what this worker still owns; nothing starts before.
        case lapsed
        /// Redis is asked what this worker owns, because an answer was lost. What is held may start.
        case unsure
        /// What was not answered is sent again, by itself. Nothing is claimed.
        case repeating
        /// The worker stops, or is quiet: what has ended is sent, and nothing is claimed or started.
        case draining
        /// Something is believed to be ready, and claimed as slots become free.
        case claiming
        /// Nothing is known to be ready: the worker waits for a wake-up token.
        case quiet
        /// The queue is paused. The worker waits for a wake-up token, too.
        case paused
    }

    @inline(__always)
    func phase(of index: Int, _ now: Instant) -> QueuePhase { members[index].phase(in: phase, now) }

    /// True if the queue is quiet or paused, and no call is under way that could report a ready operation.
    func isQuiet(_ index: Int, _ now: Instant) -> Bool {
        guard members[index].calls.isIdle else { return false }
        switch phase(of: index, now) {
        case .quiet, .paused: return true
        default: return false
        }
    }

    /// Who would rather have the slot of a running operation.
    ///
    /// - Parameter sliceIsOver: the operation has had its time slice.
    func slotWish(sliceIsOver: Bool) -> SlotWish? {
        guard phase == .running || phase == .quiet else { return .stopping }
        guard sliceIsOver, slots.free == 0 else { return nil }
        return members.contains { !$0.waiting.isEmpty || $0.supply.state == .ready } ? .others : nil
    }

    /// A run has ended, which uses the worker up. What goes back untried does not.
    ///
    /// - Returns: true once, when the last one has: nothing starts from this instant on.
    mutating func age(by settlement: Settlement) -> Bool {
        if case .returned = settlement { return false }
        guard let left = lifetime, left > 0 else { return false }
        lifetime = left - 1
        guard left == 1, phase == .running || phase == .quiet else { return false }
        phase = .draining
        return true
    }
}
