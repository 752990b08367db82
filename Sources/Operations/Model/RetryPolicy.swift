/// When a failed attempt is followed by another one.
public struct RetryPolicy: Sendable, Equatable {
    /// How often the operation may run before it is dead, 1 to 999.
    public var attempts: Int
    /// Pause after the first failed attempt; it doubles with each further one.
    public var base: Duration
    /// The longest pause, before the part that chance adds.
    public var ceiling: Duration

    public init(
        attempts: Int = Defaults.attempts,
        base: Duration = Defaults.backoffBase,
        ceiling: Duration = Defaults.backoffCeiling
    ) {
        self.attempts = attempts
        self.base = base
        self.ceiling = ceiling
    }

    /// One run only.
    public static let never = RetryPolicy(attempts: 1)

    /// The pause after a failed attempt: `min(ceiling, base · 2^(attempt−1))` and up to half as much again, by chance,
    /// so that operations that failed together do not come back together.
    ///
    /// - Parameters:
    ///   - attempt: the attempt that failed, from 1.
    ///   - chance: a number from 0 to 1.
    public func delay(afterAttempt attempt: Int, chance: Double = .random(in: 0...1)) -> Duration {
        let doublings = min(max(attempt - 1, 0), 40)
        let pause = min(ceiling, base * (1 << doublings))
        return pause + pause * (chance * Defaults.backoffJitter)
    }
}
