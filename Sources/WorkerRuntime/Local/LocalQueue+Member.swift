import Operations

extension LocalQueue {
    /// One queue's part of the local queue.
    struct Member: Sendable {
        let share: QueueShare
        /// Wakes the queue's loop.
        let signal = Signal()
        /// What this worker owns in the queue.
        var lease = Lease()
        /// Claimed, not started.
        var waiting = Fifo<HeldOperation>()
        /// Something is believed to be ready. True at first: only a claim tells.
        var hasWork = true
        var isPaused = false
        /// The worker is waiting for its bell.
        var isListening = false
        /// A claim waits at its bell, or was not answered yet.
        var isClaimingAtBell = false
        /// The last claim at its bell was for an idle worker, and came when this one was not.
        var wasBusyAtBell = false
        /// What is to be settled.
        var outbox = Outbox()
        /// Calls of this queue that are under way, and how many may be: more where each of them travels long.
        var calls = 0
        var callsAtOnce = Member.fewestCallsAtOnce
        /// The shortest call since the last one that went alone, that one included.
        private var shortest: Duration?
        /// The next call goes alone, which tells how long one travels.
        private(set) var isProbing = false
        /// Redis is asked what this worker owns; nothing else is under way then.
        var isAsking = false
        /// What is repeated is under way, alone.
        var isRepeating = false
        /// The number of the last call that was sent, and the highest that was answered: what an earlier one says about work is old.
        var lastSent = 0
        var lastAnswered = 0
        /// How often the bell rang: what the answer to a call says about work that was sent before is older than the ring.
        var rings = 0
        /// When the next scheduled or retrying operation is due.
        var nextDue: Instant?
        var pace = Pace()
        /// Names that this worker knows, of which there are unhandled operations.
        var unhandled = UnhandledNames()

        init(_ share: QueueShare) { self.share = share }

        // The small ones below are asked at every end, and a call would copy the member.

        /// Something was sent and not answered: nothing is claimed before it is.
        @inline(__always)
        var isStuck: Bool { lease.mustAsk || outbox.isRepeat }

        @inline(__always)
        var isExchanging: Bool { calls > 0 }

        // MARK: Calls

        /// One is worked on by the server while another one is on its way there and a third one is read here.
        static let fewestCallsAtOnce = 3
        static let mostCallsAtOnce = 8
        /// A further call starts only with so much in it: small ones are gathered until the one under way is answered.
        static let furtherCall = Defaults.batch / 2
        static let furtherCallOfTracked = Defaults.trackedBatch / 2

        /// True if the queue's loop has something to send. What was lost is cleared up, and Redis is asked, by one call at a time.
        ///
        /// - Parameter reserved: slots for which the queue may claim.
        @inline(__always)
        func hasCall(_ now: Instant, reserved: Int) -> Bool {
            guard lease.isValid(now) else { return false }
            if calls == 0 { return lease.mustAsk || !outbox.isEmpty || reserved > 0 }
            guard calls < callsAtOnce, !isProbing, !isStuck, !isRepeating else { return false }
            return reserved >= Self.furtherCall || outbox.fillsFurtherCall
        }

        /// Takes note of how long a call took. It keeps the server busy for about a millisecond; for each further one that it travels
        /// another call may be under way.
        ///
        /// - Parameter wasAlone: no other call was under way, so it tells of the way alone.
        mutating func note(roundTrip: Duration, wasAlone: Bool) {
            shortest = wasAlone ? roundTrip : min(roundTrip, shortest ?? roundTrip)
            let travel = Int((shortest ?? .zero) / .milliseconds(1)) - 1
            callsAtOnce = min(Self.mostCallsAtOnce, Self.fewestCallsAtOnce + max(0, travel))
        }

        /// The way may have become longer, and calls that wait for each other do not tell: the next one goes alone.
        mutating func probe() { isProbing = shortest != nil }

        /// It has gone, whatever came of it.
        mutating func endProbe() { isProbing = false }

        @inline(__always)
        func canClaim(_ now: Instant) -> Bool { hasWork && !isStuck && lease.isValid(now) }

        /// Nothing is known to be there, and nothing is under way that would tell.
        @inline(__always)
        func isQuiet(_ now: Instant) -> Bool { !hasWork && !isExchanging && !isStuck && lease.isValid(now) }

        /// Its part in the end of a burst: nothing here, and nothing to be expected.
        func isExhausted(_ burst: WorkerConfiguration.Burst, _ now: Instant) -> Bool {
            guard !hasWork, lease.held.isEmpty, !isExchanging, lease.until != nil else { return false }
            if isPaused { return true }
            guard let nextDue else { return true }
            return burst == .ready && nextDue > now + .seconds(1)
        }
    }
}
