/// An enqueued operation of a known type: its result, its changes, its cancel.
///
/// A handle is a value; it may be copied, and dropping it changes nothing for the operation.
public struct OperationHandle<Body: DistributedOperation>: Sendable {
    /// The same operation without its type.
    public let reference: OperationReference

    package init(reference: OperationReference) { self.reference = reference }

    /// Its id.
    public var id: OperationID { reference.id }
    /// False if the enqueue has added nothing: an operation with this id or with its unique key was there, or it is in the client's buffer.
    public var isNew: Bool { reference.isNew }
    /// The queue that it is in.
    public var queue: String { reference.queue }

    /// Where the operation is now: in Redis, or in the client's buffer.
    public var storage: EnqueueStorage { reference.storage }

    /// Waits until the operation ends, and returns what its `main` returned.
    ///
    /// There is no limit, even while no worker runs: after five seconds without one, the client's logger gets a warning.
    /// `value(timeout:)` has a limit.
    ///
    /// - Throws: `OperationsError` with `.dead` and the last stored error, `.cancelled` with the reason, or `.expired` if it ended so;
    ///   `.notFound` if it is beyond its retention; `.unavailable` if Redis cannot be reached; `DecodingError` if the stored
    ///   result is not of the type's output. `CancellationError` when the waiting task is cancelled; the operation goes on then.
    public var value: Body.Output {
        get async throws { try Body.decode(result: try await reference.result()) }
    }

    /// Waits until the operation ends, for a limited time, and returns what its `main` returned.
    ///
    /// - Parameter timeout: longest time to wait; zero = look once. While Redis cannot be reached, the call takes up to five seconds more.
    /// - Returns: what its `main` returned.
    /// - Throws: `OperationsError` with `.timedOut`, saying how the operation stands and whether a live worker serves its queue, if it has
    ///   not ended by then; it goes on, and may be waited for again. Otherwise as `value`.
    public func value(timeout: Duration) async throws -> Body.Output {
        try Body.decode(result: try await reference.result(timeout: timeout))
    }

    /// The stored status now and after every change, until the operation ends. See `OperationReference.changes`.
    public var changes: AsyncStream<OperationStatus> { reference.changes }

    /// The stored status now and after every change, until the operation ends or a time is over. See
    /// `OperationReference.changes(timeout:)`.
    ///
    /// - Parameter timeout: longest time until it ends; zero = look once.
    /// - Returns: the stream.
    public func changes(timeout: Duration) -> AsyncThrowingStream<OperationStatus, any Error> {
        reference.changes(timeout: timeout)
    }

    /// The stored status of the operation now.
    ///
    /// - Throws: `OperationsError` with `.notFound` or `.unavailable`.
    public func status() async throws -> OperationStatus { try await reference.status() }

    /// The state of the operation now.
    ///
    /// - Throws: `OperationsError` with `.notFound` or `.unavailable`.
    public func state() async throws -> OperationState { try await reference.state() }

    /// The progress that the operation last reported; nil if there is none.
    ///
    /// - Throws: `OperationsError` with `.notFound` or `.unavailable`.
    public func progress() async throws -> OperationProgress? { try await reference.progress() }

    /// Cancels the operation. The cancel is stored when this returns: a waiting operation has ended, a running one gets the request at once.
    ///
    /// - Parameter reason: for people, kept with the operation.
    /// - Returns: what the cancel did.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func cancel(reason: String = "") async throws -> CancelResult { try await reference.cancel(reason: reason) }
}

extension SluiceClient {
    /// A handle of an operation that was enqueued elsewhere.
    ///
    /// - Parameters:
    ///   - id: its id.
    ///   - type: its type, which must have the result's form.
    ///   - queue: the queue that it is in.
    /// - Returns: the handle; its first call says whether there is such an operation.
    public func handle<Body: DistributedOperation>(
        _ id: OperationID,
        of type: Body.Type,
        queue: String = Defaults.queue
    ) -> OperationHandle<Body> {
        OperationHandle(reference: OperationReference(id: id, queue: queue, client: self))
    }
}
