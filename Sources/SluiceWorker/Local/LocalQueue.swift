import Operations

/// What this worker holds and which slots are free: the decisions, without clocks, tasks or connections.
///
/// A slot is used by an operation that runs, by a grant (a queue may claim for it) or by a request (a claim is under way).
struct LocalQueue: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Phase: String, Sendable {
        case running
        /// Nothing new is claimed or started.
        case draining
        /// The loops end.
        case stopped
    }

    let slots: Int
    var phase = Phase.running
    var members: [Member] = []
    /// Queues on whose bells the worker is waiting.
    var listening: Set<Int> = []
    /// The instant that the alarm waits for.
    var alarmSet: Instant?
    /// When an operation was last started.
    private var lastStart: Instant?
    /// What is claimed ahead is given back when nothing has started for so long.
    private static let stall: Duration = .milliseconds(100)

    init(slots: Int) { self.slots = slots }

    /// Adds a queue; its index is the number of those before it.
    mutating func add(_ share: QueueShare) { members.append(Member(share)) }

    // MARK: Slots

    var busySlots: Int { members.reduce(0) { $0 + $1.running } }

    private var freeSlots: Int { members.reduce(slots) { $0 - $1.usedSlots } }

    /// True if the queue may use one more slot now: a free one that is not kept for another queue.
    func maySpend(_ index: Int) -> Bool {
        let free = freeSlots
        if free <= 0 { return false }
        if members[index].usedSlots < members[index].share.reservedSlots { return true }
        var kept = 0
        for other in members.indices where other != index {
            kept += max(0, members[other].share.reservedSlots - members[other].usedSlots)
        }
        return free > kept
    }

    /// Gives free slots to queues with work, by smooth weighted rotation.
    ///
    /// - Returns: the queues that have got some.
    mutating func distribute(_ now: Instant) -> [Int] {
        guard phase == .running else { return [] }
        var chosen: [Int] = []
        while let index = nextInRotation(now) {
            members[index].granted += 1
            if chosen.last != index, !chosen.contains(index) { chosen.append(index) }
        }
        return chosen
    }

    private mutating func nextInRotation(_ now: Instant) -> Int? {
        var best: Int?
        var total = 0
        for index in members.indices where members[index].canClaim(now) && maySpend(index) {
            members[index].credit += members[index].share.weight
            total += members[index].share.weight
            if best.map({ members[index].credit > members[$0].credit }) ?? true { best = index }
        }
        if let best { members[best].credit -= total }
        return best
    }

    // MARK: Starting and ending

    /// Takes the next operation that may start, and its slot.
    mutating func startNext(_ now: Instant) -> HeldOperation? {
        guard phase == .running else { return nil }
        var best: Int?
        for index in members.indices
        where !members[index].waiting.isEmpty && members[index].hasLease(now) && maySpend(index) {
            if best.map({ members[index].load < members[$0].load }) ?? true { best = index }
        }
        guard let best, let operation = members[best].waiting.popFirst() else { return nil }
        members[best].running += 1
        lastStart = now
        return operation
    }

    /// Takes everything that may start.
    mutating func startAll(_ now: Instant) -> [HeldOperation] {
        var operations: [HeldOperation] = []
        while let operation = startNext(now) { operations.append(operation) }
        return operations
    }

    /// A body has ended: its slot is free. `settlement` is nil while reports are to be sent first.
    mutating func end(_ operation: HeldOperation, _ settlement: Settlement?, ranFor duration: Duration) {
        members[operation.queue].running -= 1
        members[operation.queue].pace.note(duration)
        if let settlement { settle(operation, settlement) }
    }

    /// Puts an ended operation into the outbox, unless it was settled before or Redis has given it to somebody else.
    mutating func settle(_ operation: HeldOperation, _ settlement: Settlement) {
        guard members[operation.queue].held[operation.fence] === operation, operation.settleOnce() else { return }
        members[operation.queue].outbox.append(Ended(operation: operation, settlement: settlement))
    }

    // MARK: Giving back

    /// Takes everything that has not started, to be given back.
    mutating func returnWaiting(_ index: Int) {
        for operation in members[index].waiting.removeAll() { settle(operation, .returned(.front)) }
    }

    /// Gives back what was claimed ahead and has not moved for a while, because what runs turned out to be long.
    mutating func returnStalled(_ now: Instant) {
        guard let lastStart, lastStart + Self.stall <= now else { return }
        for index in members.indices where !members[index].waiting.isEmpty && members[index].hasLease(now) {
            members[index].pace.forget()
            returnWaiting(index)
        }
    }

    // MARK: Instants

    /// The next instant at which something is to be done without being told.
    func nextAlarm(_ now: Instant) -> Instant? {
        var earliest: Instant?
        for member in members {
            if let due = member.nextDue, !member.hasWork { earliest = min(due, earliest ?? due) }
            if let lastStart, !member.waiting.isEmpty, member.hasLease(now) {
                earliest = min(lastStart + Self.stall, earliest ?? lastStart + Self.stall)
            }
        }
        return earliest
    }

    /// Does what is to be done at this instant.
    mutating func alarm(_ now: Instant) {
        for index in members.indices {
            guard let due = members[index].nextDue, due <= now else { continue }
            members[index].nextDue = nil
            members[index].hasWork = true
        }
        returnStalled(now)
    }

    // MARK: Reading

    var holdsNothing: Bool { members.allSatisfy { $0.held.isEmpty && !$0.isExchanging } }

    var hasWaiting: Bool { members.contains { !$0.waiting.isEmpty } }

    /// Queues on whose bells it makes sense to wait: something could be started there, and nothing is known to be there.
    func bellQueues(_ now: Instant) -> [Int] {
        guard phase == .running else { return [] }
        return members.indices.filter { index in
            let member = members[index]
            return !member.hasWork && !member.isExchanging && !member.isStuck && member.hasLease(now)
                && maySpend(index)
        }
    }
}
