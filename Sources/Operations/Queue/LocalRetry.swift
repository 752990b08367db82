/// What follows an attempt that threw.
public enum RetryDecision: Sendable, Equatable {
    /// Another attempt after a pause, during which the operation holds no slot.
    case after(Duration)
    /// The work is no longer wanted: the operation ends as cancelled.
    case discard
    /// No further attempt: the operation is dead.
    case dead
}

/// An error that knows when another attempt makes sense, such as an HTTP response with `Retry-After`.
public protocol RetryTiming: Error {
    /// The least pause before the next attempt; nil = as the policy says. A pause of the policy that is longer holds. To decide alone, adopt
    /// `RetryDeciding`.
    var retryAfter: Duration? { get }
}

/// What follows when the body of a local operation throws.
///
/// An error may have its say: `OperationFailing.isRetryable` false ends it at once, `RetryTiming.retryAfter` lengthens the pause.
public struct LocalRetry: Sendable {
    let isNever: Bool
    /// What it was made from, if it was.
    let policy: RetryPolicy?
    let decision: @Sendable (any Error, Int) -> RetryDecision

    /// A body that throws is dead: the default, as a closure seldom expects to run twice.
    public static let never = LocalRetry(isNever: true) { _, _ in .dead }

    /// Attempts and pauses of a policy.
    ///
    /// - Parameter policy: how often, and how long between.
    public init(_ policy: RetryPolicy) {
        self.init(isNever: policy.attempts <= 1, policy: policy) { policy.decision(for: $0, attempt: $1) }
    }

    /// Decides by error and attempt. Called outside of all locks.
    ///
    /// - Parameter decision: takes what the body threw and the number of the attempt, from 1.
    public init(_ decision: @escaping @Sendable (_ error: any Error, _ attempt: Int) -> RetryDecision) {
        self.init(isNever: false, decision: decision)
    }

    private init(
        isNever: Bool,
        policy: RetryPolicy? = nil,
        decision: @escaping @Sendable (any Error, Int) -> RetryDecision
    ) {
        self.isNever = isNever
        self.policy = policy
        self.decision = decision
    }

    func callAsFunction(_ error: any Error, attempt: Int) -> RetryDecision { decision(error, attempt) }
}

extension RetryPolicy {
    /// What follows an error: an error may say that another attempt is pointless, or how long to wait at least.
    package func decision(for error: any Error, attempt: Int) -> RetryDecision {
        guard error.isRetryable, attempt < attempts else { return .dead }
        let pause = delay(afterAttempt: attempt)
        // A wish from outside, such as a server's, lengthens the pause. If it could shorten it, "Retry-After: 0" would use up all attempts
        // within milliseconds.
        guard let wish = (error as? any RetryTiming)?.retryAfter else { return .after(pause) }
        return .after(max(pause, wish.limited))
    }
}

extension Error {
    /// False if the error says itself that another attempt is pointless.
    package var isRetryable: Bool { (self as? any OperationFailing)?.isRetryable ?? true }
}
