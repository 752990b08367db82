/// An operation by its id, without its type: reads state, progress and raw result, or cancels the operation.
public struct OperationReference: Sendable {
    /// The id of the operation.
    public let id: OperationID
    /// The queue of the operation.
    public let queue: String
    /// False for the fast path, which records only failures and cancels.
    public let isTracked: Bool
    /// False if the enqueue added nothing to Redis: an operation with this id or unique key existed, or the operation
    /// is in the client's buffer.
    public let isNew: Bool
    /// Whether the requested durability was reached in time; nil if the enqueue requested none. False means that the
    /// operation is stored and not yet confirmed.
    public private(set) var isConfirmed: Bool?
    package let client: SluiceClient
    /// The receipt of the call that buffered the operation, and the index there; nil = it went directly to Redis.
    private let receipt: (EnqueueReceipt, index: Int)?

    init(
        id: OperationID,
        queue: String,
        isTracked: Bool = true,
        isNew: Bool = false,
        receipt: (EnqueueReceipt, index: Int)?,
        client: SluiceClient
    ) {
        self.id = id
        self.queue = queue
        self.isTracked = isTracked
        self.isNew = isNew
        self.receipt = receipt
        self.client = client
    }

    package init(id: OperationID, queue: String, isTracked: Bool = true, isNew: Bool = false, client: SluiceClient) {
        self.init(id: id, queue: queue, isTracked: isTracked, isNew: isNew, receipt: nil, client: client)
    }

    /// Where the operation is now: in Redis, or in the buffer of the client that enqueued it (see `EnqueueBuffering`).
    public var storage: EnqueueStorage {
        guard let (receipt, index) = receipt else { return .stored }
        switch receipt.outcome(index) {
        case nil: return .buffered
        case .success: return .stored
        case .failure(let error): return .refused(error)
        }
    }

    /// Waits until Redis has stored the operation. Returns at once unless the operation is in the client's buffer.
    ///
    /// - Parameter timeout: longest time to wait; nil = no limit, for as long as Redis is away.
    /// - Throws:
    ///   - `OperationsError` with `.timedOut` if the operation is still in the buffer, where it stays.
    ///   - The error with which Redis refused the buffered operation, or with which the closed client gave it up.
    ///   - `CancellationError` if the waiting task is cancelled or, outside of operations, its service is asked to shut
    ///     down.
    public func stored(timeout: Duration? = nil) async throws {
        try await stored(until: Deadline(timeout))
    }

    private func stored(until deadline: Deadline?) async throws {
        guard let (receipt, index) = receipt else { return }
        var isShutDown = false
        // The receipt waits for all operations of the enqueue; others may take longer than this one.
        if receipt.outcome(index) == nil {
            isShutDown = try await untilShutdown { await receipt.wait(atMost: deadline?.left) } == nil
        }
        try Task.checkCancellation()
        guard let outcome = receipt.outcome(index) else {
            if isShutDown { throw CancellationError() }
            throw OperationsError(
                .timedOut,
                "operation \(id) is still in the client's buffer after \(deadline?.text ?? ""): "
                    + "Redis has not accepted it yet",
                id: id
            )
        }
        _ = try outcome.get()
    }

    /// The answer for middleware: the operation, and a way to read its headers.
    var forMiddleware: EnqueuedOperation {
        EnqueuedOperation(id: id, isNew: isNew) { [self] in
            let envelope = try await detail().record.envelope
            return try OperationEnvelope(envelope, id: id, queue: queue, seal: client.seal).headers
        }
    }

    func confirmed(_ isConfirmed: Bool) -> OperationReference {
        var reference = self
        reference.isConfirmed = isConfirmed
        return reference
    }

    /// Reads the stored status of the operation.
    ///
    /// - Throws: `OperationsError` with `.notFound` for an operation that is untracked, was removed or is beyond its
    ///   retention; `.unavailable` if Redis cannot be reached.
    public func status() async throws -> OperationStatus { OperationStatus(try await detail()) }

    /// Reads the state of the operation.
    ///
    /// - Throws: as `status()`.
    public func state() async throws -> OperationState { try await detail().state }

    /// Reads the progress that the operation last reported; nil if it reported none.
    ///
    /// - Throws: as `status()`.
    public func progress() async throws -> OperationProgress? { try await status().progress }

    /// Waits until the operation ends, and returns the stored result: JSON, or no bytes for an operation that returns
    /// `Void`.
    ///
    /// While no live worker serves the queue, the client's logger gets a warning after five seconds.
    ///
    /// - Parameter timeout: longest time to wait; zero = check once, nil = no limit, even while no worker runs. While
    ///   Redis cannot be reached, the call takes up to five seconds longer.
    /// - Returns: the bytes of the result.
    /// - Throws: as `status()`, and:
    ///   - `OperationsError` with `.timedOut` if the operation has not ended in time; the operation continues. The
    ///     error names the operation's state, and whether a live worker serves its queue.
    ///   - `OperationsError` with `.dead`, `.cancelled` or `.expired` and the stored reason, if the operation ended in
    ///     that state.
    ///   - `CancellationError` if the waiting task is cancelled or, outside of operations, its service is asked to shut
    ///     down; the operation continues.
    public func result(timeout: Duration? = nil) async throws -> [UInt8] {
        guard isTracked else {
            throw OperationsError(
                .refused,
                "operation \(id) is untracked and has no stored result: drop .untracked",
                id: id
            )
        }
        let deadline = Deadline(timeout)
        return try await client.unserved.during(waitsIn: queue) { try await result(until: deadline) }
    }

    private func result(until deadline: Deadline?) async throws -> [UInt8] {
        try await stored(until: deadline)
        let ends = try await untilShutdown {
            try await client.broker.awaitEnd(of: [id], queue: queue, timeout: deadline?.left)
        }
        try Task.checkCancellation()
        if let ends {
            guard let end = ends.first.flatMap({ $0 }) else { throw notFound }
            if let deadline, !end.isTerminal { throw await timedOut(deadline) }
        }
        let detail = try await detail()
        switch detail.state {
        case .finished: return detail.result ?? []
        case .dead:
            let failure = detail.errors.last?.failure
            throw OperationsError(.dead, failure?.sentence ?? "operation \(id) is dead", id: id, failure: failure)
        case .cancelled: throw OperationsError(.cancelled, Self.sentence(detail.cancel), id: id)
        case .expired: throw OperationsError(.expired, "operation \(id) expired before a worker could start it", id: id)
        case .scheduled, .blocked, .ready, .executing, .retrying:
            if ends == nil { throw CancellationError() }
            // An operator retried the operation between the two reads.
            return try await result(until: deadline)
        }
    }

    package func detail() async throws -> OperationDetail {
        guard let detail = try await client.broker.details([id], queue: queue).first.flatMap({ $0 }) else {
            throw notFound
        }
        return detail
    }

    /// Returns the error of a wait that timed out, with the operation's state and whether a worker can run it.
    func timedOut(_ deadline: Deadline) async -> OperationsError {
        let start = "operation \(id) has not ended after \(deadline.text)"
        guard let status = try? await status() else {
            return OperationsError(.timedOut, "\(start), and Redis did not return its state", id: id)
        }
        var message = "\(start): it is \(status.state.rawValue) in queue \(queue)"
        let snapshot = try? await client.broker.snapshot(queue: queue, executingRows: 0)
        if let snapshot, snapshot.liveWorkers.isEmpty {
            let fix = UnservedWatch.fix(queue, namespace: client.namespace)
            message += ", which no live worker serves; start one: \(fix)"
        } else if snapshot?.paused == true {
            message += ", which is paused; resume it: sluice queue resume \(queue)"
        }
        return OperationsError(.timedOut, message, id: id)
    }

    var notFound: OperationsError {
        OperationsError(.notFound, "no operation \(id) in queue \(queue) (namespace \(client.namespace))", id: id)
    }

    private static func sentence(_ cancel: CancelTrace?) -> String {
        guard let reason = cancel?.reason, !reason.isEmpty else { return "it was cancelled" }
        return "it was cancelled: \(reason)"
    }
}
