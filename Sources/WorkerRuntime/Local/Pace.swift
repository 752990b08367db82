import Operations

/// How long the operations of one queue take, and how many may therefore be claimed ahead of a free slot.
///
/// Only very short operations are claimed ahead, because for them a round trip costs more than the work. The worker
/// claims at most about two milliseconds of work ahead, which hardly waits here while another worker is idle.
struct Pace: Sendable {
    private static let longest: Duration = .milliseconds(1)
    private static let window = 0.002
    private static let samplesNeeded = 16
    /// Eight batches: the worker runs some of them while others are in flight, even with a long round trip.
    private static let most = 8 * SluiceDefaults.batch
    private var mean = 0.0
    private var samples = 0

    /// Notes the duration of one run.
    mutating func note(_ duration: Duration) {
        let seconds = duration.inSeconds
        samples += 1
        mean += (seconds - mean) / Double(min(samples, Self.samplesNeeded))
    }

    /// Begins to learn again, after a stall.
    mutating func forget() { self = Pace() }

    /// True if the operations are known to be very short.
    var isShort: Bool { samples >= Self.samplesNeeded && mean < Self.longest.inSeconds }

    /// Returns the number of operations that may be held without a slot.
    func prefetch(slots: Int) -> Int {
        guard isShort else { return 0 }
        return min(Self.most, Int(Double(slots) * Self.window / max(mean, 1e-7)))
    }
}
