/// The decision after a failed attempt.
public enum RetryDecision: Sendable, Equatable {
    /// Start another attempt after a pause, during which the operation holds no slot.
    case retry(after: Duration)
    /// End the operation as cancelled: the work is no longer wanted.
    case discard
    /// End the operation as dead.
    case dead
}

/// An error that knows when another attempt makes sense, such as an HTTP response with `Retry-After`.
public protocol RetryTiming: Error {
    /// The shortest pause before the next attempt; nil = the policy's pause. A longer pause of the policy stays. To set
    /// the exact pause, adopt `RetryDeciding`.
    var retryAfter: Duration? { get }
}

/// The policy for an error of a local operation's body.
///
/// If the policy is a `RetryPolicy`, the error has influence: `OperationFailing.isRetryable` false ends the operation
/// at once, and `RetryTiming.retryAfter` makes the pause longer.
public struct LocalRetry: Sendable {
    let isNever: Bool
    /// The policy from which this was made; nil = a closure decides, or `never`.
    let policy: RetryPolicy?
    let decision: @Sendable (any Error, Int) -> RetryDecision

    /// No retry: the operation is dead. The default, because few closures expect to run twice.
    public static let never = LocalRetry(isNever: true) { _, _ in .dead }

    /// Retries by a policy.
    ///
    /// - Parameter policy: the number of attempts and the pauses between them.
    public init(_ policy: RetryPolicy) {
        self.init(isNever: policy.attempts <= 1, policy: policy) { policy.decision(for: $0, attempt: $1) }
    }

    /// Decides by the error and the attempt. The closure is called outside of all locks.
    ///
    /// - Parameter decision: takes the body's error and the number of the attempt, from 1.
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
    /// Returns the decision after an error. The error may rule out another attempt, or ask for a longer pause.
    package func decision(for error: any Error, attempt: Int) -> RetryDecision {
        guard error.isRetryable, attempt < attempts else { return .dead }
        let pause = delay(afterAttempt: attempt)
        // A server can only make the pause longer. Otherwise "Retry-After: 0" would use up all attempts within
        // milliseconds.
        guard let wish = (error as? any RetryTiming)?.retryAfter else { return .retry(after: pause) }
        return .retry(after: max(pause, wish.limited))
    }
}

extension Error {
    /// Whether another attempt makes sense. False for an `OperationFailing` error that is not retryable, and for
    /// `OperationsError` with `.tooLarge`: another attempt would repeat its effects in vain.
    package var isRetryable: Bool {
        if let error = self as? OperationsError { return error.code != .tooLarge }
        return (self as? any OperationFailing)?.isRetryable ?? true
    }
}
