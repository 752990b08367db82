/// An enqueued operation of a known type: its result, its changes, its cancel.
///
/// A handle is a value; it may be copied, and dropping it changes nothing for the operation.
public struct OperationHandle<Body: DistributedOperation>: Sendable {
    /// The same operation without its type.
    public let reference: OperationReference

    package init(reference: OperationReference) { self.reference = reference }

    /// Its id.
    public var id: OperationID { reference.id }
    /// The queue that it is in.
    public var queue: String { reference.queue }

    /// Where it is now: in Redis, or in the client's buffer.
    public var storage: EnqueueStorage { reference.storage }

    /// Waits until it ended, and returns what its `main` returned. Waits without limit, also while no worker runs: after five seconds of
    /// that the client's logger gets a warning. `value(timeout:)` has a limit.
    ///
    /// - Throws: `OperationsError` with `.dead` and the last stored error, `.cancelled` with the reason, or `.expired` if it ended so;
    ///   `.notFound` if it is beyond its retention; `.unavailable` if Redis cannot be reached; `DecodingError` if the stored
    ///   result is not of the type's output. `CancellationError` when the waiting task is cancelled; the operation goes on then.
    public var value: Body.Output {
        get async throws { try Body.decode(result: try await reference.result()) }
    }

    /// Waits until it ended, but not longer than a time, and returns what its `main` returned.
    ///
    /// - Parameter timeout: longest time to wait; zero = look once. While Redis cannot be reached, the call takes up to five seconds more.
    /// - Returns: what its `main` returned.
    /// - Throws: `OperationsError` with `.timedOut`, saying how the operation stands and whether a live worker serves its queue, if it has
    ///   not ended by then; it goes on, and may be waited for again. Otherwise as `value`.
    public func value(timeout: Duration) async throws -> Body.Output {
        try Body.decode(result: try await reference.result(timeout: timeout))
    }

    /// What is stored about it, now and after every change, until it ended: states, and each progress. See `OperationReference.changes`.
    public var changes: AsyncStream<OperationStatus> { reference.changes }

    /// What is stored about it, now and after every change, until it ended or a time is over. See
    /// `OperationReference.changes(timeout:)`.
    ///
    /// - Parameter timeout: longest time until it ends; zero = look once.
    /// - Returns: the stream.
    public func changes(timeout: Duration) -> AsyncThrowingStream<OperationStatus, any Error> {
        reference.changes(timeout: timeout)
    }

    /// Where it stands now.
    ///
    /// - Throws: `OperationsError` with `.notFound` or `.unavailable`.
    public func state() async throws -> OperationState { try await reference.state() }

    /// How far it says it is; nil if it said nothing yet.
    ///
    /// - Throws: `OperationsError` with `.notFound` or `.unavailable`.
    public func progress() async throws -> OperationProgress? { try await reference.progress() }

    /// Asks to cancel it. Durable when this returns: a waiting operation has ended, a running one is told at once.
    ///
    /// - Parameter reason: for people, kept with the operation.
    /// - Returns: what the cancel met.
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
    /// - Returns: the handle; whether there is such an operation turns out when it is used.
    public func handle<Body: DistributedOperation>(
        _ id: OperationID,
        of type: Body.Type,
        queue: String = Defaults.queue
    ) -> OperationHandle<Body> {
        OperationHandle(reference: OperationReference(id: id, queue: queue, client: self))
    }
}
