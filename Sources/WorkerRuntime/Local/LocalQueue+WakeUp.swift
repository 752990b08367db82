import Operations

/// Waiting for the wake-up tokens of queues, and the claim that goes along with the wait of a worker that has one queue.
extension LocalQueue {
    /// A worker that is frozen is given what it asked for all the same, and its lease has to lapse first. So it asks for few; for what is
    /// ready beyond them another wake-up token comes.
    static let mostAtWakeUp = 2

    /// A claim that waits for a wake-up token.
    struct WakeUpClaim: Sendable {
        var epoch: Int
        var capacity: Int
        /// The number of the queue's last exchange when it was sent.
        var sentAfter: Int
        var highestFence: Int64 = 0
    }

    /// Begins to claim with a wait. It is not known how many slots will be free when the token comes, or whether a thread: so only a worker
    /// that holds nothing of the queue then is given something, and the claim uses no slot while it waits.
    ///
    /// - Returns: nil if the token is only to be waited for: there are several queues, among which slots are divided when a token comes, the
    ///   worker is about to stop or to ask Redis what it owns, or it was busy the last time and still is.
    mutating func beginAtWakeUp(_ index: Int, _ now: Instant) -> WakeUpClaim? {
        guard members.count == 1, isQuiet(index, now) else { return nil }
        if members[index].wasBusy, !members[index].lease.held.isEmpty { return nil }
        members[index].wasBusy = false
        members[index].wait = .claiming
        return WakeUpClaim(
            epoch: members[index].lease.epoch,
            capacity: min(Self.mostAtWakeUp, slots.count),
            sentAfter: members[index].calls.lastSent,
            highestFence: members[index].lease.highestFence
        )
    }

    /// A claim that waited for a token was answered.
    ///
    /// - Parameter operations: what it has brought.
    /// - Returns: false if the token that it took is of no use here: it must be put back.
    mutating func accept(
        _ answer: WakeUpAnswer,
        _ index: Int,
        of asked: WakeUpClaim,
        _ operations: [HeldOperation],
        _ now: Instant
    ) -> Bool {
        members[index].wait = .listening
        guard let claim = answer.claim else { return !answer.wasWoken || wokeUp(index, now) }
        if claim.status == .busy {
            members[index].wasBusy = true
            return !answer.wasWoken || wokeUp(index, now)
        }
        // Redis was asked since what this worker owns, and has named all of it that this claim had brought by then.
        guard asked.epoch == members[index].lease.epoch, claim.status != .staleEpoch else {
            members[index].supply.expectWork()
            return !answer.wasWoken || wokeUp(index, now)
        }
        if asked.sentAfter == members[index].calls.lastSent {
            learn(claim, index, wokenMeanwhile: false, now)
        } else {
            // Other exchanges went out since.
            if claim.status == .noLease { members[index].lease.refuse() }
            members[index].supply.learnOneOfSeveral(claim, now)
        }
        take(operations, index)
        return !answer.wasWoken || claim.status != .noLease
    }

    /// A claim that waited for a token ended without an answer: Redis has to be asked what it handed out.
    mutating func unansweredWakeUp(_ index: Int) {
        members[index].wait = .listening
        raiseEpoch(index)
    }

    /// A wake-up token of the queue was taken.
    ///
    /// - Returns: false if nothing can be started: the token must be put back.
    mutating func wokeUp(_ index: Int, _ now: Instant) -> Bool {
        let canStart = phase == .running && members[index].lease.isValid(now) && slots.mayUse(index)
        members[index].supply.wake()
        return canStart
    }
}
