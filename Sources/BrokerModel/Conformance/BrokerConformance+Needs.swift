import Operations

// Dependencies inside a queue: an operation waits until what it depends on has ended.
extension BrokerConformance {
    static let dependencies: [ConformanceCheck] = succeeding + failing + goingOn + controllingDependents

    private static let succeeding: [ConformanceCheck] = [
        ConformanceCheck("A dependent is blocked until all dependencies finish; the last completion can claim it") {
            bench in
            let worker = try bench.worker()
            let before = try await bench.enqueue(2)
            let last = try await bench.dependent(on: before.map { OperationDependency($0) })
            try await bench.expectState(last, .blocked)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            try await bench.expectState(last, .blocked)
            try bench.expect(try await bench.existing(last).links.unmetCount, 1, "what it still waits for")
            let second = try await bench.claimOne(worker)
            try bench.expect(second.header.linked, true, "the linked flag of a dependency")
            let next = try await bench.completeThenClaim(second, worker)
            try bench.expect(next.map(\.id), [last], "claimed in the same call")
            let links = try await bench.existing(last).links
            try bench.expect(links.needs.map(\.isMet), [true, true], "both are met")
            try bench.expect(try await bench.existing(before[0]).links.dependents, [last], "what depends on the first")
        },
        ConformanceCheck("An operation may depend on running and finished ones, and on ones of the same call") {
            bench in
            let worker = try bench.worker()
            let done = try await bench.running(worker)
            _ = try await bench.complete(done, worker)
            let running = try await bench.running(worker)
            let other = NewOperation(envelope: BrokerBench.envelope())
            let last = bench.operation(after: [done.id, running.id, other.id].map { OperationDependency($0) })
            let outcomes = try await bench.broker.enqueue([other, last], queue: bench.queue)
            try bench.expect(outcomes, [.created, .created], "the outcomes")
            try bench.expect(try await bench.existing(last.id).links.unmetCount, 2, "what it waits for")
            _ = try await bench.complete(running, worker)
            let next = try await bench.completeThenClaim(try await bench.claimOne(worker), worker)
            try bench.expect(next.map(\.id), [last.id], "after both")
            let ready = try await bench.dependent(on: [OperationDependency(done.id), OperationDependency(running.id)])
            try await bench.expectState(ready, .ready)
        },
        ConformanceCheck("An operation with an unknown dependency is not enqueued, and the answer names that one") {
            bench in
            let unknown = OperationID()
            let known = try await bench.enqueue()[0]
            let untracked = try await bench.enqueue(tracked: false)[0]
            for wrong in [unknown, untracked] {
                let operation = bench.operation(after: [OperationDependency(known), OperationDependency(wrong)])
                let outcomes = try await bench.broker.enqueue([operation], queue: bench.queue)
                try bench.expect(outcomes, [.unknownDependency(wrong)], "the outcome")
                try bench.expect(try await bench.detail(operation.id) == nil, true, "nothing is stored")
            }
            try bench.expect(
                try await bench.existing(known).links.dependentCount,
                0,
                "nothing depends on the known one"
            )
        },
        ConformanceCheck("A dependent reads ends and results of its dependencies; short results outlive a removal") {
            bench in
            let worker = try bench.worker()
            let short = try await bench.running(worker)
            let long = try await bench.running(worker)
            let dead = try await bench.running(worker)
            let void = try await bench.running(worker)
            let ids = [short.id, long.id, dead.id, void.id]
            let last = try await bench.dependent(on: ids.map { OperationDependency($0, onFailure: .run) })
            let text = "\"" + String(repeating: "x", count: 5000) + "\""
            _ = try await bench.complete(short, worker, result: "17")
            _ = try await bench.complete(long, worker, result: text)
            _ = try await bench.fail(dead, worker, .dead)
            _ = try await bench.complete(void, worker)
            let inputs = try await bench.broker.inputs(of: last, queue: bench.queue)
            try bench.expect(inputs.map(\.state), [.finished, .finished, .dead, .finished], "the ends")
            try bench.expect(inputs.map(\.result), [Array("17".utf8), Array(text.utf8), nil, []], "the results")
            _ = try await bench.broker.remove(ids, by: "ann", queue: bench.queue)
            let kept = try await bench.broker.inputs(of: last, queue: bench.queue)
            try bench.expect(kept.map(\.result), [Array("17".utf8), nil, nil, nil], "what is kept")
        },
        ConformanceCheck("The delay and the deadline of a blocked operation count from its enqueue") { bench in
            let worker = try bench.worker()
            let first = try await bench.enqueue()[0]
            let later = try await bench.dependent(on: [OperationDependency(first)], delay: 4000)
            let expiring = try await bench.dependent(on: [OperationDependency(first)], expires: 2000)
            try await bench.pass(3, beating: worker)
            let claimed = try await bench.claimOne(worker)
            try bench.expect(claimed.id, first, "what is ready")
            try await bench.expectState(expiring, .expired)
            _ = try await bench.complete(claimed, worker)
            try await bench.expectState(later, .scheduled)
            try await bench.pass(1, beating: worker)
            try bench.expect(try await bench.claimOne(worker).id, later, "at its time")
        },
    ]

    private static let failing: [ConformanceCheck] = [
        ConformanceCheck("If a dependency fails, the policy cancels, runs or holds; a cancel spreads to dependents") {
            bench in
            let worker = try bench.worker()
            let first = try await bench.running(worker)
            let cancelled = try await bench.dependent(on: [OperationDependency(first.id)])
            let runs = try await bench.dependent(on: [OperationDependency(first.id, onFailure: .run)])
            let held = try await bench.dependent(on: [OperationDependency(first.id, onFailure: .hold)])
            let behind = try await bench.dependent(on: [OperationDependency(cancelled)])
            let after = try await bench.dependent(on: [OperationDependency(cancelled, onFailure: .run)])
            _ = try await bench.fail(first, worker, .dead)
            try await bench.expectState(cancelled, .cancelled)
            try await bench.expectState(behind, .cancelled)
            try await bench.expectState(held, .blocked)
            let trace = try await bench.existing(cancelled).cancel
            try bench.expect(trace?.by, "dependency", "by whom")
            try bench.expect(trace?.reason, "depends on \(first.id), which is dead", "why")
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), [runs, after], "what runs")
        },
        ConformanceCheck("A dependent on an operation that already failed is cancelled, held or ready at once") {
            bench in
            let worker = try bench.worker()
            let dead = try await bench.running(worker)
            _ = try await bench.fail(dead, worker, .dead)
            try await bench.expectState(try await bench.dependent(on: [OperationDependency(dead.id)]), .cancelled)
            try await bench.expectState(
                try await bench.dependent(on: [OperationDependency(dead.id, onFailure: .hold)]),
                .blocked
            )
            try await bench.expectState(
                try await bench.dependent(on: [OperationDependency(dead.id, onFailure: .run)]),
                .ready
            )
        },
        ConformanceCheck("A cancelled, expired, removed or purged dependency counts as failed") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2) + bench.enqueue(expires: 1000)
            let dependents = try await bench.dependents(of: ids)
            _ = try await bench.cancel(ids[0])
            _ = try await bench.broker.remove([ids[1]], by: "ann", queue: bench.queue)
            try await bench.pass(2, beating: worker)
            _ = try await bench.claim(worker)
            for id in dependents { try await bench.expectState(id, .cancelled) }
            let reason = try await bench.existing(dependents[1]).cancel?.reason
            try bench.expect(reason, "depends on \(ids[1]), which was removed", "why")
            let purged = try await bench.enqueue()[0]
            let running = try await bench.enqueue(priority: .high)[0]
            let claimed = try await bench.claimOne(worker)
            try bench.expect(claimed.id, running, "what runs")
            let waits = try await bench.dependent(on: [
                OperationDependency(purged, onFailure: .run), OperationDependency(running),
            ])
            _ = try await bench.broker.purge(bench.queue, by: "ann", from: nil)
            try bench.expect(try await bench.detail(waits) == nil, true, "it is purged as well")
        },
        ConformanceCheck("A cancel of the whole queue ends blocked operations and cancels later dependents on them") {
            bench in
            let first = try await bench.enqueue()[0]
            let second = try await bench.dependent(on: [OperationDependency(first, onFailure: .run)])
            _ = try await bench.broker.cancelQueue(bench.queue, request: CancelRequest(reason: "", by: "ann"))
            try await bench.expectState(second, .cancelled)
            try await bench.expectState(try await bench.dependent(on: [OperationDependency(first)]), .cancelled)
            let after = try await bench.dependent(on: [OperationDependency(second, onFailure: .run)])
            while try await bench.broker.sweep(queue: bench.queue).more {}
            try bench.expect(try await bench.claim(try bench.worker(), 9).operations.map(\.id), [after], "what runs")
        },
    ]

    private static let goingOn: [ConformanceCheck] = [
        ConformanceCheck("An end notifies 50 dependents at once, and sweeps notify all others") { bench in
            let worker = try bench.worker()
            let first = try await bench.enqueue()[0]
            let count = 170
            var dependents: [OperationID] = []
            for _ in 0..<count { dependents.append(try await bench.dependent(on: [OperationDependency(first)])) }
            let next = try await bench.completeThenClaim(try await bench.claimOne(worker), worker, capacity: 500)
            try bench.expect(next.count, 50, "at once")
            try bench.expect(try bench.beat(worker).sweepDue, true, "a sweep is due")
            try bench.expect(
                try await bench.broker.edges(.dependents, of: first, queue: bench.queue),
                dependents.sorted().map { DependencyName($0) },
                "what depends on it"
            )
            let some = try await bench.broker.edges(.dependents, of: first, limit: 60, queue: bench.queue)
            try bench.expect(some.count, 60, "some of what depends on it")
            let needs = try await bench.broker.edges(.needs, of: dependents[0], queue: bench.queue)
            try bench.expect(needs, [DependencyName(first)], "what one of them depends on")
            while try await bench.broker.sweep(queue: bench.queue).more {}
            var claimed = next.map(\.id)
            while case let more = try await bench.claim(worker, 500).operations, !more.isEmpty {
                claimed += more.map(\.id)
            }
            try bench.expect(claimed, dependents.sorted(), "each once, in the order of their ids")
            try bench.expect(try bench.beat(worker).sweepDue, false, "nothing is left to sweep")
        },
        ConformanceCheck("A retry voids an end of which dependents were not notified yet") { bench in
            let worker = try bench.worker()
            let first = try await bench.running(worker)
            var dependents: [OperationID] = []
            for _ in 0..<60 { dependents.append(try await bench.dependent(on: [OperationDependency(first.id)])) }
            _ = try await bench.fail(first, worker, .dead)
            try bench.expect(try await bench.retry(first.id), .done, "the retry")
            _ = try await bench.broker.sweep(queue: bench.queue)
            try bench.expect(try await bench.snapshot().counts[.blocked], 10, "those that have not heard")
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            try bench.expect(try await bench.snapshot().counts[.ready], 10, "after it has finished")
            try bench.expect(try await bench.retry(dependents.min() ?? first.id), .done, "a retry of a cancelled one")
            try bench.expect(
                try await bench.snapshot().counts[.ready],
                11,
                "ready operations, with one that waits for nothing"
            )
        },
        ConformanceCheck("After a retry of a dependency, held dependents and retried ones wait until it finishes") {
            bench in
            let worker = try bench.worker()
            let first = try await bench.running(worker)
            let held = try await bench.dependent(on: [OperationDependency(first.id, onFailure: .hold)])
            let cancelled = try await bench.dependent(on: [OperationDependency(first.id)])
            _ = try await bench.fail(first, worker, .dead)
            try bench.expect(try await bench.retry(cancelled), .done, "a retry of what was cancelled")
            try await bench.expectState(cancelled, .blocked)
            try bench.expect(try await bench.retry(first.id), .done, "a retry of the dependency")
            let again = try await bench.claimOne(worker)
            try bench.expect(again.id, first.id, "what runs again")
            let next = try await bench.completeThenClaim(again, worker, capacity: 9)
            try bench.expect(Set(next.map(\.id)), [held, cancelled], "both go on")
        },
        ConformanceCheck("A dependent that may run after a failure is still notified of a later finish") { bench in
            let worker = try bench.worker()
            let first = try await bench.running(worker)
            let other = try await bench.running(worker)
            let last = try await bench.dependent(on: [
                OperationDependency(first.id, onFailure: .run), OperationDependency(other.id),
            ])
            _ = try await bench.fail(first, worker, .dead)
            try bench.expect(try await bench.existing(last).links.unmetCount, 1, "what it still waits for")
            try bench.expect(try await bench.retry(first.id), .done, "the retry")
            _ = try await bench.complete(try await bench.claimOne(worker), worker, result: "17")
            try bench.expect(try await bench.existing(last).links.unmetCount, 1, "counted once")
            let inputs = try await bench.broker.inputs(of: last, queue: bench.queue)
            let ended = inputs.first { $0.name.id == first.id }
            try bench.expect(ended?.state, .finished, "the end")
            try bench.expect(ended?.result, Array("17".utf8), "the result")
            let next = try await bench.completeThenClaim(other, worker)
            try bench.expect(next.map(\.id), [last], "it runs once")
        },
    ]

    private static let controllingDependents: [ConformanceCheck] = [
        ConformanceCheck("A released operation no longer depends on others, whatever happens to them") { bench in
            let worker = try bench.worker()
            let first = try await bench.running(worker)
            let second = try await bench.dependent(on: [OperationDependency(first.id)])
            let released = try await bench.broker.release([second], by: "ann", queue: bench.queue)
            try bench.expect(released, [.done], "the release")
            try await bench.expectState(second, .ready)
            _ = try await bench.fail(first, worker, .dead)
            try bench.expect(try await bench.claimOne(worker).id, second, "it runs")
            try bench.expect(try await bench.existing(second).links.needCount, 0, "what it depends on")
        },
        ConformanceCheck("An operation with a unique key waits for both its turn and its dependencies") { bench in
            let worker = try bench.worker()
            let first = try await bench.running(worker)
            let holder = try await bench.dependent(on: [], unique: "key")
            let both = try await bench.dependent(on: [OperationDependency(first.id)], unique: "key")
            let claimed = try await bench.claimOne(worker)
            try bench.expect(claimed.id, holder, "who has the key")
            _ = try await bench.complete(claimed, worker)
            try await bench.expectState(both, .blocked)
            try bench.expect(try await bench.existing(both).waitsForTurn, false, "it has the key")
            let next = try await bench.completeThenClaim(first, worker)
            try bench.expect(next.map(\.id), [both], "claimed when the dependency has ended as well")
        },
        ConformanceCheck("An operation that a dependency cancels at once replaces no holder of its unique key") {
            bench in
            let worker = try bench.worker()
            let dead = try await bench.running(worker)
            _ = try await bench.fail(dead, worker, .dead)
            let holder = try await bench.dependent(on: [], unique: "key")
            let fails = try await bench.dependent(on: [OperationDependency(dead.id)], unique: "key", policy: .replace)
            try await bench.expectState(fails, .cancelled)
            try await bench.expectState(holder, .ready)
            let replaces = try await bench.dependent(on: [OperationDependency(holder)], unique: "key", policy: .replace)
            try await bench.expectState(holder, .cancelled)
            try await bench.expectState(replaces, .cancelled)
        },
    ]
}

extension BrokerBench {
    fileprivate func operation(
        after dependencies: [OperationDependency],
        unique key: String? = nil,
        policy: DuplicatePolicy = .enqueue,
        delay: Int64 = 0,
        expires: Int64 = 0
    ) -> NewOperation {
        let unique = key.map { UniqueClaim(key: $0, policy: policy) }
        return NewOperation(
            delayMilliseconds: delay,
            expiresMilliseconds: expires,
            envelope: Self.envelope(),
            links: OperationLinks(unique: unique, after: dependencies)
        )
    }

    func dependent(
        on dependencies: [OperationDependency],
        unique key: String? = nil,
        policy: DuplicatePolicy = .enqueue,
        delay: Int64 = 0,
        expires: Int64 = 0
    ) async throws -> OperationID {
        let operation = operation(after: dependencies, unique: key, policy: policy, delay: delay, expires: expires)
        try expect(try await broker.enqueue([operation], queue: queue), [.created], "the outcome of enqueue")
        return operation.id
    }

    /// Enqueues one dependent for each operation. A dependent is cancelled if its dependency does not finish.
    fileprivate func dependents(of ids: [OperationID]) async throws -> [OperationID] {
        var dependents: [OperationID] = []
        for id in ids { dependents.append(try await dependent(on: [OperationDependency(id)])) }
        return dependents
    }

    fileprivate func completeThenClaim(
        _ operation: ClaimedOperation,
        _ worker: WorkerID,
        capacity: Int = 1
    ) async throws -> [ClaimedOperation] {
        let completion = Completion(fence: operation.fence, id: operation.id, tracked: true, result: [])
        let reply = try await broker.complete(
            [completion],
            isRepeat: false,
            worker: worker,
            thenClaim: ClaimRequest(worker: worker, epoch: 0, capacity: capacity),
            queue: queue
        )
        return reply.claim?.operations ?? []
    }

    fileprivate func retry(_ id: OperationID) async throws -> ChangeOutcome {
        try only(try await broker.retry([id], by: "ann", queue: queue))
    }
}
