import Operations

/// The knowledge of this worker about a queue's operations in Redis. A pure value.
struct Supply: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum State: Sendable {
        /// Operations are believed to be ready.
        case ready
        /// Nothing is known to be ready: a wake-up token, a heartbeat or the next due time brings news.
        case quiet
        /// As many operations of the queue run as its limits allow. A wake-up token or a heartbeat reports when one has
        /// ended.
        case limited
        /// The queue is paused. Nothing is claimed before a wake-up token or a heartbeat brings news.
        case paused
    }

    /// The time between two claims of a queue while other queues keep all slots busy.
    static let lookInterval: Duration = .milliseconds(100)

    /// Ready at first, because only a claim shows more.
    private(set) var state = State.ready
    /// When the next scheduled or retrying operation is due.
    private(set) var nextDue: Instant?
    /// When a claim last reported on ready operations; nil = never.
    private(set) var askedAt: Instant?
    /// True if the last claim was answered with a limit.
    private var wasLimited = false
    /// True if the end of an operation is the only reason to believe that something is ready.
    private var expectsSuccessor = false
    /// The number of wake-up tokens that were taken. The answer to a call that was sent before a token is older than
    /// the token.
    private(set) var wakes = 0

    /// Notes that something may be ready, because of a heartbeat, a due time or a lost answer.
    mutating func expectWork() { state = .ready }

    /// True if other operations may start because of this operation's end: it frees a place of a limit, dependents, or
    /// the next operation of a key. False if more operations are ready than the worker has slots.
    @inline(__always)
    func mayHaveSuccessor(_ header: OperationHeader) -> Bool {
        if wasLimited { return state != .paused }
        return (state == .quiet || expectsSuccessor) && (header.linked || header.hasLimitKey)
    }

    /// Notes the end of an operation that may have a successor. An answer to an earlier call says nothing about the
    /// successor.
    ///
    /// - Returns: false if the operation has none; nothing is noted.
    mutating func expectSuccessor(of header: OperationHeader) -> Bool {
        guard mayHaveSuccessor(header) else { return false }
        wake()
        expectsSuccessor = true
        return true
    }

    /// True if no claim has asked for a long time: operations may be ready that this worker does not know of.
    func isUnwatched(_ now: Instant) -> Bool {
        state != .paused && askedAt.map { $0 + Self.lookInterval <= now } ?? false
    }

    /// Notes how many operations the queue's limits still allow, as a heartbeat says.
    mutating func learn(_ room: Room?) { if state == .limited, room?.left != 0 { state = .ready } }

    /// Notes that a wake-up token was taken.
    mutating func wake() {
        state = .ready
        wakes += 1
    }

    /// Notes that operations are ready, if the next due time has come.
    mutating func promote(_ now: Instant) {
        guard let due = nextDue, due <= now else { return }
        nextDue = nil
        state = .ready
    }

    /// Notes what the latest answer says.
    ///
    /// - Parameters:
    ///   - wokenMeanwhile: true if a wake-up token was taken since the call was sent: the token may be newer.
    ///   - expectsMore: true if something else reports work, such as unhandled operations.
    mutating func learn(_ claim: Claim, wokenMeanwhile: Bool, expectsMore: Bool, _ now: Instant) {
        askedAt = now
        expectsSuccessor = false
        if claim.status == .ok || claim.status == .limited { wasLimited = claim.status == .limited }
        nextDue = claim.nextDueMilliseconds.map { now + .milliseconds($0) }
        let isDue = claim.nextDueMilliseconds == 0
        switch claim.status {
        // A claim promotes a bounded part of the due operations: the next claim continues at once.
        case .ok: state = claim.more || isDue || wokenMeanwhile || expectsMore ? .ready : .quiet
        case .limited: state = isDue || wokenMeanwhile ? .ready : .limited
        case .paused: state = .paused
        case .staleEpoch: state = .ready
        // No news about the queue. Only a claim that waits for a wake-up token is refused as busy.
        case .noLease, .busy: if state == .paused { state = .quiet }
        }
    }

    /// Notes one of several answers, if it is unknown which of them Redis gave last.
    mutating func learnOneOfSeveral(_ claim: Claim, _ now: Instant) {
        if claim.more || claim.nextDueMilliseconds == 0 { wake() }
        guard let due = claim.nextDueMilliseconds.map({ now + .milliseconds($0) }) else { return }
        nextDue = .earlier(due, nextDue)
    }
}
