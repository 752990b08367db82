/// What a decision of the scheduler asks for, to be done after the lock is open again.
struct Effects: Sendable {
    /// Runners to start.
    var launches = 0
    /// The quality of service that they start with.
    var quality = Quality.standard
    /// An operation that was taken by a runner of another quality, and needs one of its own.
    var handedOver: LocalOperation?
    /// Ended operations that somebody waits for or has hooks on.
    var aftermaths: [Aftermath] = []
    /// Operations that ended without ever having a runner, or away from it: their bodies are to be let go.
    var discarded: [LocalOperation] = []
    /// Operations that ended although their body has not.
    var abandoned: [LocalOperation] = []
    /// An operation to be tried again after a pause.
    var retry: (operation: LocalOperation, pause: Duration)?
    /// Tasks to be cancelled: bodies that must end, and retry pauses that no operation needs any more.
    var interrupted: [Task<Void, Never>] = []
    /// Edges to operations of other queues.
    var foreign: [ForeignEnd] = []
    /// Edges of ended operations, to be let go.
    var links: [DependencyLinks] = []
    /// Who waited for the queue to be empty.
    var idleWaiters: [CheckedContinuation<Void, any Error>] = []
}

/// An edge whose dependency has ended and whose dependent is guarded by another lock.
struct ForeignEnd: Sendable {
    let dependent: Dependent
    let state: OperationState
}

/// What remains to be done for an operation that has ended.
struct Aftermath: Sendable {
    let operation: LocalOperation
    let ending: LocalOperationEnding
    let hooks: [@Sendable (LocalOperationEnding) -> Void]
    let waiters: [CheckedContinuation<OperationState, any Error>]
    let streams: [AsyncStream<LocalOperationChange>.Continuation]

    func perform() {
        for hook in hooks { hook(ending) }
        for waiter in waiters { waiter.resume(returning: ending.state) }
        for stream in streams { stream.finish() }
    }
}
