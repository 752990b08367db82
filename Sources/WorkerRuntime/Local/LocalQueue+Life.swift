import Operations

/// The life of an operation in this worker, from top to bottom: claim, run, complete.
///
/// 1. `fill` gives a free slot to the queue whose turn it is. A waiting operation starts in it, or the queue claims for
///    it.
/// 2. `nextStep` makes up a call: how many operations to claim, and which ends to report. `QueueLoop` sends it.
/// 3. `accept` takes the operations of the answer. From here on this worker owns them.
/// 4. `start` gives an operation a slot and a place in the line. An executor task takes it from there: `Executor` runs
///    the body.
/// 5. `end` frees the slot, and puts the end into the outbox.
/// 6. `nextStep` makes up the next call, which reports the end and claims for the slot.
/// 7. `confirm` forgets the operation: Redis has stored its end.
///
/// All other events are in `LocalQueue+Loss.swift`: lost answers, lapsed leases, cancel requests, operations that go
/// back.
extension LocalQueue {
    // MARK: 1. A slot is given away

    /// Uses every free slot: starts waiting operations, and reserves the other slots for queues with work.
    ///
    /// - Returns: the queues that have reserved slots to claim for.
    @discardableResult
    mutating func fill(_ now: Instant) -> [Int] {
        lookAround(now)
        let mayBorrow = somethingMayBorrow()
        var claiming: [Int] = []
        while let turn = useSlot(now, mayBorrow) {
            if case .claim(let index) = turn { claiming.append(index) }
        }
        return claiming + distribute(now)
    }

    /// Starts the next waiting operation, or reserves its slot for another queue with work.
    ///
    /// - Parameter mayBorrow: true if a waiting operation may borrow a slot.
    /// - Returns: nil if no waiting operation may start.
    mutating func useSlot(_ now: Instant, _ mayBorrow: Bool) -> FairShare.Turn? {
        guard phase == .running, slots.free > 0 || mayBorrow else { return nil }
        if let last = share.streakQueue, members[last].pace.isShort, canStart(last, now) {
            start(last, now)
            return .start(last)
        }
        walk()
        let turn = nextTurn(now)
        switch turn {
        case nil: break
        case .claim(let index): reserve(index, now)
        case .start(let index):
            share.beginStreak(index)
            start(index, now)
        }
        return turn
    }

    /// Reserves the free slots for queues with work.
    ///
    /// - Returns: the queues that have got slots.
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
        walk()
        return share.rotate { members[$0].phase(in: phase, now) == .claiming && slots.mayUse($0) }
    }

    /// Treats the queue with the oldest claim as one with work, if that claim is old enough. A worker without a free
    /// slot waits for no wake-up token, so it learns nothing about new ready operations in its other queues.
    private mutating func lookAround(_ now: Instant) {
        guard members.count > 1, phase == .running, slots.free > 0, looks.isTime(now, starts: share.startCount) else {
            return
        }
        looks.next(now, queues: members.count, starts: share.startCount)
        var longest: (index: Int, askedAt: Instant)?
        for index in walk() where members[index].wait == .none && isQuiet(index, now) {
            guard members[index].supply.isUnwatched(now), let askedAt = members[index].supply.askedAt else { continue }
            if longest.map({ askedAt < $0.askedAt }) ?? true { longest = (index, askedAt) }
        }
        if let longest { members[longest.index].supply.expectWork() }
    }

    private mutating func reserve(_ index: Int, _ now: Instant) {
        slots.reserve(index)
        share.claims(index, now)
    }

    private func nextTurn(_ now: Instant) -> FairShare.Turn? { share.next(slots, now) { wish($0, now) } }

    private func wish(_ index: Int, _ now: Instant) -> FairShare.Wish {
        if !members[index].waiting.isEmpty { return canStart(index, now) ? .start : .nothing }
        guard phase(of: index, now) == .claiming, slots.mayUse(index) else { return .nothing }
        return .claim(isShort: members[index].pace.isShort)
    }

    private func canStart(_ index: Int, _ now: Instant) -> Bool {
        !members[index].waiting.isEmpty && members[index].lease.mayStart(now)
            && (slots.mayUse(index) || mayBorrow(index))
    }

    /// True if a waiting operation may borrow a slot. Only very short operations may, so that operations that the claim
    /// brings do not wait for long.
    private func mayBorrow(_ index: Int) -> Bool {
        slots.parts[index].mayBorrow && members[index].pace.isShort
    }

    /// True if any queue has a waiting operation that may borrow a slot.
    mutating func somethingMayBorrow() -> Bool {
        for index in walk() where mayBorrow(index) && !members[index].waiting.isEmpty { return true }
        return false
    }

    // MARK: 2. A call goes out

    /// True if the queue's loop has something to send. Repeats and reconcile calls run alone.
    mutating func hasCall(_ index: Int, _ now: Instant) -> Bool {
        members[index].hasCall(in: phase, reserved: slots.parts[index].reserved, now)
    }

    /// Decides the next call of a queue. Without a valid lease nothing is sent: ends wait for the next heartbeat.
    mutating func nextStep(_ index: Int, _ now: Instant) -> Step {
        guard hasCall(index, now) else { return .wait }
        if members[index].lease.mustAsk {
            members[index].calls.ask()
            return .reconcile(known: Array(members[index].lease.held.keys), epoch: members[index].lease.epoch)
        }
        var exchange = Exchange(ended: members[index].outbox.takeBatch(), epoch: members[index].lease.epoch)
        if !exchange.isRepeat { takeCapacity(index, for: &exchange) }
        if exchange.ended.isEmpty && exchange.capacity == 0 { return .wait }
        (exchange.number, exchange.isProbe) = members[index].calls.send(isRepeat: exchange.isRepeat)
        exchange.wakes = members[index].supply.wakes
        exchange.highestFence = members[index].lease.highestFence
        if exchange.capacity > 0 { exchange.unhandled = members[index].unhandled.ask() }
        return .exchange(exchange)
    }

    /// Adds slots to claim for. A claim together with completions costs nothing, so it is made even if nothing is known
    /// to be ready.
    private mutating func takeCapacity(_ index: Int, for exchange: inout Exchange) {
        guard phase == .running else { return }
        let (isFused, hasWork) = (!exchange.ended.isEmpty, members[index].supply.state == .ready)
        exchange.slots = slots.claimReserved(index, atMost: SluiceDefaults.batch)
        if isFused && (!hasWork || exchange.slots == 0) {
            exchange.slots += slots.claimFree(index, atMost: SluiceDefaults.batch - exchange.slots)
        }
        guard hasWork, isFused || exchange.slots > 0 else { return }
        let claimedAhead =
            members[index].waiting.count + slots.parts[index].borrowed + slots.parts[index].ahead
        let most = min(members[index].pace.prefetch(slots: slots.count), members[index].mostAhead ?? .max)
        let free = most - claimedAhead
        exchange.ahead = min(max(0, free), SluiceDefaults.batch - exchange.slots)
        slots.claimAhead(index, exchange.ahead)
    }

    // MARK: 3. Its answer

    /// Handles the answer to the claim of an exchange.
    ///
    /// - Parameters:
    ///   - exchange: the exchange that sent the claim; nil = the last one.
    ///   - operations: the claimed operations.
    mutating func accept(
        _ claim: Claim,
        _ index: Int,
        of exchange: Exchange? = nil,
        _ operations: [HeldOperation],
        _ now: Instant
    ) {
        if let exchange, claim.status == .ok, !claim.unhandledLeft {
            members[index].unhandled.handled(exchange.unhandled)
        }
        let isNews = members[index].calls.isNews(exchange?.number ?? members[index].calls.lastSent)
        if isNews || exchange == nil {
            learn(claim, index, wokenMeanwhile: exchange.map { $0.wakes != members[index].supply.wakes } ?? false, now)
        } else if claim.status == .staleEpoch {
            raiseEpoch(index)
        }
        take(operations, index)
        // The operations start in the slots of their claim, before another queue gets these slots.
        guard phase == .running, let exchange, exchange.slots > 0, members[index].lease.mayStart(now) else { return }
        for _ in 0..<exchange.slots where slots.mayUse(index) {
            guard start(index, now) else { return }
        }
    }

    /// Notes what an answer says about the queue.
    mutating func learn(_ claim: Claim, _ index: Int, wokenMeanwhile: Bool, _ now: Instant) {
        members[index].supply.learn(
            claim,
            wokenMeanwhile: wokenMeanwhile,
            expectsMore: !members[index].unhandled.isEmpty,
            now
        )
        switch claim.status {
        case .noLease: members[index].lease.refuse()
        case .staleEpoch: raiseEpoch(index)
        case .ok, .limited, .paused, .busy: break
        }
        if members[index].supply.state != .ready { slots.revoke(index) }
    }

    /// Adds claimed operations, which wait for a slot unless they end at once.
    mutating func take(_ operations: [HeldOperation], _ index: Int) {
        for operation in operations {
            let (isNew, replaced) = members[index].lease.take(operation)
            if !isNew { continue }
            if let replaced {
                _ = replaced.settleOnce()
                _ = members[index].waiting.removeAll { $0 === replaced }
            }
            if let fault = operation.claimed.fault {
                let failure = OperationFailure(malformed: operation.claimed, fault)
                settle(operation, .failed(.dead, error: failure.encoded()))
            } else if let cancellation = members[index].lease.takeEarlyCancel(operation.fence) {
                _ = operation.cancel(cancellation)
                settle(operation, .failed(.cancelled, error: []))
            } else {
                members[index].waiting.append(operation)
            }
        }
        if phase != .running { returnWaiting(index) }
    }

    // MARK: 4. An operation starts

    /// Gives the next operation of a queue a slot, and puts it into the line.
    ///
    /// - Returns: false if no operation waits.
    @discardableResult
    private mutating func start(_ index: Int, _ now: Instant) -> Bool {
        guard let operation = members[index].waiting.popFirst() else { return false }
        slots.start(index)
        operation.takeSlot()
        line.append(operation)
        share.starts(index, now)
        return true
    }

    // MARK: 5. Its body has ended

    /// Frees the slot of an operation whose body has ended.
    ///
    /// - Parameter settlement: nil while reports have to be sent first. Until then, an operation that may have a
    ///   successor keeps its slot.
    /// - Returns: true if the operation was no longer held, so that Redis has to learn that its body has stopped.
    @discardableResult
    mutating func end(
        _ operation: HeldOperation,
        _ settlement: Settlement?,
        ranFor duration: Duration,
        _ now: Instant
    ) -> Bool {
        let index = operation.queue
        let wasFenced =
            !members[index].lease.fenced.isEmpty && !operation.hasSlot
            && members[index].lease.fencedBodyReturned(operation)
        members[index].pace.note(duration)
        guard settlement != nil || !members[index].supply.mayHaveSuccessor(operation.claimed.header) else {
            members[index].reporting.insert(operation.fence)
            return wasFenced
        }
        slots.end(index, hasWaiting: !members[index].waiting.isEmpty)
        if let settlement { settleBody(operation, settlement, now) }
        return wasFenced
    }

    /// Handles an ended operation whose reports have arrived.
    mutating func endReported(_ operation: HeldOperation, _ settlement: Settlement, _ now: Instant) {
        let index = operation.queue
        if members[index].reporting.remove(operation.fence) != nil {
            slots.end(index, hasWaiting: !members[index].waiting.isEmpty)
        }
        settleBody(operation, settlement, now)
    }

    /// Frees slots whose reports cannot arrive because Redis does not answer. After the end of the lease, queues on
    /// other servers can use them.
    mutating func releaseSlotsOfReports(_ now: Instant) {
        for index in walk() where !members[index].reporting.isEmpty && !members[index].lease.isValid(now) {
            for _ in members[index].reporting { slots.end(index, hasWaiting: !members[index].waiting.isEmpty) }
            members[index].reporting = []
        }
    }

    private mutating func settleBody(_ operation: HeldOperation, _ settlement: Settlement, _ now: Instant) {
        guard settle(operation, settlement),
            members[operation.queue].supply.expectSuccessor(of: operation.claimed.header)
        else { return }
        keepSlot(operation.queue, now)
    }

    /// Puts an ended operation into the outbox.
    ///
    /// - Returns: false if it was settled before.
    @discardableResult
    mutating func settle(_ operation: HeldOperation, _ settlement: Settlement) -> Bool {
        guard operation.settleOnce() else { return false }
        members[operation.queue].outbox.add(operation, settlement)
        return true
    }

    /// Keeps the free slot for an operation that may start because of this end. The call that stores the end claims
    /// that operation, before another queue gets the slot. A queue that uses its part of the slots without it takes its
    /// turn as usual.
    private mutating func keepSlot(_ index: Int, _ now: Instant) {
        guard phase(of: index, now) == .claiming, members[index].waiting.isEmpty, slots.mayUse(index),
            slots.parts[index].used < part(index)
        else { return }
        reserve(index, now)
    }

    /// A queue's part of the slots by its weight, among the queues that use slots or have work. At least one, if each
    /// of them can have a slot.
    private mutating func part(_ index: Int) -> Int {
        var (count, weight) = (0, 0)
        for other in walk() where slots.parts[other].used > 0 || members[other].supply.state == .ready || other == index
        {
            count += 1
            weight += members[other].share.weight
        }
        return max(count <= slots.count ? 1 : 0, slots.count * members[index].share.weight / weight)
    }

    // MARK: 7. Its end is stored

    /// Forgets operations whose ends Redis has confirmed or refused.
    mutating func confirm(_ ended: [Ended], _ index: Int) { members[index].lease.confirm(ended) }

    /// Notes that a call has ended, with any outcome.
    ///
    /// - Parameter exchange: nil for a reconcile call.
    mutating func finish(_ exchange: Exchange?, _ index: Int) {
        members[index].calls.end(wasProbe: exchange?.isProbe ?? false)
        if let exchange { slots.endClaim(index, slots: exchange.slots, ahead: exchange.ahead) }
    }
}
