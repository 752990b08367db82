import Operations

/// Waiting at the bells of queues, and the claim that is sent along to one of them.
extension LocalQueue {
    /// A worker that stands still has its claims at the bell answered all the same. So few wait for its lease to lapse then; what is
    /// ready beyond them is claimed at once by whoever is alive.
    static let mostAtBell = 2

    /// A claim that waits at the bell of a queue.
    struct BellClaim: Sendable {
        var epoch: Int
        var capacity: Int
        /// The number of the queue's last other call when it was sent.
        var sentAfter: Int
    }

    /// Begins to claim at a bell. It uses no slot: for however long it waits, others may. What it brings when none is free waits for one.
    mutating func beginAtBell(_ index: Int) -> BellClaim {
        members[index].isClaimingAtBell = true
        return BellClaim(
            epoch: members[index].epoch,
            capacity: max(1, min(Self.mostAtBell, countRoom().free)),
            sentAfter: members[index].lastSent
        )
    }

    /// A claim at a bell was answered.
    ///
    /// - Returns: false if the token that it took is of no use here: it must be put back.
    mutating func accept(_ answer: BellAnswer, _ index: Int, of asked: BellClaim, ties: QueueTies, _ now: Instant)
        -> Bool
    {
        members[index].isClaimingAtBell = false
        guard let claim = answer.claim else { return !answer.rang || rang(index, now) }
        // Redis was asked since what this worker owns, and has named all of it that this claim had brought by then.
        guard asked.epoch == members[index].epoch, claim.status != .staleEpoch else {
            members[index].hasWork = true
            return !answer.rang || rang(index, now)
        }
        if asked.sentAfter == members[index].lastSent {
            learn(claim, index, rangMeanwhile: false, now)
        } else {
            learnAsOneOfSeveral(claim, index, now)
        }
        take(claim.operations, index, ties: ties)
        return !answer.rang || claim.status != .noLease
    }

    /// Other calls went out since: which of them Redis answered last is not known, so what any of them says of work counts.
    private mutating func learnAsOneOfSeveral(_ claim: Claim, _ index: Int, _ now: Instant) {
        if claim.status == .noLease { members[index].leaseUntil = nil }
        if claim.more || claim.nextDueMilliseconds == 0 {
            members[index].hasWork = true
            members[index].rings += 1
        }
        guard let due = claim.nextDueMilliseconds.map({ now + .milliseconds($0) }) else { return }
        members[index].nextDue = min(due, members[index].nextDue ?? due)
    }

    /// A claim at a bell ended without an answer.
    ///
    /// - Parameter mayHaveClaimed: Redis has to be asked what it handed out.
    mutating func unansweredAtBell(_ index: Int, mayHaveClaimed: Bool) {
        members[index].isClaimingAtBell = false
        members[index].hasWork = true
        if mayHaveClaimed { raiseEpoch(index) }
    }

    /// A token was taken from the queue's bell.
    ///
    /// - Returns: false if nothing can be started: the token must be put back.
    mutating func rang(_ index: Int, _ now: Instant) -> Bool {
        let canStart = phase == .running && members[index].hasLease(now) && maySpend(index, countRoom())
        members[index].hasWork = true
        members[index].rings += 1
        return canStart
    }

    /// An answer may still bring operations.
    var isClaimingAtBell: Bool { members.contains(where: \.isClaimingAtBell) }
}
