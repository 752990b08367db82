import Foundation

extension SluiceClient {
    /// Enqueues one operation.
    ///
    /// ```swift
    /// try await sluice.enqueue(Resize(path: "a.png", width: 200), .queue("images"), .priority(.high))
    /// ```
    ///
    /// Atomic, and safe to repeat with the same `id`: an existing operation stays unchanged, and the handle refers to
    /// it. Redis has stored the operation when this returns.
    ///
    /// - Parameters:
    ///   - operation: the operation; its stored properties are the arguments.
    ///   - options: queue, priority, delay and so on. A later option replaces an earlier one; tags and headers add up.
    /// - Returns: a handle to wait for the result, and to follow or cancel the operation.
    /// - Throws:
    ///   - `OperationsError` with `.invalidName`, `.invalidOption` or `.tooLarge`.
    ///   - `OperationsError` with `.unavailable` if Redis cannot be reached or refuses the call, `.outcomeUnknown` if
    ///     no answer came (repeat with the same `id`). A client with a buffer (see `EnqueueBuffering`) buffers the
    ///     operation instead, and throws `.bufferFull` if the buffer has no room.
    ///   - `CancellationError` if the task is cancelled before anything was sent: while it waits for room, or for calls
    ///     in flight.
    ///   - Errors of `encode(to:)`.
    @discardableResult
    public func enqueue<Body: OperationArguments>(
        _ operation: Body,
        _ options: EnqueueOptions...
    ) async throws -> OperationHandle<Body> {
        try await enqueue([operation], EnqueueOptions(options), own: nil)[0]
    }

    /// Enqueues one operation whose type is known only at run time.
    ///
    /// - Parameters:
    ///   - operation: the operation; its stored properties are the arguments.
    ///   - options: queue, priority, delay and so on. A later option replaces an earlier one; tags and headers add up.
    /// - Returns: a reference to wait for, follow or cancel the operation.
    /// - Throws: the errors of the enqueue of an operation of a known type.
    @_disfavoredOverload
    @discardableResult
    public func enqueue(
        _ operation: any OperationArguments,
        _ options: EnqueueOptions...
    ) async throws -> OperationReference {
        try await reference(operation, EnqueueOptions(options))
    }

    private func reference<Body: OperationArguments>(
        _ operation: Body,
        _ options: EnqueueOptions
    ) async throws -> OperationReference {
        try await enqueue([operation], options, own: nil)[0].reference
    }

    /// Enqueues many operations of one type in order.
    ///
    /// ```swift
    /// try await sluice.enqueue(pages.map(Sync.init), .queue("sync")) { .id(OperationID(key: "sync-\($0.page)")) }
    /// ```
    ///
    /// The calls have at most 500 operations (250 tracked ones) or 256 KiB each, and several are in flight at once.
    /// Each call is atomic. If one call throws, all calls before it have enqueued their operations, and up to seven
    /// calls behind it may have. A call that is repeated because the connection broke may end up behind those. More
    /// than 1,000 operations are encoded in parallel: `encode(to:)` is then called from several threads.
    ///
    /// - Parameters:
    ///   - operations: the operations.
    ///   - options: the options of all operations. An id is allowed for one operation only.
    ///   - each: returns the own options of an operation, which follow the common ones; nil = no own options. Queue and
    ///     durability must be the same for all.
    /// - Returns: one handle for each operation, in order.
    /// - Throws: as the enqueue of one operation, and errors of `each`. Nothing was enqueued if an option or argument
    ///   is wrong, or if `each` or an `encode(to:)` throws.
    @discardableResult
    public func enqueue<Body: OperationArguments>(
        _ operations: [Body],
        _ options: EnqueueOptions...,
        each: (@Sendable (Body) throws -> EnqueueOptions)? = nil
    ) async throws -> [OperationHandle<Body>] {
        let common = EnqueueOptions(options)
        guard operations.count <= 1 || common.id == nil else {
            throw OperationsError(
                .invalidOption,
                "one id was given for \(operations.count) operations: give each its own, enqueue(…) { .id(…) }"
            )
        }
        let own = try each.map { each in try operations.map { try common.with(each($0)) } }
        return try await enqueue(operations, common, own: own)
    }

    /// Enqueues an operation by its name, for programs that do not have its type.
    ///
    /// ```swift
    /// try await sluice.enqueue(name: "image.resize", arguments: ["path": "a.png", "width": 200], .queue("images"))
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name under which workers registered it.
    ///   - arguments: one JSON value, usually an object.
    ///   - options: queue, priority, delay and so on. A later option replaces an earlier one; tags and headers add up.
    /// - Returns: a reference to wait for the operation, follow it or cancel it.
    /// - Throws: as the enqueue of an operation by its type.
    @discardableResult
    public func enqueue(
        name: String,
        arguments: JSONArguments = [:],
        _ options: EnqueueOptions...
    ) async throws -> OperationReference {
        let options = EnqueueOptions(options)
        let new = try options.operation(
            name: name,
            arguments: arguments.value.serializedBytes(),
            serverTime: try await serverTime(isNeeded: options.needsServerTime, queue: options.queueName)
        )
        return try await enqueue([new], queue: options.queueName, durability: options.durability ?? .none)[0]
    }

    /// - Parameter own: all options of each operation; nil = all have the common options.
    private func enqueue<Body: OperationArguments>(
        _ operations: [Body],
        _ common: EnqueueOptions,
        own: [EnqueueOptions]?
    ) async throws -> [OperationHandle<Body>] {
        let needsServerTime = own?.contains(where: \.needsServerTime) ?? common.needsServerTime
        let encoding = Encoding<Body>(
            options: common,
            own: own,
            serverTime: try await serverTime(isNeeded: needsServerTime, queue: common.queueName)
        )
        let new = try await encoding.operations(operations)
        return try await enqueue(new, queue: common.queueName, durability: common.durability ?? .none)
            .map { OperationHandle(reference: $0) }
    }

    /// Passes prepared operations through the middleware and stores them in order.
    ///
    /// - Parameters:
    ///   - operations: the operations.
    ///   - queue: the name of the queue.
    ///   - durability: the confirmation to wait for, once, after the last call.
    ///   - progress: called after each call with the number of operations enqueued so far.
    package func enqueue(
        _ operations: [NewOperation],
        queue: String,
        durability: Durability = .none,
        progress: (Int) -> Void = { _ in }
    ) async throws -> [OperationReference] {
        guard middleware.isEmpty || operations.isEmpty else {
            return try await middleware.enqueue(operations, queue: queue) { operations in
                let references = try await store(operations, queue: queue, durability: durability)
                return (references, references.map(\.forMiddleware))
            }
        }
        return try await store(operations, queue: queue, durability: durability, progress: progress)
    }

    /// Stores prepared operations without middleware, through the buffer if the client has one.
    func store(
        _ operations: [NewOperation],
        queue: String,
        durability: Durability = .none,
        progress: (Int) -> Void = { _ in }
    ) async throws -> [OperationReference] {
        if let buffer, durability == .none {
            return try await store(operations, queue: queue, in: buffer, progress)
        }
        let (outcomes, isConfirmed) = try await outcomes(operations, queue: queue, durability: durability, progress)
        let references = try references(operations, outcomes, queue: queue)
        return isConfirmed.map { isConfirmed in references.map { $0.confirmed(isConfirmed) } } ?? references
    }

    /// Stores prepared operations for callers that need no references, without middleware and buffer.
    ///
    /// - Returns: the outcome of each operation, and whether the durability was reached in time; nil if none was
    ///   requested.
    package func outcomes(
        _ operations: [NewOperation],
        queue: String,
        durability: Durability,
        _ progress: (Int) -> Void = { _ in }
    ) async throws -> (outcomes: [EnqueueOutcome], isConfirmed: Bool?) {
        try NameRule.check(queue, role: "queue")
        let sealed = try sealed(operations, queue: queue)
        guard durability != .none else {
            let needsOthers = sealed.contains { $0.links?.needsOthers == true }
            return needsOthers
                ? (try await broker.enqueueLinked(sealed, queue: queue, progress: progress), nil)
                : (try await broker.enqueueAll(sealed, queue: queue, progress: progress), nil)
        }
        guard let durable = broker as? any DurableBroker else {
            throw OperationsError(.invalidOption, "this broker does not support `durability`: drop it")
        }
        let (outcomes, isConfirmed) = try await durable.confirming(durability, queue: queue) {
            try await broker.enqueueLinked(sealed, queue: queue, progress: progress)
        }
        return (outcomes, isConfirmed)
    }

    private func references(
        _ operations: [NewOperation],
        _ outcomes: [EnqueueOutcome],
        queue: String
    ) throws(OperationsError) -> [OperationReference] {
        try zip(operations, outcomes).map { operation, outcome throws(OperationsError) in
            OperationReference(
                id: try outcome.id(of: operation),
                queue: queue,
                isTracked: operation.tracked,
                isNew: outcome == .created,
                client: self
            )
        }
    }

    /// Stores operations in the buffer, which sends them in order.
    private func store(
        _ operations: [NewOperation],
        queue: String,
        in buffer: EnqueueBuffer,
        _ progress: (Int) -> Void
    ) async throws -> [OperationReference] {
        try NameRule.check(queue, role: "queue")
        let operations = try sealed(operations, queue: queue)
        guard !operations.contains(where: { $0.links != nil }) else {
            throw OperationsError(
                .invalidOption,
                "a client with a buffer does not support .unique, .limitKey, .after and .group: "
                    + "use a client without a buffer for these operations"
            )
        }
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

    /// Returns the operations with their automatic unique keys, signed and encrypted if the client has keys.
    private func sealed(_ operations: [NewOperation], queue: String) throws(OperationsError) -> [NewOperation] {
        guard seal != nil || operations.contains(where: { $0.links != nil }) else { return operations }
        return try operations.map { operation throws(OperationsError) in
            var operation = try operation.withUniqueKey(seal: seal)
            guard let seal else { return operation }
            operation.envelope = try seal.seal(operation.envelope, id: operation.id, queue: queue)
            return operation
        }
    }

    /// Reads the server's clock, if a date has to become a delay.
    private func serverTime(isNeeded: Bool, queue: String) async throws -> Int64? {
        guard isNeeded else { return nil }
        try NameRule.check(queue, role: "queue")
        // While Redis is away, the local clock has to do.
        if let buffer, buffer.isAway { return nil }
        do { return try await broker.snapshot(queue: queue, executingRows: 0).time } catch let error as OperationsError
            where error.code == .unavailable && buffer != nil
        {
            return nil
        }
    }
}

extension EnqueueOutcome {
    /// Returns the id of the operation that the caller gets for the enqueued one.
    ///
    /// - Throws:
    ///   - `.refused` if too many operations wait for the unique key, or the group takes no more members or callbacks.
    ///   - `.notFound` if a dependency does not exist.
    ///   - `.leaseLost` if the run that enqueues the operation has ended.
    package func id(of operation: NewOperation) throws(OperationsError) -> OperationID {
        switch self {
        case .created, .exists: return operation.id
        case .taken(let id): return id
        case .unknownDependency(let id):
            let name = operation.links?.after.first { $0.id == id }?.name ?? DependencyName(id)
            throw OperationsError(
                .notFound,
                "dependency \(name) does not exist: it was never enqueued, was removed, is untracked, "
                    + "or is past its retention",
                id: operation.id
            )
        case .closedGroup(let id) where operation.links?.callback?.group.id == id:
            let most = GroupTerms.mostDeathCallbacks
            let full =
                operation.links?.callback?.when == .firstDeath
                ? ", or has \(most) such callbacks, which is the limit" : ""
            throw OperationsError(
                .refused,
                "group \(id) takes no more callbacks of this kind: it has ended or is not a group\(full)",
                id: operation.id
            )
        case .closedGroup(let id):
            throw OperationsError(
                .refused,
                "group \(id) takes no more members: it does not exist, is not a group, has ended, "
                    + "or has \(GroupTerms.mostMembers) members; see: sluice group show \(id)",
                id: operation.id
            )
        case .staleRun:
            throw OperationsError(
                .leaseLost,
                "the run that enqueues this operation has ended, so nothing was enqueued",
                id: operation.id
            )
        case .crowded:
            let key = operation.links?.unique?.key ?? ""
            throw OperationsError(
                .refused,
                "more than 100 operations wait for the unique key \(OperationsError.quoted(key)), too many to replace at once: cancel them first",
                id: operation.id
            )
        }
    }
}
