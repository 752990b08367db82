/// The pause before the next try to connect. A pure value.
///
/// Pauses double from the minimum to the maximum, with jitter. Only a connection that lived as long as the pause before
/// it resets the pause to the minimum.
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
    /// - Parameter random: 0 to 1. Half of each pause is random. Clients that lost their connections together thus
    ///   reconnect at different times.
    mutating func nextPause(random: Double) -> Duration {
        let full = min(maximum, minimum * (1 << min(failures, 20)))
        failures += 1
        paused = full
        return full * (0.5 + random / 2)
    }

    /// Notes the end of a connection. A short life counts as a failed try: a replica that refuses writes, or a crashing
    /// server. A life as long as the pause before it, and twice the minimum, does not count. A network that fails twice
    /// a second then stays usable most of the time.
    mutating func connectionEnded(afterLiving life: Duration) {
        if life >= min(maximum, max(paused, minimum * 2)) { failures = 0 }
    }
}
