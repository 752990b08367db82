import Operations

extension OperationContext {
    /// The client of the worker that runs this operation, for calls that are not bound to the run.
    ///
    /// - Throws: `OperationsError` with `.refused` in a local queue, which has no server.
    public var sluice: SluiceClient {
        get throws {
            guard let client = try bodyClient() as? SluiceClient else {
                preconditionFailure("the worker of \(id) has a client of another type")
            }
            return client
        }
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
    /// - Parameters:
    ///   - operation: the operation; its stored properties are the arguments.
    ///   - options: queue, priority, delay and so on. With `.withCompletion` the operation starts only if this run
    ///     finishes.
    /// - Returns: a handle to wait for the result, and to follow or cancel the operation.
    /// - Throws: as `SluiceClient.enqueue(_:_:)`; `.refused` in a local queue, and with `.withCompletion` if this
    ///   operation is untracked; `.leaseLost` with `.withCompletion` if this run no longer owns the operation.
    @discardableResult
    public func enqueue<Body: OperationArguments>(
        _ operation: Body,
        _ options: EnqueueOptions...
    ) async throws -> OperationHandle<Body> {
        try await sluice.enqueue(operation, try await ofRun(EnqueueOptions(options)))
    }

    /// Enqueues many operations of one type from the body of this one, in as few calls as possible; see
    /// `enqueue(_:_:)`.
    ///
    /// - Parameters:
    ///   - operations: the operations.
    ///   - options: the options of each operation.
    /// - Returns: one handle for each operation, in order.
    /// - Throws: as `enqueue(_:_:)` of one operation. Some operations may be enqueued then; those bound to the
    ///   completion are removed if this run does not finish.
    @discardableResult
    public func enqueue<Body: OperationArguments>(
        _ operations: [Body],
        _ options: EnqueueOptions...
    ) async throws -> [OperationHandle<Body>] {
        try await sluice.enqueue(operations, try await ofRun(EnqueueOptions(options)))
    }

    /// Enqueues an operation by its name from the body of this one; see `enqueue(_:_:)`.
    ///
    /// - Parameters:
    ///   - name: the name under which workers registered it.
    ///   - arguments: one JSON value, usually an object.
    ///   - options: queue, priority, delay and so on.
    /// - Returns: a reference to wait for the operation, follow it or cancel it.
    /// - Throws: as `enqueue(_:_:)` of an operation by its type.
    @discardableResult
    public func enqueue(
        name: String,
        arguments: JSONArguments = [:],
        _ options: EnqueueOptions...
    ) async throws -> OperationReference {
        try await sluice.enqueue(name: name, arguments: arguments, try await ofRun(EnqueueOptions(options)))
    }

    /// The groups that this operation is a member of. While it runs, other operations can be added to them.
    ///
    /// ```swift
    /// for group in try await context.groups() {
    ///     for link in page.links { try await context.enqueue(Crawl(url: link), .group(group)) }
    /// }
    /// ```
    ///
    /// - Returns: the groups of all queues, in the order of their ids.
    /// - Throws: `OperationsError` with `.refused` in a local queue, `.unavailable` if Redis cannot be reached.
    public func groups() async throws -> [OperationGroup] {
        let client = try sluice
        let dependents = try await client.broker.edges(.dependents, of: id, queue: queue)
        var groups: [OperationGroup] = []
        for (queue, names) in Dictionary(grouping: dependents, by: { $0.queue ?? queue }) {
            for detail in try await client.broker.allDetails(names.map(\.id), queue: queue).compactMap({ $0 })
            where detail.links.group != nil {
                groups.append(client.group(detail.id, queue: queue))
            }
        }
        return groups.sorted { $0.id < $1.id }
    }

    /// Returns the options with the headers of this operation, and bound to its run if they have `.withCompletion`.
    fileprivate func ofRun(_ options: EnqueueOptions) async throws -> EnqueueOptions {
        var options = options
        options.headers = TraceContext.inherited(headers, by: options.headers)
        guard options.isForCompletion else { return options }
        guard link.isTracked, let producer = link.producer else {
            throw OperationsError(
                .refused,
                "operation \(id) is untracked and cannot enqueue .withCompletion: "
                    + "drop .untracked where it is enqueued, or drop .withCompletion",
                id: id
            )
        }
        let (client, queue) = (try sluice, queue)
        let group = try await producer.group { try await client.openGroup(of: producer.run, queue: queue) }
        options.callback = GroupCallback(.success, of: DependencyName(group, queue: queue))
        return options
    }
}

extension SluiceClient: BodyClient {
    package func enqueue(
        _ operation: any OperationArguments,
        _ options: EnqueueOptions,
        from context: OperationContext
    ) async throws -> EnqueuedOperation {
        let reference: OperationReference = try await enqueue(operation, try await context.ofRun(options))
        return EnqueuedOperation(id: reference.id, isNew: reference.isNew)
    }
}

extension SluiceClient {
    /// Opens the group that finishes with a run, in the queue of the run.
    ///
    /// - Throws: `.leaseLost` if the worker no longer holds the run.
    fileprivate func openGroup(of run: RunClaim, queue: String) async throws -> OperationID {
        var new = try EnqueueOptions().operation(
            name: GroupTerms.name,
            arguments: (["name": .string("children-of-\(run.id)")] as JSONValue).serializedBytes(),
            serverTime: nil
        )
        new.links = OperationLinks(run: run)
        return try await store([new], queue: queue)[0].id
    }
}

extension EnqueueOptions {
    /// - Throws: `.invalidOption` for `.withCompletion` outside a run, and together with `.untracked`.
    func boundToRun(_ links: OperationLinks?) throws(OperationsError) -> OperationLinks? {
        guard isForCompletion else { return links }
        guard let callback else {
            throw OperationsError(
                .invalidOption,
                ".withCompletion is for OperationContext.enqueue: a client has no run that could finish"
            )
        }
        guard tracked != false else {
            throw OperationsError(
                .invalidOption,
                "an untracked operation cannot wait for a completion: drop .untracked"
            )
        }
        var links = links ?? OperationLinks(callback: callback)
        links.callback = callback
        return links
    }
}
