import Operations

/// Waiting at the bells of queues, and the claim that is sent along to one of them.
extension LocalQueue {
    /// A worker that stands still is given what it asked for at the bell all the same, and its lease has to lapse first. So it asks for few;
    /// for what is ready beyond them the bell rings again.
    static let mostAtBell = 2

    /// A claim that waits at the bell of a queue.
    struct BellClaim: Sendable {
        var epoch: Int
        var capacity: Int
        /// The number of the queue's last other call when it was sent.
        var sentAfter: Int
        var highestFence: Int64 = 0
    }

    /// Begins to claim at a bell. Nobody can say how many slots will be free when it rings, or whether a thread: so only a worker that
    /// holds nothing of the queue then is given something, and the claim uses no slot while it waits.
    ///
    /// - Returns: nil if the bell is only to be waited for: there are several queues, among which slots are divided when one rings, the worker
    ///   is about to stop or to ask Redis what it owns, or it was busy the last time and still is.
    mutating func beginAtBell(_ index: Int, _ now: Instant) -> BellClaim? {
        guard phase == .running, members.count == 1, members[index].isQuiet(now) else { return nil }
        if members[index].wasBusyAtBell, !members[index].lease.held.isEmpty { return nil }
        members[index].wasBusyAtBell = false
        members[index].isClaimingAtBell = true
        return BellClaim(
            epoch: members[index].lease.epoch,
            capacity: min(Self.mostAtBell, slots.count),
            sentAfter: members[index].lastSent,
            highestFence: members[index].lease.highestFence
        )
    }

    /// A claim at a bell was answered.
    ///
    /// - Parameter operations: what it has brought.
    /// - Returns: false if the token that it took is of no use here: it must be put back.
    mutating func accept(
        _ answer: BellAnswer,
        _ index: Int,
        of asked: BellClaim,
        _ operations: [HeldOperation],
        _ now: Instant
    ) -> Bool {
        members[index].isClaimingAtBell = false
        guard let claim = answer.claim else { return !answer.rang || rang(index, now) }
        if claim.status == .busy {
            members[index].wasBusyAtBell = true
            return !answer.rang || rang(index, now)
        }
        // Redis was asked since what this worker owns, and has named all of it that this claim had brought by then.
        guard asked.epoch == members[index].lease.epoch, claim.status != .staleEpoch else {
            members[index].hasWork = true
            return !answer.rang || rang(index, now)
        }
        if asked.sentAfter == members[index].lastSent {
            learn(claim, index, rangMeanwhile: false, now)
        } else {
            learnAsOneOfSeveral(claim, index, now)
        }
        take(operations, index)
        return !answer.rang || claim.status != .noLease
    }

    /// Other calls went out since: which of them Redis answered last is not known, so what any of them says of work counts.
    private mutating func learnAsOneOfSeveral(_ claim: Claim, _ index: Int, _ now: Instant) {
        if claim.status == .noLease { members[index].lease.refuse() }
        if claim.more || claim.nextDueMilliseconds == 0 {
            members[index].hasWork = true
            members[index].rings += 1
        }
        guard let due = claim.nextDueMilliseconds.map({ now + .milliseconds($0) }) else { return }
        members[index].nextDue = min(due, members[index].nextDue ?? due)
    }

    /// A claim at a bell ended without an answer: Redis has to be asked what it handed out.
    mutating func unansweredAtBell(_ index: Int) {
        members[index].isClaimingAtBell = false
        raiseEpoch(index)
    }

    /// A token was taken from the queue's bell.
    ///
    /// - Returns: false if nothing can be started: the token must be put back.
    mutating func rang(_ index: Int, _ now: Instant) -> Bool {
        let canStart = phase == .running && members[index].lease.isValid(now) && slots.mayUse(index)
        members[index].hasWork = true
        members[index].rings += 1
        return canStart
    }

    /// The answer of a claim at a bell, or to the question what this worker owns, may still bring operations.
    var mayBeGivenMore: Bool { members.contains { $0.isClaimingAtBell || $0.lease.mustAsk } }
}
