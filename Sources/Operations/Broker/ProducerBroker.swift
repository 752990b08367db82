/// What a producer needs: it puts operations into queues and waits for their end.
package protocol ProducerBroker: ScheduleChanging, LinkingBroker, NeedsChanging {
    /// Puts operations into a queue, at most `Defaults.batch` and 1 MiB a call. Repeats itself safely while it reconnects.
    ///
    /// - Returns: one outcome for each operation, in order.
    func enqueue(_ operations: [NewOperation], queue: String) async throws -> [EnqueueOutcome]

    /// Puts any number of operations into a queue, in as many calls as `EnqueueBatches` makes of them. Calls may overlap, but take
    /// effect in order unless one has to be repeated. If one throws, those behind it may have been made or not.
    ///
    /// - Parameter progress: called with the number of operations that are in.
    /// - Returns: one outcome for each operation, in order.
    func enqueueAll(
        _ operations: [NewOperation],
        queue: String,
        progress: (Int) -> Void
    ) async throws -> [EnqueueOutcome]

    /// Waits until all of the operations are terminal; ends early when `timeout` passes.
    ///
    /// - Parameter progress: called with the states when they were read first, and when more have ended.
    /// - Returns: the states at the end; nil where there is no such operation.
    func awaitEnd(
        of ids: [OperationID],
        queue: String,
        timeout: Duration?,
        progress: (@Sendable ([OperationState?]) -> Void)?
    ) async throws -> [OperationState?]

    /// Yields when an operation should be read: at once, and whenever what is stored about it may have changed: a transition, its progress.
    /// Hints that follow each other faster than they are taken become one, and one may be missed: read now and then without.
    func hints(of id: OperationID, queue: String) -> AsyncStream<Void>
}

extension ProducerBroker {
    /// Waits until all of the operations are terminal; ends early when `timeout` passes.
    ///
    /// - Returns: the states at the end; nil where there is no such operation.
    package func awaitEnd(of ids: [OperationID], queue: String, timeout: Duration?) async throws -> [OperationState?] {
        try await awaitEnd(of: ids, queue: queue, timeout: timeout, progress: nil)
    }
}
