/// The effects of a scheduler's decision, to perform after the lock is released.
struct Effects: Sendable {
    /// The number of executor tasks to start.
    var launches = 0
    /// The quality of service of the executor tasks to start.
    var quality = Quality.standard
    /// An operation that an executor task of another quality took, and that needs an executor task of its own.
    var handedOver: LocalOperation?
    /// Ended operations with waiters or hooks.
    var aftermaths: [Aftermath] = []
    /// Operations that ended without an executor task, whose bodies must be released.
    var discarded: [LocalOperation] = []
    /// Operations that ended while their body still runs.
    var givenUp: [LocalOperation] = []
    /// An operation to retry after a pause.
    var retry: (operation: LocalOperation, pause: Duration)?
    /// Tasks to cancel: bodies that must end, and retry pauses that are no longer needed.
    var interrupted: [Task<Void, Never>] = []
    /// Ends that affect operations of other queues.
    var foreign: [ForeignEnd] = []
    /// Links of ended operations to release.
    var links: [DependencyLinks] = []
    /// Callers that waited until the queue is empty.
    var idleWaiters: [CheckedContinuation<Void, any Error>] = []
}

/// The end of a dependency whose dependent is guarded by another lock.
struct ForeignEnd: Sendable {
    let dependent: Dependent
    let state: OperationState
}

/// The waiters and hooks of an ended operation.
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
