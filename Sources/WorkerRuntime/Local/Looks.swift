/// Decides when a worker whose slots are all in use checks a queue that it does not listen to. A pure value.
///
/// A check uses a slot for one round trip. So at most one check follows 20 starts, or 100 ms with fewer starts. A busy
/// worker with few queues checks each of them every 100 ms; checks of a thousand queues are spread over seconds.
struct Looks: Sendable {
    typealias Instant = ContinuousClock.Instant

    private static let shortest: Duration = .milliseconds(5)
    private static let startsBetween = 20

    private var last: Instant?
    private var interval = Supply.lookInterval
    private var startsAtLast = 0

    /// True if a look is due.
    ///
    /// - Parameter starts: the number of operations that the worker has started so far.
    func isTime(_ now: Instant, starts: Int) -> Bool {
        guard let last else { return true }
        return now >= last + (starts - startsAtLast >= Self.startsBetween ? interval : Supply.lookInterval)
    }

    /// Notes a look.
    mutating func next(_ now: Instant, queues: Int, starts: Int) {
        interval = max(Self.shortest, Supply.lookInterval / queues)
        (last, startsAtLast) = (now, starts)
    }
}
