/// The extras of an operation: fields that only some operations have. A separate object keeps a plain waiting operation
/// small.
///
/// Guarded by the lock of the operation's home.
final class OperationExtras: @unchecked Sendable {
    var name: String?
    var runTimeout: Duration?
    var grace = SluiceDefaults.cancelGrace
    var retry = LocalRetry.never
    /// Runs that used no attempt.
    var snoozes: Int32 = 0
    var cancelReason = ""
    /// Why the operation is dead, if not because of its body's error.
    var failure: (any Error)?
    var hooks: [@Sendable (LocalOperationEnding) -> Void] = []
    var waiters: [UInt64: CheckedContinuation<OperationState, any Error>] = [:]
    var streams: [UInt64: AsyncStream<LocalOperationChange>.Continuation] = [:]
    var progress: LocalOperationProgress?
    /// The context of the enqueued operation that a worker runs.
    var context: OperationContext?
    /// Ends the retry pause.
    var timer: Task<Void, Never>?
}
