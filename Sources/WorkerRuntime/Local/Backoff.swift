import Operations

/// Growing pauses between attempts to reach the broker: 50 ms to 2 s, each multiplied by a random factor of 0.5 to 1.5.
struct Backoff {
    private static let first: Duration = .milliseconds(50)
    private static let longest: Duration = .seconds(2)
    private var next = Backoff.first

    /// Returns the pause before the next attempt. The pause after it is twice as long.
    mutating func pause(chance: Double = .random(in: 0...1)) -> Duration {
        defer { next = min(next * 2, Self.longest) }
        return next * (0.5 + chance)
    }

    /// Begins again with the shortest pause, after a success.
    mutating func reset() { next = Self.first }
}
