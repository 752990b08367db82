/// The number of attempts, and the pauses between them.
public struct RetryPolicy: Sendable, Equatable {
    /// How often the operation may run before it is dead, 1 to 999.
    public var attempts: Int
    /// The pause after the first failed attempt; it doubles with each further one.
    public var base: Duration
    /// The longest pause, before jitter.
    public var ceiling: Duration

    /// Makes a policy; parameters that are left out have defaults.
    public init(
        attempts: Int = SluiceDefaults.attempts,
        base: Duration = SluiceDefaults.backoffBase,
        ceiling: Duration = SluiceDefaults.backoffCeiling
    ) {
        self.attempts = attempts
        self.base = base
        self.ceiling = ceiling
    }

    /// One attempt only.
    public static let never = RetryPolicy(attempts: 1)

    /// Returns the pause after a failed attempt: `min(ceiling, base · 2^(attempt−1))`, plus a random part of up to half
    /// of it.
    ///
    /// The random part prevents that operations that failed together are retried together.
    ///
    /// - Parameters:
    ///   - attempt: the attempt that failed, from 1.
    ///   - chance: a number from 0 to 1 that sets the random part.
    public func delay(afterAttempt attempt: Int, chance: Double = .random(in: 0...1)) -> Duration {
        // Double step by step: `attempt` comes from outside, and a large one must not overflow.
        let longest = min(max(ceiling, .zero), SluiceDefaults.longestDuration)
        var pause = min(max(base, .zero), longest)
        for _ in 0..<min(max(attempt - 1, 0), 40) { pause = min(pause * 2, longest) }
        return pause + pause * (chance * SluiceDefaults.backoffJitter)
    }
}

/// A producer's attempts and pauses. Nil = the value of the operation's type, in the worker that runs it.
package struct RetryOverrides: Sendable, Equatable {
    /// How often the operation may run before it is dead, 1 to 999.
    package var attempts: Int?
    /// The pause after the first failed attempt.
    package var base: Duration?
    /// The longest pause, before the random part.
    package var ceiling: Duration?

    /// Makes overrides. The operation's type decides values that are left out.
    package init(attempts: Int? = nil, base: Duration? = nil, ceiling: Duration? = nil) {
        self.attempts = attempts
        self.base = base
        self.ceiling = ceiling
    }

    /// Makes overrides from the values in which a policy differs from the defaults.
    package init(_ policy: RetryPolicy) {
        let defaults = RetryPolicy()
        attempts = policy.attempts == defaults.attempts ? nil : policy.attempts
        base = policy.base == defaults.base ? nil : policy.base
        ceiling = policy.ceiling == defaults.ceiling ? nil : policy.ceiling
    }

    /// Returns the type's policy with these overrides applied.
    package func applied(to policy: RetryPolicy) -> RetryPolicy {
        RetryPolicy(
            attempts: attempts ?? policy.attempts,
            base: base ?? policy.base,
            ceiling: ceiling ?? policy.ceiling
        )
    }
}
