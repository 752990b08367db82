/// Counts which queue uses how many of a worker's slots. A pure value.
///
/// A running operation uses a slot. A reservation, which lets a queue claim, uses one as well, and so does a claim in
/// flight. An operation may start in a slot of the latter two: the operation borrows the slot until the claim is
/// answered.
struct Slots: Sendable {
    /// The slots of one queue.
    struct Part: Sendable {
        /// Slots that only this queue may use.
        let own: Int
        /// Slots in which an operation runs, borrowed ones included.
        fileprivate(set) var running = 0
        /// Slots that the queue may claim for.
        fileprivate(set) var reserved = 0
        /// Slots for which claims are in flight.
        fileprivate(set) var claiming = 0
        /// How many of the reserved and claiming slots an operation has borrowed.
        fileprivate(set) var borrowed = 0
        /// Operations that claims in flight ask for without a slot.
        fileprivate(set) var ahead = 0

        @inline(__always)
        var used: Int { running + reserved + claiming - borrowed }

        @inline(__always)
        var unusedOwn: Int { max(0, own - used) }

        /// True if one more operation may borrow a slot.
        @inline(__always)
        var mayBorrow: Bool { borrowed < reserved + claiming }

        /// Ends the borrowing of slots whose claims are over: they belong to the operations that run in them.
        fileprivate mutating func settleBorrowed() { borrowed = min(borrowed, reserved + claiming) }
    }

    /// All slots of the worker.
    private(set) var count: Int
    private(set) var parts: [Part] = []
    /// Slots that no queue uses; below zero while more are used than exist, after `resize`.
    private(set) var free: Int
    /// How many of the free slots are reserved for the queues that own them.
    private(set) var kept = 0

    init(count: Int) {
        self.count = count
        free = count
    }

    /// Adds a queue.
    ///
    /// - Parameter own: slots that only this queue may use.
    mutating func add(own: Int) {
        parts.append(Part(own: own))
        kept += own
    }

    /// Changes the number of slots. Running operations continue; queues give up their reservations first.
    mutating func resize(_ new: Int) {
        for index in parts.indices { revoke(index) }
        free += new - count
        count = new
    }

    /// Slots in which an operation runs.
    var running: Int { parts.reduce(0) { $0 + $1.running } }

    /// True if the queue may use one more slot: a free one that is not reserved for another queue.
    @inline(__always)
    func mayUse(_ index: Int) -> Bool { free > 0 && (free > kept || parts[index].unusedOwn > 0) }

    // MARK: Claiming

    /// Reserves a free slot, for which the queue may claim.
    mutating func reserve(_ index: Int) { change(index) { $0.reserved += 1 } }

    /// Gives up the queue's reservations: it no longer claims for these slots.
    mutating func revoke(_ index: Int) {
        guard parts[index].reserved > 0 else { return }
        change(index) { part in
            part.reserved = 0
            part.settleBorrowed()
        }
    }

    /// Notes that a claim is sent for reserved slots.
    ///
    /// - Returns: the number of these slots.
    mutating func claimReserved(_ index: Int, atMost limit: Int) -> Int {
        let number = min(parts[index].reserved, limit)
        parts[index].reserved -= number
        parts[index].claiming += number
        return number
    }

    /// Notes that a claim is sent for free slots that were not reserved.
    ///
    /// - Returns: the number of these slots.
    mutating func claimFree(_ index: Int, atMost limit: Int) -> Int {
        var number = 0
        while number < limit, mayUse(index) {
            change(index) { $0.claiming += 1 }
            number += 1
        }
        return number
    }

    /// Notes that a claim is sent for operations that will have to wait for a slot.
    mutating func claimAhead(_ index: Int, _ number: Int) { parts[index].ahead += number }

    /// Notes that a claim has ended, with any outcome.
    mutating func endClaim(_ index: Int, slots: Int, ahead: Int) {
        parts[index].ahead -= ahead
        guard slots > 0 else { return }
        change(index) { part in
            part.claiming -= slots
            part.settleBorrowed()
        }
    }

    // MARK: Running

    /// Notes that an operation starts: in a free slot if the queue may use one, else in a borrowed slot.
    mutating func start(_ index: Int) {
        if mayUse(index) {
            change(index) { $0.running += 1 }
        } else {
            parts[index].running += 1
            parts[index].borrowed += 1
        }
    }

    /// Notes that a body has ended. If nothing waits in the queue, a borrowed slot goes back to its claim.
    mutating func end(_ index: Int, hasWaiting: Bool) {
        change(index) { part in
            part.running -= 1
            part.borrowed = min(hasWaiting ? part.borrowed : max(0, part.borrowed - 1), part.running)
        }
    }

    /// Changes the slots of one queue, and with them the counts of the worker.
    private mutating func change(_ index: Int, _ body: (inout Part) -> Void) {
        var part = parts[index]
        let (used, unusedOwn) = (part.used, part.unusedOwn)
        body(&part)
        free += used - part.used
        kept += part.unusedOwn - unusedOwn
        parts[index] = part
    }
}
