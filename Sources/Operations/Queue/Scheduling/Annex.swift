/// Fields that only some operations have, in an object of their own so that a plain waiting operation stays small.
///
/// Guarded by the lock of the operation's home.
final class Annex: @unchecked Sendable {
    var name: String?
    var runTimeout: Duration?
    var grace = Defaults.cancelGrace
    var retry = LocalRetry.never
    /// Runs that used no attempt.
    var snoozes: Int32 = 0
    var cancelReason = ""
    /// Why it is dead, if not by its body's error.
    var failure: (any Error)?
    var hooks: [@Sendable (LocalOperationEnding) -> Void] = []
    var waiters: [UInt64: CheckedContinuation<OperationState, any Error>] = [:]
    var streams: [UInt64: AsyncStream<LocalOperationChange>.Continuation] = [:]
    var progress: LocalOperationProgress?
    /// The enqueued operation that it runs in a worker.
    var context: OperationContext?
    /// Ends the retry pause.
    var timer: Task<Void, Never>?
}
