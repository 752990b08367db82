/// An enqueued operation of a known type: reads the result, follows or cancels the operation.
///
/// A handle is a value. Copying or dropping it has no effect on the operation.
public struct OperationHandle<Body: OperationArguments>: Sendable, Hashable {
    /// The operation without its type.
    public let reference: OperationReference

    package init(reference: OperationReference) { self.reference = reference }

    /// The id of the operation.
    public var id: OperationID { reference.id }
    /// False if the enqueue added nothing to Redis: an operation with this id or unique key existed, or the operation
    /// is in the client's buffer.
    public var isNew: Bool { reference.isNew }
    /// The queue of the operation.
    public var queue: String { reference.queue }

    /// Where the operation is now: in Redis, or in the client's buffer.
    public var storage: EnqueueStorage { reference.storage }

    /// Waits until the operation ends, and returns the result of its `main`.
    ///
    /// The wait has no limit, even while no worker runs: after five seconds without a worker, the client's logger gets
    /// a warning. Use `value(timeout:)` for a limit.
    ///
    /// - Throws:
    ///   - `OperationsError` with `.dead` and the last stored error, `.cancelled` with the reason, or `.expired`, if
    ///     the operation ended in that state.
    ///   - `OperationsError` with `.notFound` if the operation is beyond its retention, `.unavailable` if Redis cannot
    ///     be reached.
    ///   - `DecodingError` if the stored result does not fit the output type.
    ///   - `CancellationError` if the waiting task is cancelled or, outside of operations, its service is asked to shut
    ///     down; the operation continues.
    public var value: Body.Output {
        get async throws { try Body.decode(result: try await reference.result()) }
    }

    /// Waits until the operation ends, for a limited time, and returns the result of its `main`.
    ///
    /// - Parameter timeout: longest time to wait; zero = check once. While Redis cannot be reached, the call takes up
    ///   to five seconds longer.
    /// - Returns: the result of its `main`.
    /// - Throws: `OperationsError` with `.timedOut` if the operation has not ended in time. The error names the
    ///   operation's state, and whether a live worker serves its queue. The operation continues, and the wait may be
    ///   repeated. Otherwise as `value`.
    public func value(timeout: Duration) async throws -> Body.Output {
        try Body.decode(result: try await reference.result(timeout: timeout))
    }

    /// The stored status now and after every change, until the operation ends. See `OperationReference.changes`.
    public var changes: AsyncThrowingStream<OperationStatus, any Error> { reference.changes }

    /// The stored status now and after every change, until the operation ends or the timeout passes. See
    /// `OperationReference.changes(timeout:)`.
    ///
    /// - Parameter timeout: longest time until the operation ends; zero = read once.
    /// - Returns: the stream.
    public func changes(timeout: Duration) -> AsyncThrowingStream<OperationStatus, any Error> {
        reference.changes(timeout: timeout)
    }

    /// Reads the stored status of the operation.
    ///
    /// - Throws: `OperationsError` with `.notFound` or `.unavailable`.
    public func status() async throws -> OperationStatus { try await reference.status() }

    /// Reads the state of the operation.
    ///
    /// - Throws: `OperationsError` with `.notFound` or `.unavailable`.
    public func state() async throws -> OperationState { try await reference.state() }

    /// Reads the progress that the operation last reported; nil if it reported none.
    ///
    /// - Throws: `OperationsError` with `.notFound` or `.unavailable`.
    public func progress() async throws -> OperationProgress? { try await reference.progress() }
}

extension OperationHandle {
    /// Cancels the operation. See `OperationReference.cancel(reason:force:)`.
    ///
    /// - Parameters:
    ///   - reason: for people; stored with the operation.
    ///   - force: true = without grace; see `SluiceClient.cancel(_:queue:reason:force:)`.
    /// - Returns: the effect of the cancel.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func cancel(reason: String = "", force: Bool = false) async throws -> CancelResult {
        try await reference.cancel(reason: reason, force: force)
    }

    /// Makes a dead, cancelled or expired operation ready with fresh attempts, and a retrying or scheduled one ready at
    /// once.
    ///
    /// - Returns: the result of the retry.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func retry() async throws -> ChangeResult { try await reference.retry() }

    /// Holds the operation: it is blocked until it is released.
    ///
    /// - Parameter reason: for people; stored with the operation.
    /// - Returns: the result of the hold.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func hold(reason: String = "") async throws -> ChangeResult { try await reference.hold(reason: reason) }

    /// Releases the held operation.
    ///
    /// - Returns: the result of the release.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func release() async throws -> ChangeResult { try await reference.release() }

    /// Removes the operation with result, errors and log, unless it runs.
    ///
    /// - Returns: the result of the removal.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func remove() async throws -> ChangeResult { try await reference.remove() }

    /// Reads lines of the operation's log. See `OperationReference.log(from:limit:)`.
    ///
    /// - Parameters:
    ///   - number: the number of the first line to read; dropped lines are left out.
    ///   - limit: most lines to read, 1 to 500.
    /// - Returns: the lines in their order; empty if there are no more.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    public func log(from number: Int = 0, limit: Int = SluiceDefaults.batch) async throws -> [StoredLogLine] {
        try await reference.log(from: number, limit: limit)
    }
}

extension SluiceClient {
    /// Returns a handle of an operation that was enqueued elsewhere.
    ///
    /// - Parameters:
    ///   - id: the id of the operation.
    ///   - type: the type of the operation; its output must fit the stored result.
    ///   - queue: the queue of the operation.
    /// - Returns: the handle. The first call on it shows whether the operation exists.
    public func handle<Body: OperationArguments>(
        _ id: OperationID,
        of type: Body.Type,
        queue: String = SluiceDefaults.queue
    ) -> OperationHandle<Body> {
        OperationHandle(reference: OperationReference(id: id, queue: queue, client: self))
    }
    /// Returns a reference to an operation that was enqueued elsewhere, without its type.
    ///
    /// - Parameters:
    ///   - id: the id of the operation.
    ///   - queue: the queue of the operation.
    /// - Returns: the reference. The first call on it shows whether the operation exists.
    public func reference(_ id: OperationID, queue: String = SluiceDefaults.queue) -> OperationReference {
        OperationReference(id: id, queue: queue, client: self)
    }
}
