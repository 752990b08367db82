import Synchronization

/// Adopt this to decide by the error whether another attempt follows.
///
/// ```swift
/// extension Upload: RetryDeciding {
///     static func decision(after error: any Error, attempt: Int) -> RetryDecision {
///         error is AccountClosed ? .discard : .retry(after: .seconds(30))
///     }
/// }
/// ```
public protocol RetryDeciding: SendableMetatype {
    /// Decides what follows a failed attempt, in place of the type's `retryPolicy`.
    ///
    /// The function must end the attempts itself. In a worker they also end at the producer's limit, or after 999
    /// attempts. A worker does not call this for an error that is not retryable (`OperationFailing.isRetryable`), such
    /// as arguments that do not fit. At the time limit the error is an `OperationsError` with `.timedOut`.
    ///
    /// - Parameters:
    ///   - error: the error of `main`.
    ///   - attempt: the number of the attempt, from 1.
    static func decision(after error: any Error, attempt: Int) -> RetryDecision
}

/// Adopt this to be called when an operation dies or ends.
///
/// In a worker the hooks run on the operation's slot, before the end is stored. If the worker is lost in between, the
/// operation runs and ends once more. A cancel at the same moment may still turn `dead` into `cancelled`. Hooks may
/// write log lines; their task is cancelled after 10 s.
///
/// Hooks are not called if the operation ends while no worker runs it: cancelled while it waited, expired, or lost too
/// often. A local queue calls them right after the end.
public protocol EndObserving: Sendable {
    /// Called if the operation is dead: an attempt failed, and no other one follows. Called before `ended`.
    ///
    /// - Parameters:
    ///   - error: the last error of `main`.
    ///   - context: the context of the last run.
    func died(of error: any Error, _ context: OperationContext) async

    /// Called when the operation has ended, in any state.
    ///
    /// - Parameters:
    ///   - ending: the state, error and attempts of the ended operation.
    ///   - context: the context of the last run.
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
    /// Runs a distributed operation in this process, with its `main`, retry policy and time limit. The arguments are
    /// not stored, and the operation does not survive the process.
    ///
    /// - Parameters:
    ///   - operation: the operation.
    ///   - priority: the priority.
    ///   - headers: the value of `OperationContext.headers` for `main`.
    /// - Returns: the local operation, with the result of `main`.
    @discardableResult
    public func add<Work: DistributedOperation>(
        _ operation: Work,
        priority: OperationPriority = .normal,
        headers: [String: String] = [:]
    ) -> ValueOperation<Work.Output> {
        let local = ValueOperation(running: operation, priority: priority, headers: headers, home: core)
        core.add(local)
        return local
    }
}

extension ValueOperation {
    /// Makes a local operation from a distributed one. See `LocalOperationQueue.add(_:priority:headers:)`.
    ///
    /// - Parameters:
    ///   - operation: the operation.
    ///   - priority: the priority.
    ///   - headers: the value of `OperationContext.headers` for `main`.
    public convenience init<Work: DistributedOperation>(
        running operation: Work,
        priority: OperationPriority = .normal,
        headers: [String: String] = [:]
    ) where Work.Output == Output {
        self.init(running: operation, priority: priority, headers: headers, home: .outside)
    }

    convenience init<Work: DistributedOperation>(
        running operation: Work,
        priority: OperationPriority,
        headers: [String: String],
        home: QueueCore
    ) where Work.Output == Output {
        let id = OperationID()
        let runs = LocalRuns(id, headers)
        let options = LocalOperationOptions(
            name: Work.name,
            priority: priority,
            runTimeout: Work.runTimeout,
            retry: LocalRetry(of: Work.self)
        )
        self.init(options: options, home: home) {
            guard let local = LocalOperation.current else { preconditionFailure("a body runs in its operation") }
            return try await operation.main(OperationContext(of: Work.self, id: id, local, runs))
        }
        guard let observer = operation as? any EndObserving else { return }
        onEnd { [weak self] ending in
            guard let self else { return }
            let context = OperationContext(of: Work.self, id: id, self, runs)
            Task.detached { await observer.note(ending, context) }
        }
    }
}

extension OperationContext {
    /// Makes the context of a run in a local queue.
    fileprivate init<Work: DistributedOperation>(
        of type: Work.Type,
        id: OperationID,
        _ local: LocalOperation,
        _ runs: LocalRuns
    ) {
        self.init(
            id: id,
            name: Work.name,
            queue: local.core.name,
            priority: local.priority,
            attempt: local.attempts,
            maxAttempts: Work.retryPolicy.attempts,
            headers: runs.headers,
            fence: LocalLink.nextFence(),
            link: LocalLink(operation: local, runs: runs)
        )
    }
}

extension LocalRetry {
    fileprivate init<Work: DistributedOperation>(of type: Work.Type) {
        guard let deciding = type as? any RetryDeciding.Type else {
            self.init(Work.retryPolicy)
            return
        }
        self.init { error, attempt in deciding.decision(after: error, attempt: attempt) }
    }
}

/// The link of a distributed operation that runs in a local queue.
private struct LocalLink: OperationLink {
    let operation: LocalOperation
    let runs: LocalRuns

    private static let lastFence = Atomic<Int64>(0)

    static func nextFence() -> Int64 { lastFence.wrappingAdd(1, ordering: .relaxed).newValue }

    /// True until the operation has ended, which may be before its body returns.
    var ownsLease: Bool { !operation.isFinished }
    var cancellation: OperationCancellation? { operation.cancelReason.map { OperationCancellation(reason: $0) } }

    func write(_ content: Report.Content) {
        switch content {
        case .progress(let fraction, let message): operation.report(progress: fraction, message)
        case .log(let line): operation.report(log: String(decoding: line, as: UTF8.self))
        case .checkpoint(let json): runs.stored.withLock { $0.checkpoint = json }
        // No report is needed: the caller of `cancel` reads the state.
        case .cancelAcknowledged, .cancelStopped: break
        }
    }

    func lastCheckpoint() -> [UInt8]? { runs.stored.withLock { $0.checkpoint } }
    var onceResults: OnceResults? { runs.onceResults }
}

/// The shared state of a local operation's runs: its headers, and values that one run stores for the next.
private final class LocalRuns: Sendable {
    let stored = Guarded(StoredByRuns())
    let onceResults: OnceResults
    let headers: [String: String]

    init(_ id: OperationID, _ headers: [String: String]) {
        self.headers = headers
        let once = LocalOnce()
        onceResults = OnceResults(id: id, read: { [:] }, write: { once.store($1, for: $0) })
    }
}

/// The limits of `once` for an operation in a local queue, as in a worker.
private final class LocalOnce: Sendable {
    private let results = Guarded<[String: [UInt8]]>([:])

    func store(_ json: [UInt8], for label: String) -> OnceResults.Stored {
        results.withLock { results in
            let outcome = OnceResults.judge(label, json, beside: results)
            if outcome == .stored { results[label] = json }
            return outcome
        }
    }
}
