import Operations

/// The operations that this worker owns in one queue, and for how long. A pure value.
///
/// The lease ends by the local clock, before Redis lets it lapse. Whenever Redis may disagree, the epoch grows and
/// Redis has to be asked. An answer to an earlier epoch no longer counts.
struct Lease: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Whether this worker and Redis agree on what it owns.
    enum Standing: Sendable {
        case agreed
        /// Redis has to be asked, because a claim was not answered or heartbeats count another number of operations.
        /// Held operations may start.
        case unsure
        /// Redis has to be asked, because the lease has lapsed since the last answer. Other workers may own the held
        /// operations, so none of them starts.
        case lapsed
    }

    private(set) var standing = Standing.agreed
    /// Until when this worker is certain to own the operations; nil = no heartbeat was answered yet, or Redis has
    /// refused a claim since.
    private(set) var until: Instant?
    private(set) var epoch = 1
    /// Every operation that Redis should have in this worker's in-flight hash, by fence.
    private(set) var held: [Int64: HeldOperation] = [:]
    /// The highest fence that this worker has ever received here.
    private(set) var highestFence: Int64 = 0
    /// Points for successive heartbeats in which Redis counted another number of operations than are held.
    private var mismatches = 0
    /// While a call is in flight, the numbers may differ for a moment. A busy worker always has one in flight, so many
    /// such heartbeats count as well.
    private static let (pointsIfIdle, pointsIfExchanging, pointsToAsk) = (3, 1, 6)
    /// Cancel requests for operations whose claim has not been answered yet.
    private var earlyCancels: [Int64: OperationCancellation] = [:]
    /// The newest forced cancels of operations that are not held.
    private var forced: [Int64: OperationCancellation] = [:]
    /// Operations that are no longer held while their bodies run, by fence: ended by a forced cancel, or lost.
    private(set) var fenced: [Int64: HeldOperation] = [:]

    // The small members below are used at every end, and a call would copy the value.

    @inline(__always)
    func isValid(_ now: Instant) -> Bool { until.map { now < $0 } ?? false }

    /// True if held operations may start.
    @inline(__always)
    func mayStart(_ now: Instant) -> Bool { standing != .lapsed && isValid(now) }

    /// True if Redis has to be asked what this worker owns before anything else is sent.
    @inline(__always)
    var mustAsk: Bool { standing != .agreed }

    // MARK: Time

    /// Notes that a heartbeat was answered.
    ///
    /// After a lapse other workers may own the held operations. Asking Redis is cheaper than finding out one by one.
    ///
    /// - Parameters:
    ///   - until: when the lease now ends.
    ///   - counted: how many operations Redis has in this worker's in-flight hash.
    ///   - isExchanging: true if a call is in flight, so that the number proves little.
    ///   - mayOwnMore: true if an answer that is still to come may bring operations.
    /// - Returns: true if Redis has to be asked what this worker owns.
    mutating func renew(until end: Instant, counted: Int, isExchanging: Bool, mayOwnMore: Bool, _ now: Instant) -> Bool
    {
        let hasLapsed = until.map { $0 <= now } ?? (!held.isEmpty || isExchanging || mayOwnMore)
        if hasLapsed {
            raiseEpoch()
            standing = .lapsed
        }
        until = max(end, until ?? end)
        earlyCancels.removeAll()  // the reply repeats those that still count
        let points = isExchanging ? Self.pointsIfExchanging : Self.pointsIfIdle
        mismatches = counted == held.count ? 0 : mismatches + points
        let mustAsk = mismatches >= Self.pointsToAsk
        // In a new epoch: a late answer must not bring the operations of the reconcile call a second time.
        if mustAsk { raiseEpoch() }
        return hasLapsed || mustAsk
    }

    /// Notes that Redis has refused a claim: this worker has no lease.
    mutating func refuse() { until = nil }

    /// Notes that it is uncertain what this worker owns.
    mutating func raiseEpoch() {
        epoch += 1
        becomeUnsure()
    }

    private mutating func becomeUnsure() { if standing == .agreed { standing = .unsure } }

    // MARK: What is owned

    /// Adds a claimed operation.
    ///
    /// - Returns: whether the operation is new, and the operation that it replaces. Another operation under the same
    ///   fence means that Redis has lost its last writes, and with them the claim of the first one.
    mutating func take(_ operation: HeldOperation) -> (isNew: Bool, replaced: HeldOperation?) {
        let known = held[operation.fence]
        if let known, known.id == operation.id { return (false, nil) }
        held[operation.fence] = operation
        highestFence = max(highestFence, operation.fence)
        return (true, known)
    }

    /// Removes operations whose ends Redis has confirmed or refused.
    mutating func confirm(_ ended: [Ended]) {
        for each in ended { held[each.operation.fence] = nil }
    }

    /// Notes the answer of a reconcile call.
    ///
    /// - Parameters:
    ///   - epoch: the epoch of the call. An answer to an earlier epoch says nothing about the time after.
    ///   - more: true if another reconcile call has to follow.
    mutating func answered(epoch asked: Int, more: Bool) {
        mismatches = 0
        guard asked == epoch else { return becomeUnsure() }
        standing = more ? .unsure : .agreed
    }

    /// Removes operations that other workers own now.
    ///
    /// - Returns: the operations that were held.
    mutating func lose(_ fences: [Int64]) -> [HeldOperation] {
        let lost = fences.compactMap { held.removeValue(forKey: $0) }
        for operation in lost where operation.hasSlot { fenced[operation.fence] = operation }
        return lost
    }

    // MARK: Cancel requests

    /// Notes a cancel request for an operation that is not held: the answer to its claim may still be in flight.
    mutating func noteEarlyCancel(_ request: FencedCancel) {
        if earlyCancels.count < SluiceDefaults.batch { earlyCancels[request.fence] = request.cancellation }
    }

    /// Removes an operation that a forced cancel has ended.
    mutating func fence(_ operation: HeldOperation) {
        held[operation.fence] = nil
        if operation.hasSlot { fenced[operation.fence] = operation }
    }

    /// Notes a forced cancel of an operation that is not held. The operation does not start if its claim is answered
    /// later.
    mutating func noteForced(_ request: FencedCancel) {
        forced[request.fence] = request.cancellation
        if forced.count > SluiceDefaults.batch, let oldest = forced.keys.min() { forced[oldest] = nil }
    }

    /// Notes that the body of an operation that is no longer held has returned.
    ///
    /// - Returns: false if no such operation is known, or its return was noted before.
    mutating func fencedBodyReturned(_ operation: HeldOperation) -> Bool {
        guard fenced[operation.fence] === operation else { return false }
        fenced[operation.fence] = nil
        return true
    }

    /// Takes a cancel request that came before its operation.
    mutating func takeEarlyCancel(_ fence: Int64) -> OperationCancellation? {
        earlyCancels.removeValue(forKey: fence) ?? forced[fence]
    }
}
