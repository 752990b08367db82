import Operations

/// What this worker knows of a queue's operations in Redis. A pure value.
struct Supply: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum State: Sendable {
        /// Something is believed to be ready.
        case ready
        /// Nothing is known to be ready: a wake-up token, a heartbeat or the next due time says more.
        case quiet
        /// As many operations of the queue run as may; a wake-up token or a heartbeat says when one has ended.
        case limited
        /// The queue is paused, and nothing is claimed before a wake-up token or a heartbeat says more.
        case paused
    }

    /// A queue is asked so often for what is ready while other queues keep all slots busy.
    static let lookInterval: Duration = .milliseconds(100)

    /// Ready at first: only a claim tells.
    private(set) var state = State.ready
    /// When the next scheduled or retrying operation is due.
    private(set) var nextDue: Instant?
    /// When a claim last said what is ready; nil = none did.
    private(set) var askedAt: Instant?
    /// The last claim was answered with a limit.
    private var wasLimited = false
    /// Something is believed to be ready because an operation has ended, and for no other reason.
    private var expectsSuccessor = false
    /// How many wake-up tokens were taken: what the answer to a call says about work that was sent before is older than the token.
    private(set) var wakes = 0

    /// Something may be ready, as a heartbeat, a due time or a lost answer says.
    mutating func expectWork() { state = .ready }

    /// Whether other operations may start because of the end of this one: an end frees a place of a limit, and releases dependents and the next
    /// operation of a key. False also where more is ready than the worker has slots.
    @inline(__always)
    func mayHaveSuccessor(_ header: OperationHeader) -> Bool {
        if wasLimited { return state != .paused }
        return (state == .quiet || expectsSuccessor) && (header.linked || header.hasLimitKey)
    }

    /// An operation that may have a successor has ended. An answer to a call that was sent before says nothing about this.
    mutating func expectSuccessor() {
        wake()
        expectsSuccessor = true
    }

    /// True if no claim has asked for long, so that something may be ready of which this worker knows nothing.
    func isUnwatched(_ now: Instant) -> Bool {
        state != .paused && askedAt.map { $0 + Self.lookInterval <= now } ?? false
    }

    /// A heartbeat says what the queue's limits leave.
    mutating func learn(_ room: Room?) { if state == .limited, room?.left != 0 { state = .ready } }

    /// A wake-up token was taken.
    mutating func wake() {
        state = .ready
        wakes += 1
    }

    /// The next due time has come.
    mutating func promote(_ now: Instant) {
        guard let due = nextDue, due <= now else { return }
        nextDue = nil
        state = .ready
    }

    /// Notes what the latest answer says.
    ///
    /// - Parameters:
    ///   - wokenMeanwhile: a wake-up token was taken since the call was sent: the token may be newer.
    ///   - expectsMore: something else says that there is work, as unhandled operations do.
    mutating func learn(_ claim: Claim, wokenMeanwhile: Bool, expectsMore: Bool, _ now: Instant) {
        askedAt = now
        expectsSuccessor = false
        if claim.status == .ok || claim.status == .limited { wasLimited = claim.status == .limited }
        nextDue = claim.nextDueMilliseconds.map { now + .milliseconds($0) }
        let isDue = claim.nextDueMilliseconds == 0
        switch claim.status {
        // A claim promotes a bounded part of what is due: the next one goes on at once.
        case .ok: state = claim.more || isDue || wokenMeanwhile || expectsMore ? .ready : .quiet
        case .limited: state = isDue || wokenMeanwhile ? .ready : .limited
        case .paused: state = .paused
        case .staleEpoch: state = .ready
        // These say nothing of the queue. Only a claim that waits for a wake-up token is refused as busy.
        case .noLease, .busy: if state == .paused { state = .quiet }
        }
    }

    /// Notes what one of several answers says, when it is not known which of them Redis gave last.
    mutating func learnOneOfSeveral(_ claim: Claim, _ now: Instant) {
        if claim.more || claim.nextDueMilliseconds == 0 { wake() }
        guard let due = claim.nextDueMilliseconds.map({ now + .milliseconds($0) }) else { return }
        nextDue = .earlier(due, nextDue)
    }
}
