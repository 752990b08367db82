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
    /// The members' indexes by the names of their queues.
    private(set) var indexes: [String: Int] = [:]
    /// Walks over all members so far: a worker may have a thousand queues, so a test bounds how many a change takes.
    private(set) var walks = 0
    /// The instant that the alarm waits for.
    var alarmSet: Instant?
    /// When an operation was last started.
    private var lastStart: Instant?
    /// What is claimed ahead is given back when nothing has started for so long, and nothing rushes when nothing has ended.
    static let stall: Duration = .milliseconds(100)

    /// Runs after which the worker is to be replaced; nil = never.
    private var lifetime: Int?

    init(slots: Int, lifetime: Int? = nil) {
        self.slots = slots
        self.lifetime = lifetime
    }

    /// Adds a queue; its index is the number of those before it.
    mutating func add(_ share: QueueShare) {
        indexes[share.name] = members.count
        members.append(Member(share))
    }

    /// All indexes, for a walk over the members.
    private mutating func walk() -> Range<Int> {
        walks += 1
        return members.indices
    }

    // MARK: Slots

    var busySlots: Int { members.reduce(0) { $0 + $1.running } }

    /// Slots that nobody uses, and how many of them are kept for queues that have reserved them.
    struct Room: Sendable, Equatable {
        var free: Int
        var kept = 0
    }

    /// Counted once for a change, and then carried along while slots are given away.
    mutating func countRoom() -> Room {
        var room = Room(free: slots)
        for index in walk() {
            room.free -= members[index].usedSlots
            room.kept += members[index].unusedReserve
        }
        return room
    }

    /// True if the queue may use one more slot now: a free one that is not kept for another queue.
    func maySpend(_ index: Int, _ room: Room) -> Bool {
        room.free > 0 && (members[index].unusedReserve > 0 || room.free > room.kept)
    }

    /// Takes a slot out of the room, for a queue that is about to use it.
    func spend(_ index: Int, _ room: inout Room) {
        room.free -= 1
        if members[index].unusedReserve > 0 { room.kept -= 1 }
    }

    /// Gives free slots to queues with work, by smooth weighted rotation.
    ///
    /// - Returns: the queues that have got some.
    @discardableResult
    mutating func distribute(_ now: Instant) -> [Int] {
        guard phase == .running else { return [] }
        var room = countRoom()
        var chosen: [Int] = []
        while room.free > 0, let index = nextInRotation(now, room) {
            spend(index, &room)
            members[index].granted += 1
            if chosen.last != index, !chosen.contains(index) { chosen.append(index) }
        }
        return chosen
    }

    private mutating func nextInRotation(_ now: Instant, _ room: Room) -> Int? {
        var best: Int?
        var total = 0
        for index in walk() where members[index].canClaim(now) && maySpend(index, room) {
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
        var room = countRoom()
        return startNext(now, &room)
    }

    /// Takes everything that may start.
    mutating func startAll(_ now: Instant) -> [HeldOperation] {
        var room = countRoom()
        var operations: [HeldOperation] = []
        while let operation = startNext(now, &room) { operations.append(operation) }
        return operations
    }

    private mutating func startNext(_ now: Instant, _ room: inout Room) -> HeldOperation? {
        guard phase == .running, room.free > 0 else { return nil }
        var best: Int?
        for index in walk()
        where !members[index].waiting.isEmpty && members[index].mayStart(now) && maySpend(index, room) {
            if best.map({ members[index].load < members[$0].load }) ?? true { best = index }
        }
        guard let best, let operation = members[best].waiting.popFirst() else { return nil }
        spend(best, &room)
        members[best].running += 1
        operation.takeSlot()
        lastStart = now
        return operation
    }

    /// A body has ended: its slot is free. `settlement` is nil while reports are to be sent first.
    mutating func end(_ operation: HeldOperation, _ settlement: Settlement?, ranFor duration: Duration, _ now: Instant)
    {
        members[operation.queue].running -= 1
        members[operation.queue].lastEnd = now
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
        members.indices.reduce(Instant?.none) { earlier($0, nextAlarm(of: $1, now)) }
    }

    private func nextAlarm(of index: Int, _ now: Instant) -> Instant? {
        let due = members[index].hasWork ? nil : members[index].nextDue
        guard let lastStart, !members[index].waiting.isEmpty, members[index].hasLease(now) else { return due }
        return earlier(due, lastStart + Self.stall)
    }

    private func earlier(_ one: Instant?, _ other: Instant?) -> Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
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
    var holdsNothing: Bool { members.allSatisfy { $0.held.isEmpty && (!$0.isExchanging || $0.isAsking) } }

    var hasWaiting: Bool { members.contains { !$0.waiting.isEmpty } }

    /// Queues on whose bells it makes sense to wait: something could be started there, and nothing is known to be there.
    mutating func bellQueues(_ now: Instant) -> [Int] {
        let room = countRoom()
        return walk().filter { wantsBell($0, room, now) }
    }

    /// Nobody waits for a bell any more.
    mutating func forgetBells() {
        for index in walk() { members[index].isListening = false }
    }

    private func wantsBell(_ index: Int, _ room: Room, _ now: Instant) -> Bool {
        phase == .running && members[index].isQuiet(now) && maySpend(index, room)
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
        let room = countRoom()
        var outlook = Outlook()
        for index in walk() {
            if members[index].hasCall(now) { outlook.callers.append(index) }
            if !members[index].isListening, wantsBell(index, room, now) { outlook.needsBell = true }
            outlook.alarm = earlier(outlook.alarm, nextAlarm(of: index, now))
        }
        return outlook
    }
}
