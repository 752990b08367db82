import Foundation

/// The effect of a cancel on an operation.
public enum CancelResult: Sendable, Hashable {
    /// The operation was waiting, and has ended as cancelled.
    case cancelled
    /// The operation runs; its worker has the cancel request.
    case requested(worker: String)
    /// The operation is a group, and its members are cancelled. The group takes no more members, and ends as cancelled
    /// after them.
    case requestedOfMembers
    /// The operation ran, and a forced cancel has ended it. Redis refuses everything that this worker still writes
    /// about it.
    case forced(worker: String)
    /// The operation had ended before: as cancelled (nothing to do), or as finished, dead or expired (too late).
    case alreadyEnded(OperationState)
    /// The queue has no such operation.
    case unknown
}

/// The result of a retry, a hold, a release or a removal.
public enum ChangeResult: Sendable, Hashable {
    /// The change was made.
    case done
    /// The operation's state forbids it; nothing was changed.
    case refused(OperationState)
    /// A retry was refused because this other operation has the unique key; nothing was changed.
    case keyTaken(by: OperationID)
    /// The queue has no such operation.
    case unknown
}

/// The effect of a cancel of a whole queue, or of all queues.
public struct QueueCancelResult: Sendable, Hashable {
    /// The number of operations that were waiting, and have ended as cancelled.
    public let waiting: Int
    /// The number of operations that run, and have a cancel request.
    public let executing: Int
}

/// Changes, which Redis has stored when the call returns. Each call throws `OperationsError` with `.invalidName` for an
/// invalid name, and `.unavailable` if Redis cannot be reached.
extension SluiceClient {
    /// Cancels operations of a queue. A waiting operation has ended when this returns; a running one sees
    /// `Task.isCancelled`.
    ///
    /// - Parameters:
    ///   - ids: the ids of the operations.
    ///   - queue: the queue of the operations.
    ///   - reason: for people; stored with the operations.
    ///   - force: true = without grace. A running operation ends as cancelled at once, even if its worker does not
    ///     answer. Redis refuses everything that the body still writes. The body itself may run until its worker gets
    ///     the request, or longer.
    /// - Returns: the effect on each operation, in order.
    @discardableResult
    public func cancel(
        _ ids: [OperationID],
        queue: String = SluiceDefaults.queue,
        reason: String = "",
        force: Bool = false
    ) async throws -> [CancelResult] {
        try await inBatches(ids, queue: queue) {
            try await broker.cancelWithMembers($0, request: Self.cancelRequest(reason, force: force), queue: queue)
        }.map(CancelResult.init)
    }

    /// Cancels everything that is in a queue at this moment, in constant time. Operations that are enqueued later are
    /// not affected.
    ///
    /// - Parameters:
    ///   - queue: the name of the queue.
    ///   - reason: for people; stored with the operations.
    /// - Returns: the number of operations that were waiting, and of those that run and have a cancel request.
    @discardableResult
    public func cancel(queue: String, reason: String = "") async throws -> QueueCancelResult {
        try NameRule.check(queue, role: "queue")
        let counts = try await broker.cancelQueue(queue, request: Self.cancelRequest(reason))
        return QueueCancelResult(waiting: counts.waiting, executing: counts.executing)
    }

    /// Cancels everything that is in any queue of the namespace at this moment.
    ///
    /// - Parameter reason: for people; stored with the operations.
    /// - Returns: the number of operations that were waiting, and of those that run and have a cancel request, over all
    ///   queues.
    @discardableResult
    public func cancelAll(reason: String = "") async throws -> QueueCancelResult {
        let queues = try await broker.queues()
        return try await withThrowingTaskGroup { group in
            for queue in queues { group.addTask { try await cancel(queue: queue, reason: reason) } }
            return try await group.reduce(QueueCancelResult(waiting: 0, executing: 0)) { sum, queue in
                QueueCancelResult(waiting: sum.waiting + queue.waiting, executing: sum.executing + queue.executing)
            }
        }
    }

    /// Pauses a queue: workers claim none of its operations. Running operations continue.
    ///
    /// - Parameters:
    ///   - queue: the name of the queue.
    ///   - duration: the length of the pause, more than zero and at most 100 years, counted by the server's clock in
    ///     milliseconds; nil = until `resume`.
    ///   - reason: for people; stored with the pause and its event.
    /// - Throws: `OperationsError` with `.invalidName` for an invalid queue name or `.invalidOption` for an invalid
    ///   duration, or as any call.
    public func pause(queue: String, for duration: Duration? = nil, reason: String = "") async throws {
        try NameRule.check(queue, role: "queue")
        try TimeLimit.check(duration, "the pause")
        try await broker.setPaused(
            .pause(forMilliseconds: duration?.wholeMilliseconds, by: Self.identity, reason: reason),
            queue: queue
        )
    }

    /// Resumes a paused queue. A queue that is not paused stays unchanged.
    ///
    /// - Parameter queue: the name of the queue.
    public func resume(queue: String) async throws {
        try NameRule.check(queue, role: "queue")
        try await broker.setPaused(.resume(by: Self.identity), queue: queue)
    }

    /// Limits how many operations of a queue run at once, or start in a time, on all workers together.
    ///
    /// A limit may be set before the queue is used. New limits apply to operations that start later; running operations
    /// continue.
    ///
    /// ```swift
    /// try await sluice.limit(queue: "mail", .concurrency(8))
    /// try await sluice.limit(queue: "reports", .concurrency(1))    // a serial queue
    /// try await sluice.limit(queue: "mail", .rate(QueueRate(100, per: .seconds(1), burst: 20)))
    /// try await sluice.limit(queue: "mail", .concurrency(nil))     // any number
    /// try await sluice.limit(
    ///     queue: "mail",
    ///     .keyRate(QueueRate(100)),
    ///     .keyRate(QueueRate(20, per: .seconds(60)), of: "acme")
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - queue: the name of the queue.
    ///   - limits: the limits to set; other limits stay unchanged.
    /// - Returns: the limits that the queue has now.
    /// - Throws: `OperationsError` with `.invalidName` for an invalid queue name or `.invalidOption` for an invalid
    ///   limit, or as any call.
    @discardableResult
    public func limit(queue: String, _ limits: QueueLimit...) async throws -> QueueLimits {
        try NameRule.check(queue, role: "queue")
        for limit in limits { try limit.check() }
        return try await broker.setLimits(limits, by: Self.identity, queue: queue)
    }

    /// Retries operations: dead, cancelled and expired ones become ready with fresh attempts, retrying and scheduled
    /// ones at once.
    ///
    /// For a group that has not finished and was not cancelled, all members that ended without finishing are retried,
    /// also those of groups in it.
    ///
    /// - Parameters:
    ///   - ids: the ids of the operations.
    ///   - queue: the queue of the operations.
    ///   - spread: a time over which the operations start evenly, instead of all at once; nil = now.
    /// - Returns: the result for each operation, in order.
    /// - Throws: `OperationsError` with `.invalidOption` for a spread of zero or over 100 years, or as any call.
    @discardableResult
    public func retry(
        _ ids: [OperationID],
        queue: String = SluiceDefaults.queue,
        spread: Duration? = nil
    ) async throws -> [ChangeResult] {
        try TimeLimit.check(spread, "the spread")
        let spread = spread.map { Spread($0, count: ids.count) }
        return try await inBatches(ids, queue: queue) {
            try await broker.retryWithMembers($0, spread: spread, by: Self.identity, queue: queue)
        }
        .map(ChangeResult.init)
    }

    /// Holds ready, scheduled and retrying operations: they are blocked until they are released. Expiries keep running.
    ///
    /// - Parameters:
    ///   - ids: the ids of the operations.
    ///   - queue: the queue of the operations.
    ///   - reason: for people; stored with the operations.
    /// - Returns: the result for each operation, in order.
    @discardableResult
    public func hold(
        _ ids: [OperationID],
        queue: String = SluiceDefaults.queue,
        reason: String = ""
    ) async throws -> [ChangeResult] {
        try NameRule.check(queue, role: "queue")
        return try await broker.hold(ids, by: Self.identity, reason: reason, queue: queue).map(ChangeResult.init)
    }

    /// Releases held operations to the heads of their lanes, in the given order. Scheduled and retrying operations wait
    /// for their time again if it has not come.
    ///
    /// - Parameters:
    ///   - ids: the ids of the operations.
    ///   - queue: the queue of the operations.
    /// - Returns: the result for each operation, in order.
    @discardableResult
    public func release(_ ids: [OperationID], queue: String = SluiceDefaults.queue) async throws -> [ChangeResult] {
        try NameRule.check(queue, role: "queue")
        return try await broker.release(ids, by: Self.identity, queue: queue).map(ChangeResult.init)
    }

    /// Removes operations that do not run, with result, errors and log.
    ///
    /// - Parameters:
    ///   - ids: the ids of the operations.
    ///   - queue: the queue of the operations.
    /// - Returns: the result for each operation, in order.
    @discardableResult
    public func remove(_ ids: [OperationID], queue: String = SluiceDefaults.queue) async throws -> [ChangeResult] {
        try await inBatches(ids, queue: queue) { try await broker.remove($0, by: Self.identity, queue: queue) }.map(
            ChangeResult.init
        )
    }

    /// Calls a script with at most `SluiceDefaults.batch` ids at a time.
    private func inBatches<Outcome>(
        _ ids: [OperationID],
        queue: String,
        _ call: ([OperationID]) async throws -> [Outcome]
    ) async throws -> [Outcome] {
        try NameRule.check(queue, role: "queue")
        var outcomes: [Outcome] = []
        for start in stride(from: 0, to: ids.count, by: SluiceDefaults.batch) {
            outcomes += try await call(Array(ids[start..<min(start + SluiceDefaults.batch, ids.count)]))
        }
        return outcomes
    }

    private static func cancelRequest(_ reason: String, force: Bool = false) -> CancelRequest {
        CancelRequest(reason: reason, by: identity, isForced: force)
    }

    /// The user and host of this process, as a label for people.
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
