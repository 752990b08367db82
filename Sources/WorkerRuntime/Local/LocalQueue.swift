import Operations

/// What this worker holds and which slots are free: the decisions, without clocks, tasks or connections.
///
/// `Slots` says which queue uses how many slots, `FairShare` whose turn it is.
struct LocalQueue: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Phase: String, Sendable {
        case running
        /// Nothing new is claimed or started.
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
    /// What has a slot and waits for a runner.
    var line = StartLine()
    /// The members' indexes by the names of their queues.
    private(set) var indexes: [String: Int] = [:]
    /// Walks over all members so far: a worker may have a thousand queues, so a test bounds how many a change takes.
    private(set) var walks = 0
    /// The instant that the alarm waits for.
    var alarmSet: Instant?
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
    private mutating func walk() -> Range<Int> {
        walks += 1
        return members.indices
    }

    // MARK: Slots

    /// True if something waits that may start in a slot which a claim will fill.
    mutating func somethingMayBorrow() -> Bool { walk().contains { !members[$0].waiting.isEmpty && mayBorrow($0) } }

    /// An operation that waits may borrow a slot only where operations are very short, so that what the claim brings does not wait
    /// for long.
    private func mayBorrow(_ index: Int) -> Bool { slots.parts[index].mayBorrow && members[index].pace.isShort }

    /// Gives every free slot away: what waits starts, and queues with work claim for the others.
    ///
    /// - Returns: the queues that have got some to claim for.
    @discardableResult
    mutating func fill(_ now: Instant) -> [Int] {
        let mayBorrow = somethingMayBorrow()
        var claiming: [Int] = []
        while let use = useSlot(now, mayBorrow) {
            if case .claim(let index) = use { claiming.append(index) }
        }
        return claiming + distribute(now)
    }

    /// Gives free slots to queues with work, by smooth weighted rotation.
    ///
    /// - Returns: the queues that have got some.
    @discardableResult
    mutating func distribute(_ now: Instant) -> [Int] {
        guard phase == .running else { return [] }
        var chosen: [Int] = []
        while slots.free > 0, let index = nextInRotation(now) {
            reserve(index, now)
            if chosen.last != index, !chosen.contains(index) { chosen.append(index) }
        }
        return chosen
    }

    private mutating func nextInRotation(_ now: Instant) -> Int? {
        walks += 1
        return share.rotate { members[$0].canClaim(now) && slots.mayUse($0) }
    }

    private mutating func reserve(_ index: Int, _ now: Instant) {
        slots.reserve(index)
        share.claims(index, now)
    }

    // MARK: Starting and ending

    /// Starts the next of what waits, or gives its slot to another queue with work.
    ///
    /// - Parameter mayBorrow: something that waits may borrow a slot.
    /// - Returns: nil if nothing that waits may start.
    mutating func useSlot(_ now: Instant, _ mayBorrow: Bool) -> FairShare.Turn? {
        guard phase == .running, slots.free > 0 || mayBorrow else { return nil }
        if let last = share.streakQueue, members[last].pace.isShort, canStart(last, now) {
            start(last, now)
            return .start(last)
        }
        walks += 1
        let turn = share.next(slots, now) { wish($0, now) }
        switch turn {
        case nil: break
        case .claim(let index): reserve(index, now)
        case .start(let index):
            share.beginStreak(index)
            start(index, now)
        }
        return turn
    }

    private func wish(_ index: Int, _ now: Instant) -> FairShare.Wish {
        if !members[index].waiting.isEmpty { return canStart(index, now) ? .start : .nothing }
        guard members[index].canClaim(now), slots.mayUse(index) else { return .nothing }
        return .claim(isShort: members[index].pace.isShort)
    }

    private func canStart(_ index: Int, _ now: Instant) -> Bool {
        !members[index].waiting.isEmpty && members[index].lease.mayStart(now)
            && (slots.mayUse(index) || mayBorrow(index))
    }

    /// Starts what has come in the slots for which it was claimed, before anybody else is given them.
    mutating func startClaimed(_ index: Int, atMost count: Int, _ now: Instant) {
        guard phase == .running, count > 0, members[index].lease.mayStart(now) else { return }
        for _ in 0..<count where slots.mayUse(index) {
            guard !members[index].waiting.isEmpty else { return }
            start(index, now)
        }
    }

    /// Puts the next operation of a queue into the line.
    private mutating func start(_ index: Int, _ now: Instant) {
        guard let operation = members[index].waiting.popFirst() else { return }
        slots.start(index)
        operation.takeSlot()
        line.append(operation)
        share.starts(index, now)
    }

    /// A body has ended: its slot is free. `settlement` is nil while reports are to be sent first.
    mutating func end(_ operation: HeldOperation, _ settlement: Settlement?, ranFor duration: Duration) {
        slots.end(operation.queue, hasWaiting: !members[operation.queue].waiting.isEmpty)
        members[operation.queue].pace.note(duration)
        if let settlement { settle(operation, settlement) }
    }

    /// A run has ended, which uses the worker up. What goes back untried does not.
    ///
    /// - Returns: true once, when the last one has: nothing starts from this instant on.
    mutating func age(by settlement: Settlement) -> Bool {
        if case .returned = settlement { return false }
        guard let left = lifetime, left > 0 else { return false }
        lifetime = left - 1
        guard left == 1, phase == .running else { return false }
        phase = .draining
        return true
    }

    /// Puts an ended operation into the outbox, unless it was settled before.
    mutating func settle(_ operation: HeldOperation, _ settlement: Settlement) {
        guard operation.settleOnce() else { return }
        members[operation.queue].outbox.add(operation, settlement)
    }

    // MARK: Giving back

    /// Takes everything that has not started, to be given back.
    mutating func returnWaiting(_ index: Int) {
        for operation in members[index].waiting.removeAll() { settle(operation, .returned(.front)) }
    }

    /// Gives back what was claimed ahead and has not moved for a while, because what runs turned out to be long.
    mutating func returnStalled(_ now: Instant) {
        for index in members.indices {
            guard let instant = stallsAt(index, now), instant <= now else { continue }
            members[index].pace.forget()
            returnWaiting(index)
        }
    }

    /// When what a queue has claimed ahead is to be given back, unless something starts before; nil = there is nothing.
    private func stallsAt(_ index: Int, _ now: Instant) -> Instant? {
        guard !members[index].waiting.isEmpty, members[index].lease.isValid(now) else { return nil }
        return share.stallsAt(index)
    }

    // MARK: Instants

    /// The next instant at which something is to be done without being told.
    func nextAlarm(_ now: Instant) -> Instant? {
        members.indices.reduce(Instant?.none) { .earlier($0, nextAlarm(of: $1, now)) }
    }

    private func nextAlarm(of index: Int, _ now: Instant) -> Instant? {
        .earlier(members[index].hasWork ? nil : members[index].nextDue, stallsAt(index, now))
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

    /// As far as it knows: see `mayBeGivenMore`.
    var holdsNothing: Bool { members.allSatisfy { $0.lease.held.isEmpty && (!$0.isExchanging || $0.isAsking) } }

    var hasWaiting: Bool { members.contains { !$0.waiting.isEmpty } }

    /// Queues on whose bells it makes sense to wait: something could be started there, and nothing is known to be there.
    mutating func bellQueues(_ now: Instant) -> [Int] {
        walk().filter { wantsBell($0, now) }
    }

    /// Nobody waits for a bell any more.
    mutating func forgetBells() {
        for index in walk() { members[index].isListening = false }
    }

    private func wantsBell(_ index: Int, _ now: Instant) -> Bool {
        phase == .running && members[index].isQuiet(now) && slots.mayUse(index)
    }

    /// Who has something to do after a change.
    struct Outlook: Sendable {
        /// Queues with something to send.
        var callers: [Int] = []
        /// A bell should be waited for that nobody listens to.
        var needsBell = false
        /// As `nextAlarm`.
        var alarm: Instant?
    }

    /// Looks at every queue once.
    mutating func outlook(_ now: Instant) -> Outlook {
        var outlook = Outlook()
        for index in walk() {
            if hasCall(index, now) { outlook.callers.append(index) }
            if !members[index].isListening, wantsBell(index, now) { outlook.needsBell = true }
            outlook.alarm = .earlier(outlook.alarm, nextAlarm(of: index, now))
        }
        return outlook
    }
}
