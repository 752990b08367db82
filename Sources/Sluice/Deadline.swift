import Operations

/// When a wait ends, and how long that was when it began.
struct Deadline: Sendable {
    /// What is longer is no limit that a program meets; the sum of instants stays in range.
    private static let longest = Duration.seconds(100 * 365 * 86_400)
    private let total: Duration
    private let instant: ContinuousClock.Instant

    init?(_ timeout: Duration?) {
        guard let timeout else { return nil }
        total = min(max(timeout, .zero), Self.longest)
        instant = .now + total
    }

    /// What is left; not below zero.
    var left: Duration { max(.zero, instant - .now) }

    /// How long it was: `1.5 s`.
    var text: String {
        let seconds = total.inSeconds
        return seconds == seconds.rounded() ? "\(Int64(seconds)) s" : "\(seconds) s"
    }
}
