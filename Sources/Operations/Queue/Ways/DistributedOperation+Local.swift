import Synchronization

/// An operation type that decides by the error what follows a failed attempt.
///
/// ```swift
/// extension Upload: RetryDeciding {
///     static func retryPolicy(for error: any Error, attempt: Int) -> RetryDecision {
///         error is AccountClosed ? .discard : .after(.seconds(30))
///     }
/// }
/// ```
public protocol RetryDeciding: SendableMetatype {
    /// What follows. Takes the place of the type's `retryPolicy`, so it has to bring attempts to an end itself; in a worker at the latest
    /// the producer's limit does, or 999 attempts. A worker does not ask about an error that says itself that another attempt is
    /// pointless (`OperationFailing.isRetryable`), such as arguments that do not fit; at the time limit it asks about an
    /// `OperationsError` with `.timedOut`.
    ///
    /// - Parameters:
    ///   - error: what `main` threw.
    ///   - attempt: the number of the attempt, from 1.
    static func retryPolicy(for error: any Error, attempt: Int) -> RetryDecision
}

/// An operation type that wants to know how its operations ended.
///
/// In a worker the hooks run on the operation's slot, before the end is stored: if the worker is lost meanwhile, the operation runs and ends
/// once more, and a cancel that comes at the same moment may still turn death into `cancelled`. They may write log lines, and have 10 s
/// before their task is cancelled. They are not called for an operation that ends where no worker runs it: cancelled while it waited,
/// expired, or lost too often. A local queue calls them right after the end.
public protocol EndObserving: Sendable {
    /// The operation is dead: an attempt failed, and no other one follows. Called before `ended`.
    ///
    /// - Parameters:
    ///   - error: what `main` threw last.
    ///   - context: of the last run.
    func died(of error: any Error, _ context: OperationContext) async

    /// The operation has ended, in whatever way.
    ///
    /// - Parameters:
    ///   - ending: in which.
    ///   - context: of the last run.
    func ended(_ ending: LocalOperationEnding, _ context: OperationContext) async
}

extension EndObserving {
    /// Does nothing.
    public func died(of error: any Error, _ context: OperationContext) async {}
    /// Does nothing.
    public func ended(_ ending: LocalOperationEnding, _ context: OperationContext) async {}

    package func note(_ ending: LocalOperationEnding, _ context: OperationContext) async {
        if ending.state == .dead, let error = ending.error { await died(of: error, context) }
        await ended(ending, context)
    }
}

extension LocalOperationQueue {
    /// Adds an operation of the kind that workers run, to run it in this process: the same `main`, retry policy and time limit. The
    /// arguments are not stored, and nothing survives the process.
    ///
    /// - Parameters:
    ///   - operation: the operation.
    ///   - priority: how urgently it wants a slot.
    /// - Returns: the local operation, with the result of `main`.
    @discardableResult
    public func add<Work: DistributedOperation>(
        _ operation: Work,
        priority: OperationPriority = .normal
    ) -> ValueOperation<Work.Output> {
        let local = ValueOperation(running: operation, priority: priority, home: core)
        core.add(local)
        return local
    }
}

extension ValueOperation {
    /// An operation of the kind that workers run, for a local queue. See `LocalOperationQueue.add(_:priority:)`.
    ///
    /// - Parameters:
    ///   - operation: the operation.
    ///   - priority: how urgently it wants a slot.
    public convenience init<Work: DistributedOperation>(
        running operation: Work,
        priority: OperationPriority = .normal
    ) where Work.Output == Output {
        self.init(running: operation, priority: priority, home: .outside)
    }

    convenience init<Work: DistributedOperation>(
        running operation: Work,
        priority: OperationPriority,
        home: QueueCore
    ) where Work.Output == Output {
        let id = OperationID()
        let checkpoint = StoredCheckpoint()
        let options = LocalOperationOptions(
            name: Work.name,
            priority: priority,
            runTimeout: Work.runTimeout,
            retry: LocalRetry(of: Work.self)
        )
        self.init(options: options, home: home) {
            guard let local = LocalOperation.current else { preconditionFailure("a body runs in its operation") }
            return try await operation.main(OperationContext(of: Work.self, id: id, local, checkpoint))
        }
        guard let observer = operation as? any EndObserving else { return }
        onEnd { [weak self] ending in
            guard let self else { return }
            let context = OperationContext(of: Work.self, id: id, self, checkpoint)
            Task.detached { await observer.note(ending, context) }
        }
    }
}

extension OperationContext {
    /// A run in a local queue.
    fileprivate init<Work: DistributedOperation>(
        of type: Work.Type,
        id: OperationID,
        _ local: LocalOperation,
        _ checkpoint: StoredCheckpoint
    ) {
        self.init(
            id: id,
            name: Work.name,
            queue: local.core.name,
            priority: local.priority,
            attempt: local.attempts,
            maxAttempts: Work.retryPolicy.attempts,
            fence: LocalLink.nextFence(),
            link: LocalLink(operation: local, checkpoint: checkpoint)
        )
    }
}

extension LocalRetry {
    fileprivate init<Work: DistributedOperation>(of type: Work.Type) {
        guard let deciding = type as? any RetryDeciding.Type else {
            self.init(Work.retryPolicy)
            return
        }
        self.init { error, attempt in deciding.retryPolicy(for: error, attempt: attempt) }
    }
}

/// Where a distributed operation writes when it runs locally.
private struct LocalLink: OperationLink {
    let operation: LocalOperation
    let checkpoint: StoredCheckpoint

    private static let lastFence = Atomic<Int64>(0)

    static func nextFence() -> Int64 { lastFence.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Until it has ended, which for one that is given up on at its time limit may be before its body returns.
    var ownsLease: Bool { !operation.isFinished }
    var cancelReason: String? { operation.cancelReason }

    func write(_ content: Report.Content) {
        switch content {
        case .progress(let fraction, let message): operation.report(progress: fraction, message)
        case .log(let line): operation.report(log: String(decoding: line, as: UTF8.self))
        case .checkpoint(let json): checkpoint.json.withLock { $0 = json }
        // Whoever cancels sees the state.
        case .cancelAcknowledged: break
        }
    }

    func lastCheckpoint() -> [UInt8]? { checkpoint.json.withLock { $0 } }
}

/// The last checkpoint of a local operation, for its next attempt.
private final class StoredCheckpoint: Sendable {
    let json = Guarded<[UInt8]?>(nil)
}
