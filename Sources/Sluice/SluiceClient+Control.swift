import Foundation

/// What a cancel did to an operation.
public enum CancelResult: Sendable, Equatable {
    /// It was waiting, and ended as cancelled.
    case cancelled
    /// It runs; its worker has the cancel request.
    case requested(worker: String)
    /// It had ended before: as cancelled (nothing to do), or as finished, dead or expired (too late).
    case alreadyEnded(OperationState)
    /// There is no such operation in the queue.
    case unknown
}

/// What became of a retry or a removal.
public enum ChangeResult: Sendable, Equatable {
    /// Done.
    case done
    /// The operation's state forbids it; nothing was changed.
    case refused(OperationState)
    /// There is no such operation in the queue.
    case unknown
}

/// Every call here is durable when it returns, and throws `OperationsError` with `.invalidName` for a name that cannot be one and
/// `.unavailable` if Redis cannot be reached.
extension SluiceClient {
    /// Asks to cancel operations of a queue. A waiting one has ended when this returns; a running one sees `Task.isCancelled`.
    ///
    /// - Parameters:
    ///   - ids: their ids.
    ///   - queue: the queue that they are in.
    ///   - reason: for people, kept with the operations.
    /// - Returns: what the cancel did, in order.
    @discardableResult
    public func cancel(
        _ ids: [OperationID],
        queue: String = Defaults.queue,
        reason: String = ""
    ) async throws -> [CancelResult] {
        try await inBatches(ids, queue: queue) {
            try await broker.cancel($0, request: Self.cancelRequest(reason), queue: queue)
        }.map(CancelResult.init)
    }

    /// Cancels everything that is in a queue at this moment, in constant time. What is enqueued later is not touched.
    ///
    /// - Parameters:
    ///   - queue: the queue's name.
    ///   - reason: for people, kept with the operations.
    /// - Returns: how many were waiting, and how many run and have a cancel request.
    @discardableResult
    public func cancel(queue: String, reason: String = "") async throws -> (waiting: Int, executing: Int) {
        try NameRule.check(queue, role: "queue")
        return try await broker.cancelQueue(queue, request: Self.cancelRequest(reason))
    }

    /// Cancels everything that is in any queue of the namespace at this moment.
    ///
    /// - Parameter reason: for people, kept with the operations.
    /// - Returns: how many were waiting, and how many run and have a cancel request, over all queues.
    @discardableResult
    public func cancelAll(reason: String = "") async throws -> (waiting: Int, executing: Int) {
        let queues = try await broker.queues()
        return try await withThrowingTaskGroup { group in
            for queue in queues { group.addTask { try await cancel(queue: queue, reason: reason) } }
            return try await group.reduce((0, 0)) { ($0.0 + $1.waiting, $0.1 + $1.executing) }
        }
    }

    /// Stops handing out operations of a queue; what runs goes on.
    ///
    /// - Parameters:
    ///   - queue: the queue's name.
    ///   - duration: for how long, more than zero and at most 100 years, as the server's clock counts it in milliseconds; nil = until `resume`.
    /// - Throws: `OperationsError` with `.invalidName` or `.invalidOption` for a queue or a duration that cannot be one, or as any call.
    public func pause(queue: String, for duration: Duration? = nil) async throws {
        try NameRule.check(queue, role: "queue")
        try TimeLimit.check(duration, "the pause")
        try await broker.setPaused(true, forMilliseconds: duration?.wholeMilliseconds, queue: queue)
    }

    /// Hands out operations of a paused queue again; on one that is not paused it does nothing.
    ///
    /// - Parameter queue: the queue's name.
    public func resume(queue: String) async throws {
        try NameRule.check(queue, role: "queue")
        try await broker.setPaused(false, forMilliseconds: nil, queue: queue)
    }

    /// Makes dead, cancelled and expired operations ready with fresh attempts, and retrying or scheduled ones ready at once.
    ///
    /// - Parameters:
    ///   - ids: their ids.
    ///   - queue: the queue that they are in.
    /// - Returns: what became of each, in order.
    @discardableResult
    public func retry(_ ids: [OperationID], queue: String = Defaults.queue) async throws -> [ChangeResult] {
        try await inBatches(ids, queue: queue) { try await broker.retry($0, queue: queue) }.map(ChangeResult.init)
    }

    /// Removes operations that do not run, with result, errors and log.
    ///
    /// - Parameters:
    ///   - ids: their ids.
    ///   - queue: the queue that they are in.
    /// - Returns: what became of each, in order.
    @discardableResult
    public func remove(_ ids: [OperationID], queue: String = Defaults.queue) async throws -> [ChangeResult] {
        try await inBatches(ids, queue: queue) { try await broker.remove($0, queue: queue) }.map(ChangeResult.init)
    }

    /// Calls a script with at most `Defaults.batch` ids at a time.
    private func inBatches<Outcome>(
        _ ids: [OperationID],
        queue: String,
        _ call: ([OperationID]) async throws -> [Outcome]
    ) async throws -> [Outcome] {
        try NameRule.check(queue, role: "queue")
        var outcomes: [Outcome] = []
        for start in stride(from: 0, to: ids.count, by: Defaults.batch) {
            outcomes += try await call(Array(ids[start..<min(start + Defaults.batch, ids.count)]))
        }
        return outcomes
    }

    private static func cancelRequest(_ reason: String) -> CancelRequest {
        CancelRequest(reason: reason, by: identity)
    }

    /// This user and host, as a label for people.
    package static let identity = "\(NSUserName())@\(ProcessInfo.processInfo.hostName)"
}

extension CancelResult {
    package init(_ outcome: CancelOutcome) {
        self =
            switch outcome {
            case .cancelled: .cancelled
            case .requested(let worker): .requested(worker: worker)
            case .ended(let state, at: _): .alreadyEnded(state)
            case .unknown: .unknown
            }
    }
}

extension ChangeResult {
    package init(_ outcome: ChangeOutcome) {
        self =
            switch outcome {
            case .done: .done
            case .refused(let state): .refused(state)
            case .unknown: .unknown
            }
    }
}
