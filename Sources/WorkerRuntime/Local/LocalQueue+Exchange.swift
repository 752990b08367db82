import Operations

/// The script calls of a queue: what goes out, and what the answers change.
extension LocalQueue {
    /// What a queue's loop does next.
    enum Step {
        /// Nothing to do until something changes.
        case wait
        case reconcile(known: [Int64], epoch: Int)
        case exchange(Exchange)
    }

    struct Exchange {
        var ended: [Ended]
        /// Operations to claim; 0 = none.
        var capacity: Int
        var epoch: Int
        /// Grows with each call.
        var number = 0
        /// Slots that it uses, and what it asks for beyond them.
        var slots = 0
        var ahead = 0
        /// How often the bell had rung when it was sent.
        var rings = 0
        var highestFence: Int64 = 0
        var unhandled = UnhandledNames.Asked()
        /// No other call is under way until it is answered.
        var isAlone = false

        var isRepeat: Bool { ended.first?.isRepeat ?? false }

        func request(by worker: WorkerID) -> ClaimRequest {
            ClaimRequest(
                worker: worker,
                epoch: epoch,
                capacity: capacity,
                highestFence: highestFence,
                unhandled: unhandled.names
            )
        }

        /// So much is in it that what ends meanwhile may fill another one.
        var isLarge: Bool {
            capacity >= Member.furtherCallOfTracked || ended.count >= Member.furtherCallOfTracked
        }
    }

    /// True if the queue's loop has something to send.
    func hasCall(_ index: Int, _ now: Instant) -> Bool {
        members[index].hasCall(now, reserved: slots.parts[index].reserved)
    }

    /// Decides the next call of a queue. Without a valid lease nothing is sent: what has ended waits for the next heartbeat.
    mutating func nextStep(_ index: Int, _ now: Instant) -> Step {
        guard hasCall(index, now) else { return .wait }
        if members[index].lease.mustAsk {
            members[index].calls += 1
            members[index].isAsking = true
            return .reconcile(known: Array(members[index].lease.held.keys), epoch: members[index].lease.epoch)
        }
        var exchange = Exchange(
            ended: members[index].outbox.takeBatch(),
            capacity: 0,
            epoch: members[index].lease.epoch
        )
        if !exchange.isRepeat { takeCapacity(index, for: &exchange) }
        if exchange.ended.isEmpty && exchange.capacity == 0 { return .wait }
        members[index].calls += 1
        members[index].lastSent += 1
        exchange.number = members[index].lastSent
        exchange.rings = members[index].rings
        exchange.highestFence = members[index].lease.highestFence
        if exchange.capacity > 0 { exchange.unhandled = members[index].unhandled.ask() }
        exchange.isAlone = members[index].isProbing
        members[index].isRepeating = exchange.isRepeat
        return .exchange(exchange)
    }

    /// Slots to claim for. With completions the claim is free, so it is made also where nothing is known to be ready.
    private mutating func takeCapacity(_ index: Int, for exchange: inout Exchange) {
        guard phase == .running, !members[index].lease.mustAsk else { return }
        let isFused = !exchange.ended.isEmpty
        exchange.slots = slots.claimReserved(index, atMost: Defaults.batch)
        if isFused && !members[index].hasWork {
            exchange.slots += slots.claimFree(index, atMost: Defaults.batch - exchange.slots)
        }
        exchange.capacity = exchange.slots
        guard members[index].hasWork, isFused || exchange.slots > 0 else { return }
        let claimedAhead = members[index].waiting.count + slots.parts[index].borrowed + slots.parts[index].ahead
        let free = members[index].pace.prefetch(slots: slots.count) - claimedAhead
        exchange.ahead = min(max(0, free), Defaults.batch - exchange.slots)
        slots.claimAhead(index, exchange.ahead)
        exchange.capacity += exchange.ahead
    }

    // MARK: Answers

    /// The claim of an exchange was answered.
    ///
    /// - Parameters:
    ///   - exchange: the one that it went out with; nil = the last.
    ///   - operations: what it has brought.
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
        if exchange.map({ $0.number > members[index].lastAnswered }) ?? true {
            members[index].lastAnswered = exchange?.number ?? members[index].lastSent
            learn(claim, index, rangMeanwhile: exchange.map { $0.rings != members[index].rings } ?? false, now)
        } else if claim.status == .staleEpoch {
            raiseEpoch(index)
        }
        take(operations, index)
        startClaimed(index, atMost: exchange?.slots ?? 0, now)
    }

    /// What an answer says about the queue.
    mutating func learn(_ claim: Claim, _ index: Int, rangMeanwhile: Bool, _ now: Instant) {
        members[index].isPaused = claim.status == .paused
        members[index].nextDue = claim.nextDueMilliseconds.map { now + .milliseconds($0) }
        switch claim.status {
        case .ok:
            // A claim promotes a bounded part of what is due: the next one goes on at once.
            let moreIsDue = claim.nextDueMilliseconds == 0
            members[index].hasWork = claim.more || moreIsDue || rangMeanwhile || !members[index].unhandled.isEmpty
        case .paused: members[index].hasWork = false
        case .noLease: members[index].lease.refuse()
        case .staleEpoch: raiseEpoch(index)
        // Only what is claimed at the bell is refused so, and says nothing of the queue.
        case .busy: break
        }
        if !members[index].hasWork { slots.revoke(index) }
    }

    /// Adds operations that Redis has handed out.
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
            } else if let reason = members[index].lease.takeEarlyCancel(operation.fence) {
                _ = operation.cancel(reason: reason)
                settle(operation, .failed(.cancelled, error: []))
            } else {
                members[index].waiting.append(operation)
            }
        }
        if phase != .running { returnWaiting(index) }
    }

    /// Redis has confirmed (or refused) these ends; it holds the operations no longer.
    mutating func confirm(_ ended: [Ended], _ index: Int) {
        members[index].lease.confirm(ended)
    }

    /// A call is over, whatever came of it.
    ///
    /// - Parameter exchange: nil for a reconciliation.
    mutating func finish(_ exchange: Exchange?, _ index: Int) {
        members[index].calls -= 1
        members[index].isRepeating = false
        if exchange == nil { members[index].isAsking = false }
        if exchange?.isAlone == true { members[index].endProbe() }
        if let exchange { slots.endClaim(index, slots: exchange.slots, ahead: exchange.ahead) }
    }

    /// A part of an exchange was not answered: it goes first next time. After a claim whose outcome is unknown, Redis has to be
    /// asked what it handed out.
    mutating func unanswered(_ ended: [Ended], hadClaim: Bool, _ index: Int) {
        members[index].outbox.putBack(ended)
        if hadClaim {
            members[index].hasWork = true
            raiseEpoch(index)
        }
    }

    mutating func raiseEpoch(_ index: Int) {
        members[index].hasWork = true
        members[index].lease.raiseEpoch()
    }

    /// Redis and the worker agree again, unless it was asked before a lapse: such an answer says nothing about the time after.
    ///
    /// - Parameters:
    ///   - epoch: the epoch it was asked with.
    ///   - found: what the worker owns and did not know of.
    /// - Returns: what the worker holds and Redis gave to somebody else.
    mutating func reconcile(_ answer: Reconciliation, epoch: Int, _ index: Int, found: [HeldOperation])
        -> [HeldOperation]
    {
        members[index].lease.answered(epoch: epoch, more: answer.more)
        take(found, index)
        let lost = members[index].lease.lose(answer.lost)
        // So that nothing is sent when their bodies end.
        for operation in lost { _ = operation.settleOnce() }
        let gone = Set(answer.lost)
        _ = members[index].waiting.removeAll { gone.contains($0.fence) }
        return lost
    }

    // MARK: Heartbeat

    /// A heartbeat was answered.
    mutating func renew(_ index: Int, until: Instant, _ reply: BeatReply, _ now: Instant) {
        let mustAsk = members[index].lease.renew(
            until: until,
            counted: reply.inFlight,
            isExchanging: members[index].isExchanging,
            mayOwnMore: members[index].isClaimingAtBell,
            now
        )
        members[index].unhandled.seen = reply.newestUnhandled
        members[index].probe()
        // Also after a pause, of whose end nothing else may say that unhandled ones can be claimed again.
        if mustAsk || reply.startable || !members[index].unhandled.isEmpty { members[index].hasWork = true }
    }

    // MARK: Cancels

    /// Finds the operation of a cancel. Where its claim has not been answered yet, the cancel waits for it.
    mutating func find(_ fence: Int64, _ index: Int, reason: String) -> HeldOperation? {
        if let operation = members[index].lease.held[fence] { return operation }
        members[index].lease.noteEarlyCancel(fence, reason: reason)
        return nil
    }

    /// Ends an operation as cancelled that was not started; false if it was.
    mutating func settleWaiting(_ operation: HeldOperation) -> Bool {
        let withdrawn = members[operation.queue].waiting.removeAll { $0 === operation }
        if withdrawn.isEmpty { return false }
        settle(operation, .failed(.cancelled, error: []))
        return true
    }
}
