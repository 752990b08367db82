extension LocalOperationQueue {
    /// Adds a closure, which runs as soon as a slot is free. The closure inherits neither priority nor task-local
    /// values of the caller.
    ///
    /// - Parameter body: the work, which returns or throws the operation's `value`.
    /// - Returns: the operation. The queue keeps it alive.
    @discardableResult
    public func add<Output: Sendable>(_ body: @escaping @Sendable () async throws -> Output) -> ValueOperation<Output> {
        let operation = ValueOperation(home: core, body: body)
        core.add(operation)
        return operation
    }

    /// Adds a closure with options.
    ///
    /// - Parameters:
    ///   - options: name, priority, time limit, retries.
    ///   - body: the work.
    /// - Returns: the operation.
    @discardableResult
    public func add<Output: Sendable>(
        _ options: LocalOperationOptions,
        _ body: @escaping @Sendable () async throws -> Output
    ) -> ValueOperation<Output> {
        let operation = ValueOperation(options: options, home: core, body: body)
        core.add(operation)
        return operation
    }

    /// Adds an existing operation. A cancelled one is accepted and stays cancelled.
    ///
    /// - Parameter operation: a blocked or ready operation that is in no queue.
    /// - Throws: `OperationsError` with `.refused` if the operation was added or started before. Also if an operation
    ///   before a barrier of this queue waits for it, so that neither could start.
    public func add(_ operation: LocalOperation) throws(OperationsError) {
        try operation.enter(core, asBarrier: false)
    }

    /// Adds a closure as a barrier: it starts when all earlier operations have ended, and later ones start after it.
    ///
    /// - Parameters:
    ///   - options: name, time limit, retries; a priority has no effect.
    ///   - body: the work.
    /// - Returns: the operation.
    @discardableResult
    public func addBarrier<Output: Sendable>(
        _ options: LocalOperationOptions = LocalOperationOptions(),
        _ body: @escaping @Sendable () async throws -> Output
    ) -> ValueOperation<Output> {
        let operation = ValueOperation(options: options, home: core, body: body)
        core.add(operation, asBarrier: true)
        return operation
    }

    /// Adds an existing operation as a barrier. See `add(_:)`.
    ///
    /// - Parameter operation: a blocked or ready operation that is in no queue.
    /// - Throws: as `add(_:)`.
    public func addBarrier(_ operation: LocalOperation) throws(OperationsError) {
        try operation.enter(core, asBarrier: true)
    }
}

extension QueueCore {
    /// Adds an operation that only this call knows.
    func add(_ operation: LocalOperation, asBarrier: Bool = false) {
        let launches = scheduler.withLock { scheduler in
            scheduler.add(operation, asBarrier: asBarrier)
            return scheduler.recruit()
        }
        for _ in 0..<launches { launch(operation.quality) }
    }
}
