import Operations

/// Operations that have ended here and whose ends Redis has not confirmed. A pure value.
///
/// Unanswered ends come back, and are sent first and alone, under the same fences.
struct Outbox: Sendable {
    /// The ends in sending order.
    private(set) var ended: [Ended] = []
    /// Since when ends wait for Redis, as far as a heartbeat or an unanswered call has noticed; nil = none waits.
    private(set) var waitsSince: ContinuousClock.Instant?

    @inline(__always)
    var isEmpty: Bool { ended.isEmpty }

    /// True if the next batch repeats unanswered ends.
    @inline(__always)
    var isRepeat: Bool { ended.first?.isRepeat == true }

    /// True if the ends are worth a further call while another call is in flight.
    @inline(__always)
    var fillsFurtherCall: Bool {
        guard let first = ended.first else { return false }
        return ended.count
            >= (first.effort == 0 ? Calls.leastInFurther : Calls.leastTrackedInFurther)
    }

    /// Adds an operation that was not sent before.
    mutating func add(_ operation: HeldOperation, _ settlement: Settlement) {
        ended.append(Ended(operation: operation, settlement: settlement))
    }

    /// Takes the ends for one call: at most a batch and 1 MiB. The number of tracked operations is limited as well,
    /// because it determines how long the server works. A failure or a return costs as much as two completions.
    mutating func takeBatch() -> [Ended] {
        let count = countBatch()
        var batch: [Ended] = []
        if count == ended.count {
            swap(&batch, &ended)
        } else {
            batch = Array(ended.prefix(count))
            ended.removeFirst(count)
        }
        return batch
    }

    private func countBatch() -> Int {
        let (most, isRepeat) = (min(ended.count, SluiceDefaults.batch), isRepeat)
        var (bytes, effort, count) = (0, 0, 0)
        while count < most {
            let next = ended[count]
            if next.isRepeat != isRepeat { break }
            bytes += next.byteCount
            effort += next.effort
            if count > 0, bytes > SluiceDefaults.operationBytes || effort > SluiceDefaults.trackedBatch { break }
            count += 1
        }
        return count
    }

    /// Puts unanswered ends back, to be repeated.
    mutating func putBack(_ unanswered: [Ended], _ now: ContinuousClock.Instant) {
        if !unanswered.isEmpty { waitsSince = waitsSince ?? now }
        ended.insert(
            contentsOf: unanswered.map { Ended(operation: $0.operation, settlement: $0.settlement, isRepeat: true) },
            at: 0
        )
    }
    /// Notes that Redis has answered all ends of a call.
    @inline(__always)
    mutating func answered() { if waitsSince != nil { waitsSince = nil } }

    /// Returns how long ends have waited for Redis; zero = none waits. Called with each heartbeat, so that ends count
    /// that cannot be sent without a lease.
    mutating func age(_ now: ContinuousClock.Instant) -> Duration {
        if !ended.isEmpty { waitsSince = waitsSince ?? now }
        return waitsSince.map { now - $0 } ?? .zero
    }
}
