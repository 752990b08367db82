import Operations

/// Events outside an operation's usual life: its answer or its lease is lost, it is cancelled, or it goes back untried.
extension LocalQueue {
    // MARK: Lost answers

    /// Puts back the unanswered ends of an exchange, to be sent first next time. After a claim whose outcome is
    /// unknown, Redis has to be asked what this worker owns.
    mutating func unanswered(_ ended: [Ended], hadClaim: Bool, _ index: Int, _ now: Instant) {
        members[index].outbox.putBack(ended, now)
        if hadClaim { raiseEpoch(index) }
    }

    mutating func raiseEpoch(_ index: Int) {
        members[index].supply.expectWork()
        members[index].lease.raiseEpoch()
    }

    /// Handles the answer of a reconcile call. An answer from before a lapse says nothing about the time after.
    ///
    /// - Parameters:
    ///   - epoch: the epoch of the call.
    ///   - found: operations that the worker owns and did not know of.
    /// - Returns: held operations that Redis gave to another worker.
    mutating func reconcile(_ answer: Reconciliation, epoch: Int, _ index: Int, found: [HeldOperation])
        -> [HeldOperation]
    {
        members[index].lease.answered(epoch: epoch, more: answer.more)
        take(found, index)
        let lost = members[index].lease.lose(answer.lost)
        // Settled here, so that nothing is sent when their bodies end.
        for operation in lost { _ = operation.settleOnce() }
        let gone = Set(answer.lost)
        _ = members[index].waiting.removeAll { gone.contains($0.fence) }
        return lost
    }

    // MARK: Heartbeats

    /// Handles an answered heartbeat.
    mutating func renew(_ index: Int, until: Instant, _ reply: BeatReply, _ now: Instant) {
        let mustAsk = members[index].lease.renew(
            until: until,
            counted: reply.inFlight,
            isExchanging: !members[index].calls.isIdle,
            mayOwnMore: members[index].wait == .claiming,
            now
        )
        members[index].unhandled.seen = reply.newestUnhandled
        members[index].supply.learn(reply.room)
        members[index].mostAhead = reply.room?.ahead
        returnSurplus(index)
        members[index].calls.probe()
        // Also for unhandled operations: after a pause, nothing else reports that they can be claimed again.
        if mustAsk || reply.startable || !members[index].unhandled.isEmpty {
            members[index].supply.expectWork()
        }
    }

    // MARK: Cancels

    /// Finds the operation of a cancel request. If its claim has not been answered yet, the request waits for the
    /// answer.
    mutating func find(_ request: FencedCancel, _ index: Int) -> HeldOperation? {
        if let operation = members[index].lease.held[request.fence] { return operation }
        members[index].lease.noteEarlyCancel(request)
        return nil
    }

    /// Finds the operation of a forced cancel, which has ended in Redis. Nothing is sent about it from now on.
    ///
    /// - Returns: the operation if it was held, and true if certainly no body of it runs here.
    mutating func fence(_ request: FencedCancel, _ index: Int) -> (operation: HeldOperation?, hasStopped: Bool) {
        if members[index].lease.fenced[request.fence] != nil { return (nil, false) }
        guard let operation = members[index].lease.held[request.fence] else {
            // A late answer may still bring the operation; then it does not start.
            members[index].lease.noteForced(request)
            return (nil, true)
        }
        _ = operation.settleOnce()
        _ = members[index].waiting.removeAll { $0 === operation }
        members[index].lease.fence(operation)
        return (operation, !operation.hasSlot)
    }

    /// Ends an operation as cancelled if it was not started; false if it was.
    mutating func settleWaiting(_ operation: HeldOperation) -> Bool {
        let withdrawn = members[operation.queue].waiting.removeAll { $0 === operation }
        if withdrawn.isEmpty { return false }
        settle(operation, .failed(.cancelled, error: []))
        return true
    }

    // MARK: Giving back

    /// Gives back all operations that have not started.
    mutating func returnWaiting(_ index: Int) {
        for operation in members[index].waiting.removeAll() { settle(operation, .returned(.front)) }
    }

    /// Gives back the newest waiting operations, if the queue's limits do not let this worker hold them ahead.
    private mutating func returnSurplus(_ index: Int) {
        guard let most = members[index].mostAhead, members[index].waiting.count > most else { return }
        let all = members[index].waiting.removeAll()
        for operation in all.prefix(most) { members[index].waiting.append(operation) }
        for operation in all.dropFirst(most) { settle(operation, .returned(.front)) }
    }

    /// Gives back operations that were claimed ahead and have not started. The running operations take longer than
    /// expected, so other workers can start the returned ones sooner.
    mutating func returnStalled(_ now: Instant) {
        for index in members.indices {
            guard let instant = stallsAt(index, now), instant <= now else { continue }
            members[index].pace.forget()
            returnWaiting(index)
        }
    }

    /// When operations that a queue has claimed ahead are given back, unless one starts before; nil = none wait.
    func stallsAt(_ index: Int, _ now: Instant) -> Instant? {
        guard !members[index].waiting.isEmpty, members[index].lease.isValid(now) else { return nil }
        return share.stallsAt(index)
    }

    // MARK: Stopping

    /// True if the worker holds nothing, as far as it knows; see `mayBeGivenMore`.
    var holdsNothing: Bool {
        members.allSatisfy {
            $0.lease.held.isEmpty && ($0.calls.isIdle || $0.calls.underWay == .question)
        }
    }

    /// True if an answer may still bring operations: to a claim that waits for a wake-up token, or to a reconcile call.
    var mayBeGivenMore: Bool { members.contains { $0.wait == .claiming || $0.lease.mustAsk } }
}
