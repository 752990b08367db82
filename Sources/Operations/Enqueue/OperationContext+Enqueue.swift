/// Enqueues operations for the bodies of a worker.
package protocol BodyClient: Sendable {
    /// Enqueues an operation for the body that has this context.
    func enqueue(
        _ operation: any OperationArguments,
        _ options: EnqueueOptions,
        from context: OperationContext
    ) async throws -> EnqueuedOperation
}

extension OperationContext {
    /// Returns the client of the worker.
    ///
    /// - Throws: `OperationsError` with `.refused` in a local queue.
    package func bodyClient() throws(OperationsError) -> any BodyClient {
        guard let client = link.producer?.client else {
            throw OperationsError(
                .refused,
                "operation \(id) runs in a local queue, which has no server to enqueue to: run it on a worker",
                id: id
            )
        }
        return client
    }

    /// Enqueues an operation from the body of this one. The new operation gets the headers of this one in addition to
    /// its own.
    ///
    /// ```swift
    /// for page in 1...document.pageCount {
    ///     try await context.enqueue(Thumbnail(page: page), .queue("images"), .withCompletion)
    /// }
    /// ```
    ///
    /// Modules that import `Sluice` get a handle instead of this answer, to wait for the result and to follow or cancel
    /// the operation.
    ///
    /// - Parameters:
    ///   - operation: the operation; its stored properties are the arguments.
    ///   - options: queue, priority, delay and so on. With `.withCompletion` the operation starts only if this run
    ///     finishes.
    /// - Returns: the id of the operation, and whether it is new.
    /// - Throws: `OperationsError` with `.invalidName`, `.invalidOption` or `.tooLarge`; `.unavailable` if Redis cannot
    ///   be reached; `.refused` in a local queue, and with `.withCompletion` if this operation is untracked;
    ///   `.leaseLost` with `.withCompletion` if this run no longer owns the operation.
    @_disfavoredOverload
    @discardableResult
    public func enqueue(
        _ operation: any OperationArguments,
        _ options: EnqueueOptions...
    ) async throws -> EnqueuedOperation {
        try await bodyClient().enqueue(operation, EnqueueOptions(options), from: self)
    }
}
