/// An operation by its id, without its type: state, progress, raw result, cancel.
public struct OperationReference: Sendable {
    /// Its id.
    public let id: OperationID
    /// The queue that it is in.
    public let queue: String
    /// False for the fast path, of which only failures and cancels are recorded.
    public let isTracked: Bool
    /// False if the enqueue found an operation with this id or with its unique key and added nothing, or has left it in the client's buffer.
    public let isNew: Bool
    /// Whether the durability that its enqueue asked for was reached in time; nil if none was asked for. False means stored, not yet
    /// confirmed.
    public private(set) var isConfirmed: Bool?
    package let client: SluiceClient
    /// The outcome of the call that buffered it, and its number there; nil = it went directly to Redis.
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

    /// Waits until Redis has the operation. Returns at once unless it is in the client's buffer.
    ///
    /// - Parameter timeout: longest time to wait; nil = without limit, for as long as Redis is away.
    /// - Throws: `OperationsError` with `.timedOut` if it is still in the buffer then, where it stays; otherwise if it was refused after it
    ///   had waited, or given up when the client was closed. `CancellationError` when the waiting task is cancelled or, outside of
    ///   operations, its service is asked to shut down.
    public func stored(timeout: Duration? = nil) async throws {
        try await stored(until: Deadline(timeout))
    }

    private func stored(until deadline: Deadline?) async throws {
        guard let (receipt, index) = receipt else { return }
        var isShutDown = false
        // Others of the same enqueue may take longer.
        if receipt.outcome(index) == nil {
            isShutDown = try await untilShutdown { await receipt.wait(atMost: deadline?.left) } == nil
        }
        try Task.checkCancellation()
        guard let outcome = receipt.outcome(index) else {
            if isShutDown { throw CancellationError() }
            throw OperationsError(
                .timedOut,
                "operation \(id) is still in the client's buffer after \(deadline?.text ?? ""): Redis is away",
                id: id
            )
        }
        _ = try outcome.get()
    }

    func confirmed(_ isConfirmed: Bool) -> OperationReference {
        var reference = self
        reference.isConfirmed = isConfirmed
        return reference
    }

    /// The stored status of the operation now.
    ///
    /// - Throws: `OperationsError` with `.notFound` for an operation that is untracked, was removed or is beyond its retention;
    ///   `.unavailable` if Redis cannot be reached.
    public func status() async throws -> OperationStatus { OperationStatus(try await detail()) }

    /// The state of the operation now.
    ///
    /// - Throws: as `status()`.
    public func state() async throws -> OperationState { try await detail().state }

    /// The progress that the operation last reported; nil if there is none.
    ///
    /// - Throws: as `status()`.
    public func progress() async throws -> OperationProgress? { try await status().progress }

    /// Waits until the operation ends, and returns the stored result: JSON, or nothing for an operation that returns `Void`.
    ///
    /// While no live worker serves its queue, the client's logger gets a warning after five seconds.
    ///
    /// - Parameter timeout: longest time to wait; zero = look once, nil = without limit, also while no worker runs. While Redis cannot be
    ///   reached, the call takes up to five seconds more.
    /// - Returns: the result's bytes.
    /// - Throws: `OperationsError` with `.timedOut`, saying how the operation stands and whether a live worker serves its queue, if it has
    ///   not ended by then, and goes on; `.dead`, `.cancelled` or `.expired` and the stored reason if it ended so; otherwise as
    ///   `status()`. `CancellationError` when the waiting task is cancelled or, outside of operations, its service is asked to shut down;
    ///   the operation goes on then.
    public func result(timeout: Duration? = nil) async throws -> [UInt8] {
        guard isTracked else {
            throw OperationsError(.refused, "an untracked operation keeps no result: enqueue it tracked", id: id)
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
        case .dead: throw OperationsError(.dead, detail.errors.last?.failure.sentence ?? "it is dead", id: id)
        case .cancelled: throw OperationsError(.cancelled, Self.sentence(detail.cancel), id: id)
        case .expired: throw OperationsError(.expired, "it expired before a worker could start it", id: id)
        case .scheduled, .blocked, .ready, .executing, .retrying:
            if ends == nil { throw CancellationError() }
            // An operator retried it between the two reads.
            return try await result(until: deadline)
        }
    }

    /// Cancels the operation. The cancel is stored when this returns: a waiting operation has ended, a running one gets the request at once.
    ///
    /// - Parameters:
    ///   - reason: for people, kept with the operation.
    ///   - force: no grace: see `SluiceClient.cancel(_:queue:reason:force:)`.
    /// - Returns: what the cancel did.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func cancel(reason: String = "", force: Bool = false) async throws -> CancelResult {
        try await client.cancel([id], queue: queue, reason: reason, force: force)[0]
    }

    package func detail() async throws -> OperationDetail {
        guard let detail = try await client.broker.details([id], queue: queue).first.flatMap({ $0 }) else {
            throw notFound
        }
        return detail
    }

    /// The error of a wait that was too short: the state of the operation, and whether a worker is there to run it.
    func timedOut(_ deadline: Deadline) async -> OperationsError {
        let start = "operation \(id) has not ended after \(deadline.text)"
        guard let status = try? await status() else {
            return OperationsError(.timedOut, "\(start), and Redis does not say how it stands", id: id)
        }
        var message = "\(start): it is \(status.state.rawValue) in queue \(queue)"
        let snapshot = try? await client.broker.snapshot(queue: queue, executingRows: 0)
        if let snapshot, snapshot.liveWorkers.isEmpty {
            let fix = UnservedWatch.fix(queue, namespace: client.namespace)
            message += ", which no live worker serves; start one: \(fix)"
        } else if snapshot?.paused == true {
            message += ", which is paused; go on with: sluice queue resume \(queue)"
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
