import Operations

extension OperationContext {
    /// The client of the worker that runs this operation: for all that is not bound to the run.
    ///
    /// - Throws: `OperationsError` with `.refused` in a local queue, which has no server.
    public var sluice: SluiceClient {
        get throws {
            guard let client = link.producer?.client as? SluiceClient else {
                throw OperationsError(
                    .refused,
                    "operation \(id) runs in a local queue, which has no server to enqueue to: run it on a worker",
                    id: id
                )
            }
            return client
        }
    }

    /// Enqueues an operation from the body of this one. It gets the headers of this operation besides its own.
    ///
    /// ```swift
    /// for page in 1...document.pageCount {
    ///     try await context.enqueue(Thumbnail(page: page), .queue("images"), .withCompletion)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - operation: its stored properties are the arguments.
    ///   - options: queue, priority, delay and so on; with `.withCompletion` it starts only if this run finishes.
    /// - Returns: a handle to wait for the result, follow or cancel it.
    /// - Throws: as `SluiceClient.enqueue(_:_:)`; `.refused` in a local queue, and with `.withCompletion` for an untracked operation; `.leaseLost` with
    ///   `.withCompletion` if this run does not own the operation any more.
    @discardableResult
    public func enqueue<Body: DistributedOperation>(
        _ operation: Body,
        _ options: EnqueueOptions...
    ) async throws -> OperationHandle<Body> {
        try await sluice.enqueue(operation, try await ofRun(EnqueueOptions(options)))
    }

    /// Enqueues many operations of one type from the body of this one, in as few calls as there can be; see `enqueue(_:_:)`.
    ///
    /// - Parameters:
    ///   - operations: the operations.
    ///   - options: for each of them.
    /// - Returns: one handle for each operation, in order.
    /// - Throws: as `enqueue(_:_:)` of one operation. A part may be enqueued then; what is bound to the completion goes if this run does not finish.
    @discardableResult
    public func enqueue<Body: DistributedOperation>(
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
    /// - Returns: a reference to wait for, follow or cancel it.
    /// - Throws: as `enqueue(_:_:)` of an operation by its type.
    @discardableResult
    public func enqueue(
        name: String,
        arguments: JSONValue = [:],
        _ options: EnqueueOptions...
    ) async throws -> OperationReference {
        try await sluice.enqueue(name: name, arguments: arguments, try await ofRun(EnqueueOptions(options)))
    }

    /// The groups that this operation is in: as long as it runs, others can be added to them.
    ///
    /// ```swift
    /// for group in try await context.groups() {
    ///     for link in page.links { try await context.enqueue(Crawl(url: link), .group(group)) }
    /// }
    /// ```
    ///
    /// - Returns: of all queues, in the order of their ids.
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

    /// With the headers of this operation, and bound to its run if that is asked for.
    private func ofRun(_ options: EnqueueOptions) async throws -> EnqueueOptions {
        var options = options
        options.headers.merge(headers) { own, _ in own }
        guard options.isForCompletion else { return options }
        guard link.isTracked, let producer = link.producer else {
            throw OperationsError(
                .refused,
                "what is enqueued .withCompletion needs the record of operation \(id), which is untracked: enqueue that tracked, or this at once",
                id: id
            )
        }
        let (client, queue) = (try sluice, queue)
        let group = try await producer.group { try await client.openGroup(of: producer.run, queue: queue) }
        options.callback = GroupCallback(.success, of: DependencyName(group, queue: queue))
        return options
    }
}

extension SluiceClient {
    /// Opens the group that finishes with a run, in its queue.
    ///
    /// - Throws: `.leaseLost` if its worker does not hold the run any more.
    fileprivate func openGroup(of run: RunClaim, queue: String) async throws -> OperationID {
        var new = try EnqueueOptions().operation(
            name: GroupTerms.name,
            arguments: (["name": .string("children-of-\(run.id)")] as JSONValue).serializedBytes(),
            serverTime: nil
        )
        new.links = OperationLinks(run: run)
        return try await enqueue([new], queue: queue, durability: .none)[0].id
    }
}

extension EnqueueOptions {
    /// Lets an operation start with the completion of the run that enqueues it, in `OperationContext.enqueue`: it is `blocked` until then, and removed if
    /// the run ends in any other way, be it a failure with a next attempt, a cancel or a lost worker. All that a run has enqueued so starts, or nothing.
    public static var withCompletion: EnqueueOptions {
        var options = EnqueueOptions()
        options.isForCompletion = true
        return options
    }

    /// - Throws: `.invalidOption` for `.withCompletion` outside of a run, and with `.untracked`.
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
