extension LocalOperationQueue {
    /// Adds a closure. It starts as soon as there is a slot, in a task of its own: it inherits neither priority nor task-local values of
    /// the caller.
    ///
    /// - Parameter body: the work. What it returns or throws is the operation's `value`.
    /// - Returns: the operation; whoever does not need it may drop it.
    @discardableResult
    public func add<Output: Sendable>(_ body: @escaping @Sendable () async throws -> Output) -> ValueOperation<Output> {
        let operation = ValueOperation(home: core, body: body)
        core.add(operation)
        return operation
    }

    /// Adds a closure that is to be run in a certain way.
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

    /// Adds an operation that was made before. One that was cancelled meanwhile is accepted and stays cancelled.
    ///
    /// - Parameter operation: blocked or ready, in no queue.
    /// - Throws: `OperationsError` with `.refused` if it was added or started before, or if something before a barrier of this queue waits
    ///   for it, so that neither could ever start.
    public func add(_ operation: LocalOperation) throws(OperationsError) {
        try operation.enter(core, asBarrier: false)
    }

    /// Adds a closure that runs alone: it starts when all that was added before has ended, and what is added later starts after it.
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

    /// Adds an operation that was made before as a barrier. See `add(_:)`.
    ///
    /// - Parameter operation: blocked or ready, in no queue.
    /// - Throws: as `add(_:)`.
    public func addBarrier(_ operation: LocalOperation) throws(OperationsError) {
        try operation.enter(core, asBarrier: true)
    }
}

extension QueueCore {
    /// Adds an operation that nobody else knows yet.
    func add(_ operation: LocalOperation, asBarrier: Bool = false) {
        let launches = scheduler.withLock { scheduler in
            scheduler.add(operation, asBarrier: asBarrier)
            return scheduler.recruit()
        }
        for _ in 0..<launches { launch(operation.quality) }
    }
}
