import Operations

/// Waits for the wake-up tokens of queues. A worker with one queue sends a claim with its wait.
extension LocalQueue {
    /// The number of operations that such a claim asks for. A frozen worker still gets them, and they are stuck until
    /// its lease lapses, so the number is small. If more operations are ready, another wake-up token comes.
    static let mostAtWakeUp = 2

    /// A claim that waits for a wake-up token.
    struct WakeUpClaim: Sendable {
        var epoch: Int
        var capacity: Int
        /// The number of the queue's last exchange before this claim.
        var sentAfter: Int
        var highestFence: Int64 = 0
    }

    /// Begins to claim with a wait. The worker cannot know how many slots or threads are free when the token comes. The
    /// claim therefore uses no slot while it waits, and brings operations only to a worker that then holds nothing of
    /// the queue.
    ///
    /// - Returns: nil if the worker should only wait for the token:
    ///   - A worker with several queues divides its slots among them when a token comes.
    ///   - A worker that is about to stop, or has to ask Redis what it owns, claims nothing.
    ///   - A worker that was busy the last time and still is would be refused again.
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

    /// Handles the answer of a claim that waited for a token.
    ///
    /// - Parameter operations: the claimed operations.
    /// - Returns: false if the token that the claim took is of no use here and must be put back.
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
        // A reconcile call was sent after this claim, and its answer has named the operations that the claim had
        // brought by then.
        guard asked.epoch == members[index].lease.epoch, claim.status != .staleEpoch else {
            members[index].supply.expectWork()
            return !answer.wasWoken || wokeUp(index, now)
        }
        if asked.sentAfter == members[index].calls.lastSent {
            learn(claim, index, wokenMeanwhile: false, now)
        } else {
            // Other exchanges were sent since.
            if claim.status == .noLease { members[index].lease.refuse() }
            members[index].supply.learnOneOfSeveral(claim, now)
        }
        take(operations, index)
        return !answer.wasWoken || claim.status != .noLease
    }

    /// Notes that a claim that waited for a token got no answer: Redis has to be asked what this worker owns.
    mutating func unansweredWakeUp(_ index: Int) {
        members[index].wait = .listening
        raiseEpoch(index)
    }

    /// Notes that a wake-up token of the queue was taken.
    ///
    /// - Returns: false if nothing can be started and the token must be put back.
    mutating func wokeUp(_ index: Int, _ now: Instant) -> Bool {
        let canStart = phase == .running && members[index].lease.isValid(now) && slots.mayUse(index)
        members[index].supply.wake()
        return canStart
    }
}
