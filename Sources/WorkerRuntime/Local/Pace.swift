import Operations

/// How long the operations of one queue take, and so how many may be claimed ahead of a free slot.
///
/// Only very short ones are claimed ahead: then a round trip costs more than the work. What is claimed ahead is never more
/// than about two milliseconds of work, so it hardly waits here while another worker is idle.
struct Pace: Sendable {
    private static let longest: Duration = .milliseconds(1)
    private static let window = 0.002
    private static let samplesNeeded = 16
    /// Eight batches: some are worked on while others are on their way, however long that is.
    private static let most = 8 * Defaults.batch
    private var mean = 0.0
    private var samples = 0

    /// Takes note of one run.
    mutating func note(_ duration: Duration) {
        let seconds = duration.inSeconds
        samples += 1
        mean += (seconds - mean) / Double(min(samples, Self.samplesNeeded))
    }

    /// After a stall: begin to learn again.
    mutating func forget() { self = Pace() }

    /// They are known to be very short.
    var isShort: Bool { samples >= Self.samplesNeeded && mean < Self.longest.inSeconds }

    /// Operations that may be held without a slot.
    func prefetch(slots: Int) -> Int {
        guard isShort else { return 0 }
        return min(Self.most, Int(Double(slots) * Self.window / max(mean, 1e-7)))
    }
}
