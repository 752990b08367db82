/// What only some operations have, kept apart so that a plain waiting one stays small.
///
/// Guarded by the lock of the operation's home.
final class Annex: @unchecked Sendable {
    var name: String?
    var runTimeout: Duration?
    var grace = Defaults.cancelGrace
    var retry = LocalRetry.never
    var cancelReason = ""
    /// Why it is dead, where its body did not say so itself.
    var failure: (any Error)?
    var hooks: [@Sendable (LocalOperationEnding) -> Void] = []
    var waiters: [UInt64: CheckedContinuation<OperationState, any Error>] = [:]
    var streams: [UInt64: AsyncStream<LocalOperationChange>.Continuation] = [:]
    var progress: LocalOperationProgress?
    /// The worker's operation that it runs.
    var context: OperationContext?
    /// Wakes it from `retrying`.
    var timer: Task<Void, Never>?
}
