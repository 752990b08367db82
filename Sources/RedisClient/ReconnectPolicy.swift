/// How long to wait before the next try: doubles from the minimum to the maximum, with jitter, and begins anew only
/// after a connection that lived as long as the pause before it. A pure value.
struct ReconnectPolicy: Sendable {
    let minimum: Duration
    let maximum: Duration
    private var failures = 0
    /// The last pause, without chance.
    private var paused = Duration.zero

    /// True for the first, second, fourth, eighth … failure: an outage of hours is no flood of warnings.
    var isNoteworthy: Bool { failures & (failures - 1) == 0 }

    init(minimum: Duration, maximum: Duration) {
        self.minimum = minimum
        self.maximum = maximum
    }

    /// The pause before the next try.
    /// - Parameter random: 0 to 1; half of each pause is chance, so that clients that were cut together do not
    ///   return together.
    mutating func nextPause(random: Double) -> Duration {
        let full = min(maximum, minimum * (1 << min(failures, 20)))
        failures += 1
        paused = full
        return full * (0.5 + random / 2)
    }

    /// A connection that ended at once (a replica that refuses writes, a crashing server) counts as a failed try. One that was of use for
    /// longer than it was waited for does not, so that a line which breaks twice a second is still mostly there.
    mutating func connectionEnded(afterLiving life: Duration) {
        if life >= min(maximum, max(paused, minimum * 2)) { failures = 0 }
    }
}
