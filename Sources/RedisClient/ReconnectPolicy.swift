/// The pause before the next try to connect. It doubles from the minimum to the maximum, with jitter, and starts again at the minimum
/// only after a connection that lived as long as the pause before it. A pure value.
struct ReconnectPolicy: Sendable {
    let minimum: Duration
    let maximum: Duration
    private var failures = 0
    /// The last pause, without jitter.
    private var paused = Duration.zero

    /// True for the first, second, fourth, eighth … failure, so that a long outage logs few warnings.
    var isNoteworthy: Bool { failures & (failures - 1) == 0 }

    init(minimum: Duration, maximum: Duration) {
        self.minimum = minimum
        self.maximum = maximum
    }

    /// The pause before the next try.
    /// - Parameter random: 0 to 1. Half of each pause is random, so that clients which lost their connections together do not reconnect
    ///   together.
    mutating func nextPause(random: Double) -> Duration {
        let full = min(maximum, minimum * (1 << min(failures, 20)))
        failures += 1
        paused = full
        return full * (0.5 + random / 2)
    }

    /// A connection that ended at once (a replica that refuses writes, a crashing server) counts as a failed try. One that lived longer
    /// than the pause before it does not: a network that fails twice a second then stays usable most of the time.
    mutating func connectionEnded(afterLiving life: Duration) {
        if life >= min(maximum, max(paused, minimum * 2)) { failures = 0 }
    }
}
