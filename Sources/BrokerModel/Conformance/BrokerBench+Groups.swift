import Operations

extension BrokerBench {
    /// Enqueues an open group and returns its id.
    func group(
        _ ifAbandoned: AbandonedGroupPolicy = .close,
        in outer: OperationID? = nil
    ) async throws -> OperationID {
        var links = OperationLinks(group: GroupTerms(ifAbandoned: ifAbandoned, leaseMilliseconds: 60_000))
        links.groups = outer.map { [$0] } ?? []
        let group = NewOperation(envelope: BrokerBench.envelope(), links: links)
        try expect(try await broker.enqueue([group], queue: queue), [.created], "the group")
        return group.id
    }

    func members(_ count: Int, of group: OperationID) async throws -> [OperationID] {
        let members = (0..<count).map { _ in
            NewOperation(envelope: BrokerBench.envelope(), links: OperationLinks(groups: [group]))
        }
        let outcomes = try await broker.enqueue(members, queue: queue)
        try expect(outcomes, Array(repeating: .created, count: count), "the members")
        return members.map(\.id)
    }

    /// Closes a group and returns the outcome.
    ///
    /// - Parameter isOpen: whether the group must be open; if false, every outcome is accepted.
    @discardableResult
    func close(_ group: OperationID, isOpen: Bool = true) async throws -> NeedsOutcome {
        let outcome = try await broker.closeGroup(group, by: "ann", queue: queue)
        if isOpen { try expect(outcome, .done(added: []), "it is closed") }
        return outcome
    }

    /// Moves the clock, then lets the worker send a heartbeat.
    func pass(seconds: Int, _ worker: WorkerID) async throws {
        try await advance(.seconds(seconds))
        try beat(worker)
    }

    typealias Callbacks = (success: OperationID, end: OperationID, firstDeath: OperationID)

    /// Makes a closed group with callbacks and two members, which the worker runs.
    func groupOfTwo(
        _ worker: WorkerID
    ) async throws -> (group: OperationID, callbacks: Callbacks, members: [OperationID], running: [ClaimedOperation]) {
        let group = try await group()
        let callbacks = try await callbacks(of: group)
        let members = try await members(2, of: group)
        try await close(group)
        return (group, callbacks, members, try await claim(worker, 9).operations)
    }

    /// Makes a dead group with callbacks, whose only member is dead.
    func deadGroup(_ worker: WorkerID) async throws -> (group: OperationID, callbacks: Callbacks) {
        let group = try await group()
        let callbacks = try await callbacks(of: group)
        _ = try await members(1, of: group)
        try await close(group)
        _ = try await fail(try await claimOne(worker), worker, .dead)
        try await expectState(group, .dead)
        return (group, callbacks)
    }

    func callbacks(of group: OperationID) async throws -> Callbacks {
        let all = GroupCallback.When.allCases.map { when in
            NewOperation(
                envelope: BrokerBench.envelope(),
                links: OperationLinks(callback: GroupCallback(when, of: group))
            )
        }
        try expect(try await broker.enqueue(all, queue: queue), [.created, .created, .created], "the callbacks")
        return (all[0].id, all[1].id, all[2].id)
    }
}
