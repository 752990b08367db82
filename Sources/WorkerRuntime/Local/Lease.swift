import Operations

/// What this worker owns in one queue, and for how long. A pure value.
///
/// The lease ends by the local clock, before Redis lets it lapse. Whenever Redis may know otherwise, the epoch grows and Redis has to be asked:
/// an answer to an earlier epoch counts no more.
struct Lease: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Whether this worker and Redis agree on what it owns.
    enum Standing: Sendable {
        case agreed
        /// Redis has to be asked: a claim was not answered, or heartbeats count another number of operations. What is held may start.
        case unsure
        /// Redis has to be asked: the lease has lapsed since it last was. Other workers may own what is held, so nothing of it starts.
        case lapsed
    }

    private(set) var standing = Standing.agreed
    /// Until when this worker knows itself to be the owner; nil = no heartbeat was answered yet, or Redis has refused a claim since.
    private(set) var until: Instant?
    private(set) var epoch = 1
    /// Everything that Redis should have in this worker's in-flight hash, by fence.
    private(set) var held: [Int64: HeldOperation] = [:]
    /// The highest fence that this worker was ever given here.
    private(set) var highestFence: Int64 = 0
    /// Successive heartbeats in which Redis counted another number of operations than are held, in points.
    private var mismatches = 0
    /// While a call is under way the number may differ for a moment. On a busy worker one always is, so many such heartbeats count, too.
    private static let (pointsIfIdle, pointsIfExchanging, pointsToAsk) = (3, 1, 6)
    /// Cancel requests for operations whose claim has not been answered yet.
    private var earlyCancels: [Int64: Cancellation] = [:]
    /// The newest forced cancels of operations that are not held.
    private var forced: [Int64: Cancellation] = [:]
    /// Operations that are not held any more while their bodies run, by fence, until the bodies have returned: ended by a forced cancel, or lost.
    private(set) var fenced: [Int64: HeldOperation] = [:]

    // The small ones below are asked at every end, and a call would copy the value.

    @inline(__always)
    func isValid(_ now: Instant) -> Bool { until.map { now < $0 } ?? false }

    /// True if what is held may start.
    @inline(__always)
    func mayStart(_ now: Instant) -> Bool { standing != .lapsed && isValid(now) }

    /// True if Redis has to be asked what this worker owns before anything else is sent.
    @inline(__always)
    var mustAsk: Bool { standing != .agreed }

    // MARK: Time

    /// A heartbeat was answered.
    ///
    /// After a lapse other workers may own what is held here, and asking is cheaper than finding out one by one.
    ///
    /// - Parameters:
    ///   - until: when the lease now ends.
    ///   - counted: how many operations Redis has in this worker's in-flight hash.
    ///   - isExchanging: a call is under way, so that the number proves little.
    ///   - mayOwnMore: an answer that is still to come may bring operations.
    /// - Returns: true if Redis has to be asked what this worker owns.
    mutating func renew(until end: Instant, counted: Int, isExchanging: Bool, mayOwnMore: Bool, _ now: Instant) -> Bool
    {
        let hasLapsed = until.map { $0 <= now } ?? (!held.isEmpty || isExchanging || mayOwnMore)
        if hasLapsed {
            raiseEpoch()
            standing = .lapsed
        }
        until = max(end, until ?? end)
        earlyCancels.removeAll()  // this reply repeats those that still count
        let points = isExchanging ? Self.pointsIfExchanging : Self.pointsIfIdle
        mismatches = counted == held.count ? 0 : mismatches + points
        let mustAsk = mismatches >= Self.pointsToAsk
        // In a new epoch: an answer that is still to come must not bring what is found now a second time.
        if mustAsk { raiseEpoch() }
        return hasLapsed || mustAsk
    }

    /// Redis has refused a claim: this worker has no lease.
    mutating func refuse() { until = nil }

    /// What this worker owns has become uncertain.
    mutating func raiseEpoch() {
        epoch += 1
        becomeUnsure()
    }

    private mutating func becomeUnsure() { if standing == .agreed { standing = .unsure } }

    // MARK: What is owned

    /// Adds an operation that Redis has handed out.
    ///
    /// - Returns: whether it is new, and the one that it replaces: another operation under the same fence means that Redis has lost its
    ///   last writes, and with them the claim of the first one.
    mutating func take(_ operation: HeldOperation) -> (isNew: Bool, replaced: HeldOperation?) {
        let known = held[operation.fence]
        if let known, known.id == operation.id { return (false, nil) }
        held[operation.fence] = operation
        highestFence = max(highestFence, operation.fence)
        return (true, known)
    }

    /// Redis has confirmed or refused these ends: it holds the operations no longer.
    mutating func confirm(_ ended: [Ended]) {
        for each in ended { held[each.operation.fence] = nil }
    }

    /// Redis has said what this worker owns.
    ///
    /// - Parameters:
    ///   - epoch: the epoch in which it was asked. An answer to an earlier one says nothing about the time after.
    ///   - more: there is more to ask for.
    mutating func answered(epoch asked: Int, more: Bool) {
        mismatches = 0
        guard asked == epoch else { return becomeUnsure() }
        standing = more ? .unsure : .agreed
    }

    /// Other workers own these now.
    ///
    /// - Returns: those that were held.
    mutating func lose(_ fences: [Int64]) -> [HeldOperation] {
        let lost = fences.compactMap { held.removeValue(forKey: $0) }
        for operation in lost where operation.hasSlot { fenced[operation.fence] = operation }
        return lost
    }

    // MARK: Cancel requests

    /// Notes a cancel request for an operation that is not held: the answer to its claim may still be under way.
    mutating func noteEarlyCancel(_ order: CancelOrder) {
        if earlyCancels.count < Defaults.batch { earlyCancels[order.fence] = order.cancellation }
    }

    /// A forced cancel has ended an operation: it is held no longer.
    mutating func fence(_ operation: HeldOperation) {
        held[operation.fence] = nil
        if operation.hasSlot { fenced[operation.fence] = operation }
    }

    /// Notes a forced cancel of an operation that is not held, so that it does not start should its claim be answered later.
    mutating func noteForced(_ order: CancelOrder) {
        forced[order.fence] = order.cancellation
        if forced.count > Defaults.batch, let oldest = forced.keys.min() { forced[oldest] = nil }
    }

    /// The body of an operation that is not held any more has returned.
    ///
    /// - Returns: false if there is no such operation, or its end was noted before.
    mutating func fencedBodyReturned(_ operation: HeldOperation) -> Bool {
        guard fenced[operation.fence] === operation else { return false }
        fenced[operation.fence] = nil
        return true
    }

    /// Takes a cancel request that came before the operation did.
    mutating func takeEarlyCancel(_ fence: Int64) -> Cancellation? {
        earlyCancels.removeValue(forKey: fence) ?? forced[fence]
    }
}
