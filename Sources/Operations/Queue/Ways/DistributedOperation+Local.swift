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
    /// What follows. Takes the place of the type's `retryPolicy`, so it has to bring attempts to an end itself.
    ///
    /// - Parameters:
    ///   - error: what `main` threw.
    ///   - attempt: the number of the attempt, from 1.
    static func retryPolicy(for error: any Error, attempt: Int) -> RetryDecision
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
            return try await operation.main(
                OperationContext(
                    id: id,
                    name: Work.name,
                    queue: local.core.name,
                    attempt: local.attempts,
                    maxAttempts: Work.retryPolicy.attempts,
                    fence: LocalLink.nextFence(),
                    link: LocalLink(operation: local, checkpoint: checkpoint)
                )
            )
        }
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
    let json = Mutex<[UInt8]?>(nil)
}
