import Foundation

/// What a cancel did to an operation.
public enum CancelResult: Sendable, Equatable {
    /// It was waiting, and ended as cancelled.
    case cancelled
    /// It runs; its worker has the cancel request.
    case requested(worker: String)
    /// It is a group: it takes no more members, these are cancelled, and it ends as cancelled when all of them have ended.
    case requestedOfMembers
    /// It ran, and a forced cancel has ended it. Nothing that this worker still writes about it is stored.
    case forced(worker: String)
    /// It had ended before: as cancelled (nothing to do), or as finished, dead or expired (too late).
    case alreadyEnded(OperationState)
    /// There is no such operation in the queue.
    case unknown
}

/// What became of a retry, a hold, a release or a removal.
public enum ChangeResult: Sendable, Equatable {
    /// Done.
    case done
    /// The operation's state forbids it; nothing was changed.
    case refused(OperationState)
    /// A retry was refused because this operation has its unique key; nothing was changed.
    case keyTaken(by: OperationID)
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
    ///   - force: no grace: what runs ends as cancelled at once, also if its worker does not answer. What the body still writes is refused,
    ///     but the body itself may run until its worker hears of it, or longer.
    /// - Returns: what the cancel did, in order.
    @discardableResult
    public func cancel(
        _ ids: [OperationID],
        queue: String = Defaults.queue,
        reason: String = "",
        force: Bool = false
    ) async throws -> [CancelResult] {
        try await inBatches(ids, queue: queue) {
            try await broker.cancelWithMembers($0, request: Self.cancelRequest(reason, force: force), queue: queue)
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
    ///   - reason: for people, kept with the pause and its event.
    /// - Throws: `OperationsError` with `.invalidName` or `.invalidOption` for a queue or a duration that cannot be one, or as any call.
    public func pause(queue: String, for duration: Duration? = nil, reason: String = "") async throws {
        try NameRule.check(queue, role: "queue")
        try TimeLimit.check(duration, "the pause")
        try await broker.setPaused(
            .pause(forMilliseconds: duration?.wholeMilliseconds, by: Self.identity, reason: reason),
            queue: queue
        )
    }

    /// Hands out operations of a paused queue again; on one that is not paused it does nothing.
    ///
    /// - Parameter queue: the queue's name.
    public func resume(queue: String) async throws {
        try NameRule.check(queue, role: "queue")
        try await broker.setPaused(.resume(by: Self.identity), queue: queue)
    }

    /// Limits how many operations of a queue run at once, or start in a time, on all workers together. A limit may be set before the queue is used; it holds for
    /// the next operations, and what runs goes on.
    ///
    /// ```swift
    /// try await sluice.limit(queue: "mail", .concurrency(8))
    /// try await sluice.limit(queue: "reports", .concurrency(1))    // a serial queue
    /// try await sluice.limit(queue: "mail", .rate(QueueRate(100, per: .seconds(1), burst: 20)))
    /// try await sluice.limit(queue: "mail", .concurrency(nil))     // any number
    /// try await sluice.limit(queue: "mail", .keyRate(QueueRate(100)), .keyRate(QueueRate(20, per: .seconds(60)), of: "acme"))
    /// ```
    ///
    /// - Parameters:
    ///   - queue: the queue's name.
    ///   - limits: what to set; other limits stay as they were.
    /// - Returns: the limits that the queue has now.
    /// - Throws: `OperationsError` with `.invalidName` or `.invalidOption` for a queue or a limit that cannot be one, or as any call.
    @discardableResult
    public func limit(queue: String, _ limits: QueueLimit...) async throws -> QueueLimits {
        try NameRule.check(queue, role: "queue")
        for limit in limits { try limit.check() }
        return try await broker.setLimits(limits, by: Self.identity, queue: queue)
    }

    /// Makes dead, cancelled and expired operations ready with fresh attempts, and retrying or scheduled ones ready at once. Of a group that has not
    /// ended well, and not been cancelled, it does so with all members that have ended without finishing, also of groups in it.
    ///
    /// - Parameters:
    ///   - ids: their ids.
    ///   - queue: the queue that they are in.
    /// - Returns: what became of each, in order.
    @discardableResult
    public func retry(_ ids: [OperationID], queue: String = Defaults.queue) async throws -> [ChangeResult] {
        try await inBatches(ids, queue: queue) {
            try await broker.retryWithMembers($0, by: Self.identity, queue: queue)
        }
        .map(ChangeResult.init)
    }

    /// Holds ready, scheduled and retrying operations: they are blocked, and none of them starts until it is released. An expiry goes on
    /// counting.
    ///
    /// - Parameters:
    ///   - ids: their ids.
    ///   - reason: for people, kept with the operations.
    ///   - queue: the queue that they are in.
    /// - Returns: what became of each, in order.
    @discardableResult
    public func hold(
        _ ids: [OperationID],
        reason: String = "",
        queue: String = Defaults.queue
    ) async throws -> [ChangeResult] {
        try NameRule.check(queue, role: "queue")
        return try await broker.hold(ids, by: Self.identity, reason: reason, queue: queue).map(ChangeResult.init)
    }

    /// Releases held operations, to the heads of their lanes in this order. What was scheduled or retrying waits for its time again, if that
    /// is to come.
    ///
    /// - Parameters:
    ///   - ids: their ids.
    ///   - queue: the queue that they are in.
    /// - Returns: what became of each, in order.
    @discardableResult
    public func release(_ ids: [OperationID], queue: String = Defaults.queue) async throws -> [ChangeResult] {
        try NameRule.check(queue, role: "queue")
        return try await broker.release(ids, by: Self.identity, queue: queue).map(ChangeResult.init)
    }

    /// Removes operations that do not run, with result, errors and log.
    ///
    /// - Parameters:
    ///   - ids: their ids.
    ///   - queue: the queue that they are in.
    /// - Returns: what became of each, in order.
    @discardableResult
    public func remove(_ ids: [OperationID], queue: String = Defaults.queue) async throws -> [ChangeResult] {
        try await inBatches(ids, queue: queue) { try await broker.remove($0, by: Self.identity, queue: queue) }.map(
            ChangeResult.init
        )
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

    private static func cancelRequest(_ reason: String, force: Bool = false) -> CancelRequest {
        CancelRequest(reason: reason, by: identity, isForced: force)
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
            case .group: .requestedOfMembers
            case .forced(let worker): .forced(worker: worker)
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
            case .taken(let id): .keyTaken(by: id)
            case .unknown: .unknown
            }
    }
}
