import Operations

/// Growing pauses between tries to reach the broker: 50 ms to 2 s, each half to one and a half times as long by chance.
struct Backoff {
    private static let first: Duration = .milliseconds(50)
    private static let longest: Duration = .seconds(2)
    private var next = Backoff.first

    /// The pause before the next try; the one after it is twice as long.
    mutating func pause(chance: Double = .random(in: 0...1)) -> Duration {
        defer { next = min(next * 2, Self.longest) }
        return next * (0.5 + chance)
    }

    /// After a success.
    mutating func reset() { next = Self.first }
}
