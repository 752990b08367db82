import Foundation

extension SluiceClient {
    /// Enqueues one operation.
    ///
    /// Atomic, and safe to repeat with the same `id`: an operation that is there already stays as it is, and the handle is of that
    /// one. When this returns, Redis has the operation.
    ///
    /// - Parameters:
    ///   - operation: its stored properties are the arguments.
    ///   - queue: the queue's name.
    ///   - priority: how urgently it wants a slot.
    ///   - delay: time before which it is not started, counted by the server.
    ///   - at: time of the server's clock before which it is not started; not together with `delay`.
    ///   - tags: at most 16 labels of at most 64 bytes each.
    ///   - id: the id to use; nil = a new one.
    ///   - attempts: how often it may run, 1 to 999; nil = what the type's `retryPolicy` says.
    ///   - expires: time after which it is no longer started; nil = never.
    ///   - runTimeout: longest time for one attempt; nil = what the type says.
    ///   - tracked: false for the fast path without record, result and handle; see `EnqueueOptions.tracked`.
    ///   - durability: what to wait for beyond the answer; see `EnqueueOptions.durability`.
    /// - Returns: a handle to wait for the result, follow or cancel.
    /// - Throws: `OperationsError`: `.invalidName`, `.invalidOption`, `.tooLarge`; `.unavailable` if Redis cannot be reached or
    ///   refuses; `.outcomeUnknown` if no answer came (repeat with the same `id`). With a buffer (see `EnqueueBuffering`) these two do not
    ///   come: the operation is buffered, and `.bufferFull` says that there is no more room. `CancellationError` if the task is cancelled
    ///   before anything was sent: while it waits for room, or for calls that are under way.
    @discardableResult
    public func enqueue<Body: DistributedOperation>(
        _ operation: Body,
        queue: String = Defaults.queue,
        priority: OperationPriority = .normal,
        delay: Duration? = nil,
        at date: Date? = nil,
        tags: [String] = [],
        id: OperationID? = nil,
        attempts: Int? = nil,
        expires: Duration? = nil,
        runTimeout: Duration? = nil,
        tracked: Bool = true,
        durability: Durability = .none
    ) async throws -> OperationHandle<Body> {
        guard delay == nil || date == nil else {
            throw OperationsError(.invalidOption, "both a delay and a date are given: drop one of them")
        }
        let options = EnqueueOptions(
            priority: priority,
            start: delay.map { .after($0) } ?? date.map { .at($0) } ?? .now,
            tags: tags,
            id: id,
            attempts: attempts,
            expires: expires,
            runTimeout: runTimeout,
            tracked: tracked,
            durability: durability
        )
        return try await enqueue([operation], queue: queue, options: options)[0]
    }

    /// Enqueues many operations of one type in order, in calls of at most 500 operations (250 tracked ones) or 256 KiB, some
    /// of them under way at once.
    ///
    /// Each call is atomic. If one throws, what went before it is enqueued, and of the calls behind it up to seven may be. A call
    /// that has to be repeated because the connection broke may end up behind those. More than 1,000 are encoded in parallel: `encode(to:)`
    /// is then called from several threads.
    ///
    /// - Parameters:
    ///   - operations: the operations.
    ///   - queue: the queue's name.
    ///   - options: for each of them. An id is allowed for one operation only.
    /// - Returns: one handle for each operation, in order.
    /// - Throws: as `enqueue(_:queue:priority:…)`; nothing was enqueued if an argument is wrong, or if an `encode(to:)` throws, whose
    ///   error this is.
    @discardableResult
    public func enqueue<Body: DistributedOperation>(
        _ operations: [Body],
        queue: String = Defaults.queue,
        options: EnqueueOptions = EnqueueOptions()
    ) async throws -> [OperationHandle<Body>] {
        guard operations.count <= 1 || options.id == nil else {
            throw OperationsError(.invalidOption, "one id was given for \(operations.count) operations")
        }
        let encoding = Encoding<Body>(
            options: options,
            serverTime: try await serverTime(ifNeededBy: options, queue: queue)
        )
        let new = try await encoding.operations(operations)
        return try await enqueue(new, queue: queue, durability: options.durability).map {
            OperationHandle(reference: $0)
        }
    }

    /// Enqueues an operation by its name, for programs that do not have its type.
    ///
    /// - Parameters:
    ///   - name: the name under which workers registered it.
    ///   - arguments: one JSON value, usually an object.
    ///   - queue: the queue's name.
    ///   - options: priority, start and so on.
    /// - Returns: a reference to wait for, follow or cancel it.
    /// - Throws: as `enqueue(_:queue:priority:…)`.
    @discardableResult
    public func enqueue(
        name: String,
        arguments: JSONValue = [:],
        queue: String = Defaults.queue,
        options: EnqueueOptions = EnqueueOptions()
    ) async throws -> OperationReference {
        let new = try options.operation(
            name: name,
            arguments: arguments.serializedBytes(),
            serverTime: try await serverTime(ifNeededBy: options, queue: queue)
        )
        return try await enqueue([new], queue: queue, durability: options.durability)[0]
    }

    /// Enqueues prepared operations in order.
    ///
    /// - Parameters:
    ///   - operations: the operations.
    ///   - queue: the queue's name.
    ///   - durability: confirmed once, after the last call.
    ///   - progress: called after each call with the number of operations that are in.
    package func enqueue(
        _ operations: [NewOperation],
        queue: String,
        durability: Durability,
        progress: (Int) -> Void = { _ in }
    ) async throws -> [OperationReference] {
        guard durability != .none else { return try await enqueue(operations, queue: queue, progress: progress) }
        let (outcomes, isConfirmed) = try await handOver(operations, queue: queue, durability: durability, progress)
        let references = references(operations, outcomes, queue: queue)
        return isConfirmed.map { isConfirmed in references.map { $0.confirmed(isConfirmed) } } ?? references
    }

    /// The same for callers that need no references. Not through a buffer: what waits there is nothing to confirm.
    ///
    /// - Returns: what became of each operation, and whether the durability was reached in time; nil if none was asked for.
    package func handOver(
        _ operations: [NewOperation],
        queue: String,
        durability: Durability,
        _ progress: (Int) -> Void = { _ in }
    ) async throws -> (outcomes: [EnqueueOutcome], isConfirmed: Bool?) {
        try NameRule.check(queue, role: "queue")
        let sealed = try sealed(operations, queue: queue)
        guard durability != .none else {
            return (try await broker.enqueueAll(sealed, queue: queue, progress: progress), nil)
        }
        guard let durable = broker as? any DurableBroker else {
            throw OperationsError(.invalidOption, "this broker does not support `durability`: drop it")
        }
        let (outcomes, isConfirmed) = try await durable.confirming(durability, queue: queue) {
            try await broker.enqueueAll(sealed, queue: queue, progress: progress)
        }
        return (outcomes, isConfirmed)
    }

    /// The same without a wish for durability.
    package func enqueue(
        _ operations: [NewOperation],
        queue: String,
        progress: (Int) -> Void = { _ in }
    ) async throws -> [OperationReference] {
        try NameRule.check(queue, role: "queue")
        let operations = try sealed(operations, queue: queue)
        if let buffer { return try await enqueue(operations, queue: queue, through: buffer, progress) }
        let outcomes = try await broker.enqueueAll(operations, queue: queue, progress: progress)
        return references(operations, outcomes, queue: queue)
    }

    private func references(
        _ operations: [NewOperation],
        _ outcomes: [EnqueueOutcome],
        queue: String
    ) -> [OperationReference] {
        zip(operations, outcomes).map { operation, outcome in
            OperationReference(
                id: operation.id,
                queue: queue,
                isTracked: operation.tracked,
                isNew: outcome == .created,
                client: self
            )
        }
    }

    private func enqueue(
        _ operations: [NewOperation],
        queue: String,
        through buffer: EnqueueBuffer,
        _ progress: (Int) -> Void
    ) async throws -> [OperationReference] {
        guard !operations.isEmpty else { return [] }
        let receipt = try await buffer.enqueue(operations, queue: queue, progress: progress)
        return operations.enumerated().map { index, operation in
            let isNew = (try? receipt.outcome(index)?.get()) == .created
            return OperationReference(
                id: operation.id,
                queue: queue,
                isNew: isNew,
                receipt: (receipt, index),
                client: self
            )
        }
    }

    /// Signed and encrypted, where there are keys.
    private func sealed(_ operations: [NewOperation], queue: String) throws(OperationsError) -> [NewOperation] {
        guard let seal else { return operations }
        return try operations.map { operation throws(OperationsError) in
            var operation = operation
            operation.envelope = try seal.seal(operation.envelope, id: operation.id, queue: queue)
            return operation
        }
    }

    /// The server's clock, asked for only where a date is to become a delay.
    private func serverTime(ifNeededBy options: EnqueueOptions, queue: String) async throws -> Int64? {
        guard case .at = options.start else { return nil }
        try NameRule.check(queue, role: "queue")
        // While Redis is away the local clock has to do.
        if let buffer, buffer.isAway { return nil }
        do { return try await broker.snapshot(queue: queue, executingRows: 0).time } catch let error as OperationsError
            where error.code == .unavailable && buffer != nil
        {
            return nil
        }
    }
}
