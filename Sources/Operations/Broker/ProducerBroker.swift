/// The calls of a producer, which enqueues operations and waits for their end.
package protocol ProducerBroker: ScheduleChanging, LinkingBroker, NeedsChanging {
    /// Enqueues operations, at most `SluiceDefaults.batch` and 1 MiB a call. Repeats itself safely while it reconnects.
    ///
    /// - Returns: one outcome for each operation, in order.
    func enqueue(_ operations: [NewOperation], queue: String) async throws -> [EnqueueOutcome]

    /// Enqueues any number of operations, in as many calls as `EnqueueBatches` makes of them.
    ///
    /// Calls may overlap, but take effect in order unless one has to be repeated. If a call throws, later calls may or
    /// may not have taken effect.
    ///
    /// - Parameter progress: called with the number of enqueued operations.
    /// - Returns: one outcome for each operation, in order.
    func enqueueAll(
        _ operations: [NewOperation],
        queue: String,
        progress: (Int) -> Void
    ) async throws -> [EnqueueOutcome]

    /// Waits until all operations have ended, or `timeout` passes.
    ///
    /// - Parameter progress: called with the states after the first read, and whenever more operations have ended.
    /// - Returns: the last states; nil for an operation that does not exist.
    func awaitEnd(
        of ids: [OperationID],
        queue: String,
        timeout: Duration?,
        progress: (@Sendable ([OperationState?]) -> Void)?
    ) async throws -> [OperationState?]

    /// Yields when an operation should be read: at once, and whenever its stored data may have changed (a transition,
    /// its progress).
    ///
    /// Hints that arrive faster than they are consumed become one. A hint may be lost: also read now and then without
    /// one.
    func hints(of id: OperationID, queue: String) -> AsyncStream<Void>
}

extension ProducerBroker {
    /// Waits until all operations have ended, or `timeout` passes.
    ///
    /// - Returns: the last states; nil for an operation that does not exist.
    package func awaitEnd(of ids: [OperationID], queue: String, timeout: Duration?) async throws -> [OperationState?] {
        try await awaitEnd(of: ids, queue: queue, timeout: timeout, progress: nil)
    }
}
