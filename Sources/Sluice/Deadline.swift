import Operations

/// The end of a wait, and the length of the wait.
struct Deadline: Sendable {
    /// Longer timeouts count as 100 years, so that the sum with an instant stays in range.
    private static let longest = Duration.seconds(100 * 365 * 86_400)
    private let total: Duration
    private let instant: ContinuousClock.Instant

    init?(_ timeout: Duration?) {
        guard let timeout else { return nil }
        total = min(max(timeout, .zero), Self.longest)
        instant = .now + total
    }

    /// The time that is left; never below zero.
    var left: Duration { max(.zero, instant - .now) }

    /// The length of the whole wait as text, such as `1.5 s`.
    var text: String {
        let seconds = total.inSeconds
        return seconds == seconds.rounded() ? "\(Int64(seconds)) s" : "\(seconds) s"
    }
}
