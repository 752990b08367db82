import Operations

extension SluiceClient {
    /// Runs work as a group: enqueues the members that the body adds, in bulk, and closes the group when the body
    /// returns.
    ///
    /// ```swift
    /// let nightly = try await sluice.withGroup("nightly", onSuccess: Report(day: day)) { group in
    ///     for page in pages { group.add(Sync(page: page)) }
    /// }
    /// for try await progress in nightly.progressChanges { print(progress.fraction) }
    /// ```
    ///
    /// Callbacks are operations of the group's queue, enqueued together with the group. A callback is `blocked` until
    /// its time, and starts exactly once. If the body throws, the group and all its members are cancelled. If the
    /// process dies, workers apply `ifAbandoned` after a minute.
    ///
    /// - Parameters:
    ///   - name: a name for people, 1 to 128 characters; see `NameRule`.
    ///   - options: the group's queue, id, tags, headers and expiry, and the groups that it enters. Other options are
    ///     refused.
    ///   - onSuccess: starts when all members have finished, also after retries. Removed if the group is cancelled.
    ///   - onEnd: starts when all members have ended, in any state.
    ///   - onFirstDeath: starts when the first member is dead. Removed if the group ends without a dead member.
    ///   - ifAbandoned: the policy if this process dies before the body has returned.
    ///   - isolation: the actor on which the body runs: that of the caller.
    ///   - body: adds members.
    /// - Returns: the group, closed.
    /// - Throws: errors of the body, and `OperationsError`:
    ///   - `.invalidName` or `.invalidOption` for the name or an option.
    ///   - `.refused` if a group with this id has finished, was cancelled or has expired, or if the id belongs to an
    ///     operation that is no group.
    ///   - `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func withGroup(
        _ name: String,
        _ options: EnqueueOptions...,
        onSuccess: (any OperationArguments)? = nil,
        onEnd: (any OperationArguments)? = nil,
        onFirstDeath: (any OperationArguments)? = nil,
        ifAbandoned: AbandonedGroupPolicy = .cancel,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (OpenGroup) async throws -> Void
    ) async throws -> OperationGroup {
        let group = try await openGroup(
            name,
            EnqueueOptions(options),
            onSuccess: onSuccess,
            onEnd: onEnd,
            onFirstDeath: onFirstDeath,
            ifAbandoned: ifAbandoned,
            lease: OpenGroup.lease
        )
        let open = OpenGroup(group)
        let renewal = open.renewing()
        defer { renewal.cancel() }
        do {
            try await body(open)
            try await open.send()
        } catch {
            // In a new task: a cancel of this task must not stop the cancel of the members.
            await Task { _ = try? await group.cancel(reason: "the code that filled the group threw an error") }.value
            throw error
        }
        try await group.close()
        return group
    }

    /// Opens a group that takes members until it is closed; see `withGroup`, which closes it by itself.
    ///
    /// - Parameters:
    ///   - name: a name for people, 1 to 128 characters; see `NameRule`.
    ///   - options: as in `withGroup`.
    ///   - onSuccess: starts when all members have finished, also after retries. Removed if the group is cancelled.
    ///   - onEnd: starts when all members have ended, in any state.
    ///   - onFirstDeath: starts when the first member is dead. Removed if the group ends without a dead member.
    ///   - ifAbandoned: the policy if the group is not closed and gets no members for the time of the lease.
    ///   - lease: that time, 1 second to 7 days.
    /// - Returns: the open group. If a group with the same id exists and can still get members, that group unchanged.
    /// - Throws: as `withGroup`.
    public func openGroup(
        _ name: String,
        _ options: EnqueueOptions...,
        onSuccess: (any OperationArguments)? = nil,
        onEnd: (any OperationArguments)? = nil,
        onFirstDeath: (any OperationArguments)? = nil,
        ifAbandoned: AbandonedGroupPolicy = .close,
        lease: Duration = .seconds(3600)
    ) async throws -> OperationGroup {
        try await openGroup(
            name,
            EnqueueOptions(options),
            onSuccess: onSuccess,
            onEnd: onEnd,
            onFirstDeath: onFirstDeath,
            ifAbandoned: ifAbandoned,
            lease: lease
        )
    }

    /// Returns a group by its id, without a call to Redis.
    ///
    /// - Parameters:
    ///   - id: the id of the group. A wrong id is noticed only when the group is used.
    ///   - queue: the queue that stores the group.
    public func group(_ id: OperationID, queue: String = SluiceDefaults.queue) -> OperationGroup {
        OperationGroup(OperationReference(id: id, queue: queue, client: self))
    }

    private func openGroup(
        _ name: String,
        _ options: EnqueueOptions,
        onSuccess: (any OperationArguments)?,
        onEnd: (any OperationArguments)?,
        onFirstDeath: (any OperationArguments)?,
        ifAbandoned: AbandonedGroupPolicy,
        lease: Duration
    ) async throws -> OperationGroup {
        let id = options.id ?? OperationID()
        let given: [(GroupCallback.When, (any OperationArguments)?)] = [
            (.success, onSuccess), (.end, onEnd), (.firstDeath, onFirstDeath),
        ]
        var callbacks: [NewOperation] = []
        for (when, operation) in given {
            guard let operation else { continue }
            callbacks.append(try await callback(operation, when, of: id, queue: options.queueName))
        }
        return try await openGroup(name, id: id, options, callbacks: callbacks, ifAbandoned, lease: lease)
    }

    /// - Parameter callbacks: the group's callbacks; see `callback`.
    package func openGroup(
        _ name: String,
        id: OperationID,
        _ options: EnqueueOptions,
        callbacks: [NewOperation] = [],
        _ ifAbandoned: AbandonedGroupPolicy,
        lease: Duration
    ) async throws -> OperationGroup {
        try NameRule.check(name, role: "group")
        try options.checkForGroup()
        guard lease >= .seconds(1), lease.wholeMilliseconds <= GroupTerms.longestLease else {
            throw OperationsError(
                .invalidOption,
                "the lease of a group is \(lease.wholeMilliseconds / 1000) s: use 1 second to 7 days"
            )
        }
        var options = options
        options.id = id
        var new = try options.operation(
            name: GroupTerms.name,
            arguments: (["name": .string(name)] as JSONValue).serializedBytes(),
            serverTime: nil
        )
        var links = OperationLinks(
            group: GroupTerms(ifAbandoned: ifAbandoned, leaseMilliseconds: lease.wholeMilliseconds)
        )
        links.entering = new.links?.entering ?? []
        new.links = links
        let group = OperationGroup(try await store([new], queue: options.queueName)[0])
        if !group.isNew {
            guard let state = GroupProgress(try await group.reference.detail())?.state else {
                throw OperationsError(
                    .refused,
                    "operation \(group.id) in queue \(group.queue) exists and is not a group: use another id",
                    id: group.id
                )
            }
            guard state == .blocked || state == .dead else {
                throw OperationsError(
                    .refused,
                    "group \(group.id) is \(state.rawValue) and takes no more members: use another id",
                    id: group.id
                )
            }
            // The callbacks of a dead group may have started already.
            if state == .dead { return group }
        }
        if !callbacks.isEmpty { _ = try await enqueue(callbacks, queue: options.queueName, durability: .none) }
        return group
    }

    private func callback(
        _ operation: some OperationArguments,
        _ when: GroupCallback.When,
        of group: OperationID,
        queue: String
    ) async throws -> NewOperation {
        let options = EnqueueOptions(.queue(queue))
        let encoded = try await Encoding(options: options, own: nil, serverTime: nil).operations([operation])[0]
        return encoded.callback(when, of: group)
    }

    /// - Parameter names: the new members, with their queues.
    package func add(_ names: [DependencyName], to group: OperationGroup) async throws {
        let members = names.map { DependencyName($0.id, queue: $0.queue == group.queue ? nil : $0.queue) }
        for part in members.parts {
            var links = OperationLinks(members: part)
            links.said = try await said(of: part, queue: group.queue)
            let change = NeedsChange(group.id, added: links)
            switch try await broker.change(change, by: Self.identity, queue: group.queue) {
            case .done(let new): try await refuseCycle(of: new, in: group)
            case .unknown: throw group.reference.notFound
            case .unknownDependency(let id): throw Self.unknownMember(DependencyName(id), of: group.id)
            case .otherKind:
                throw OperationsError(
                    .notFound,
                    "operation \(group.id) in queue \(group.queue) is not a group",
                    id: group.id
                )
            case .tooMany:
                throw OperationsError(
                    .refused,
                    "group \(group.id) would have more than \(GroupTerms.mostMembers) members: use groups in a group",
                    id: group.id
                )
            case .refused, .held, .notOpen:
                throw OperationsError(
                    .refused,
                    "group \(group.id) takes no more members: it has finished or was cancelled",
                    id: group.id
                )
            }
        }
    }

    /// Removes all new members again if one of them waits for the group.
    ///
    /// - Throws: `.invalidOption` if a new member waits for the group.
    private func refuseCycle(of members: [DependencyName], in group: OperationGroup) async throws {
        do {
            let own = DependencyName(group.id, queue: group.queue)
            guard let other = try await broker.first(of: members, thatWaitsFor: own) else { return }
            throw OperationsError(
                .invalidOption,
                "operation \(other) waits for group \(group.id), so it cannot be a member: drop that dependency first",
                id: group.id
            )
        } catch {
            _ = try? await broker.change(
                NeedsChange(group.id, removed: members),
                by: Self.identity,
                queue: group.queue
            )
            throw error
        }
    }

    /// Asks the queues of the members for their states. From then on these queues report each end to the group's queue.
    private func said(of members: [DependencyName], queue: String) async throws -> [DependencyName: RemoteState] {
        let said = try await broker.said(of: members.map { OperationDependency($0.id, queue: $0.queue) }, queue: queue)
        if let unknown = said.first(where: { $0.value.status == .unknown }) {
            throw Self.unknownMember(unknown.key, of: nil)
        }
        return said
    }

    private static func unknownMember(_ name: DependencyName, of group: OperationID?) -> OperationsError {
        OperationsError(
            .notFound,
            "operation \(name) does not exist: it was never enqueued, was removed, is untracked, "
                + "or is past its retention",
            id: group
        )
    }
}

extension NewOperation {
    /// Returns this operation as a callback. The id is made from the group's id, so a group that is opened twice has
    /// each callback once.
    package func callback(_ when: GroupCallback.When, of group: OperationID) -> NewOperation {
        var operation = self
        operation.id = OperationID(key: "\(group) \(when.rawValue)")
        operation.links = OperationLinks(callback: GroupCallback(when, of: group))
        return operation
    }
}

extension EnqueueOptions {
    /// - Throws: `.invalidOption` for an option that makes no sense for a group, which never runs.
    fileprivate func checkForGroup() throws(OperationsError) {
        let wrong: [(Bool, String)] = [
            (tracked == false, "untracked"), (priority != nil, "priority"), (start != nil, "delay, at"),
            (attempts != nil, "attempts"), (runTimeout != nil, "runTimeout"), (uniqueness != nil, "unique"),
            (limitKey != nil, "limitKey"), (!dependencies.isEmpty, "after"), (durability != nil, "durability"),
        ]
        guard let (_, option) = wrong.first(where: \.0) else { return }
        throw OperationsError(
            .invalidOption,
            "a group never runs, so it takes no option \(option): give it to the operations that are added"
        )
    }
}
