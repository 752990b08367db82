import Operations

// Unique keys: at most one operation holds a key; others are refused or wait for their turn.
extension BrokerConformance {
    static let uniqueness: [ConformanceCheck] = yielding + takingTurns + superseding + freeing

    private static let yielding: [ConformanceCheck] = [
        ConformanceCheck("Join and skip answer with the operation that waits or executes; its end frees the key") {
            bench in
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("key", .join)
            try bench.expect(try await bench.enqueue("key", .join).outcome, .taken(by: first), "join while it waits")
            let claimed = try await bench.claimOne(worker)
            try bench.expect(claimed.header.linked, true, "the flag of a linked operation")
            try bench.expect(try await bench.enqueue("key", .skip).outcome, .taken(by: first), "skip while it executes")
            try bench.expect(try await bench.enqueue("other", .join).outcome, .created, "another key")
            _ = try await bench.complete(claimed, worker)
            try bench.expect(try await bench.enqueue("key", .join).outcome, .created, "once it has ended")
        },
        ConformanceCheck("Each operation of a call sees the keys taken before it; a known id changes nothing") {
            bench in
            let first = bench.unique("key", .join)
            let again = bench.unique("key", .skip)
            let plain = NewOperation(envelope: BrokerBench.envelope())
            let outcomes = try await bench.broker.enqueue([plain, first, again, first], queue: bench.queue)
            try bench.expect(outcomes, [.created, .created, .taken(by: first.id), .exists], "the outcomes")
            let claim = try await bench.claim(try bench.worker(), 9)
            try bench.expect(claim.operations.map(\.id), [plain.id, first.id], "in the order of the call")
        },
        ConformanceCheck("A fresh result takes the key for join and skip, but not for other policies") { bench in
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("key", .join, fresh: 5000)
            _ = try await bench.complete(try await bench.claimOne(worker), worker, result: "1")
            try await bench.advance(.milliseconds(4999))
            try bench.expect(try await bench.enqueue("key", .skip).outcome, .taken(by: first), "while it is fresh")
            try bench.expect(try await bench.enqueue("key", .enqueue).outcome, .created, "enqueue does not care")
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            let second = try await bench.enqueueNew("key", .join, fresh: 5000)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            try await bench.advance(.milliseconds(5000))
            let third = try await bench.enqueueNew("key", .join, fresh: 5000)
            let dead = try await bench.claimOne(worker)
            try bench.expect(dead.id, third, "a new one instead of \(second)")
            _ = try await bench.fail(dead, worker, .dead)
            try bench.expect(try await bench.enqueue("key", .join).outcome, .created, "a dead one is not fresh")
        },
        ConformanceCheck("A fresh result that is removed frees its key") { bench in
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("key", .join, fresh: 5000)
            _ = try await bench.complete(try await bench.claimOne(worker), worker, result: "1")
            try bench.expect(try await bench.enqueue("key", .join).outcome, .taken(by: first), "while it is there")
            _ = try await bench.broker.remove([first], by: "ann", queue: bench.queue)
            let second = try await bench.enqueueNew("key", .join)
            try bench.expect(try await bench.claimOne(worker).id, second, "a new one instead of what was removed")
        },
        ConformanceCheck("An operation with a requested cancel is not joined: the new one waits for its end") { bench in
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("key", .join)
            let claimed = try await bench.claimOne(worker)
            _ = try await bench.cancel(first)
            let second = try await bench.enqueueNew("key", .join)
            try await bench.expectState(second, .blocked)
            try bench.expect(try await bench.enqueue("key", .skip).outcome, .taken(by: second), "the one that waits")
            try bench.expect(try await bench.claim(worker).operations.count, 0, "claimed while the first one runs")
            _ = try await bench.fail(claimed, worker, .cancelled)
            try bench.expect(try await bench.claimOne(worker).id, second, "claimed after it")
        },
    ]

    private static let takingTurns: [ConformanceCheck] = [
        ConformanceCheck("With the policy enqueue, operations run one after the other, however each one ends") {
            bench in
            let worker = try bench.worker()
            var ids = [try await bench.enqueueNew("key", .enqueue)]
            for _ in 0..<4 { ids.append(try await bench.enqueueNew("key", .enqueue)) }
            try bench.expect(try await bench.snapshot().counts[.blocked], 4, "blocked ones")
            try bench.expect(try await bench.existing(ids[1]).waitsForTurn, true, "it waits for its turn")
            try bench.expect(try await bench.existing(ids[1]).uniqueKey, "key", "its key")
            _ = try await bench.cancel(ids[0])
            let second = try await bench.claimOne(worker)
            try bench.expect(second.id, ids[1], "after a cancel")
            try bench.expect(try await bench.claim(worker).operations.count, 0, "claimed beside it")
            _ = try await bench.fail(second, worker, .dead)
            _ = try await bench.broker.remove([ids[2]], by: "ann", queue: bench.queue)
            let fourth = try await bench.claimOne(worker)
            try bench.expect(fourth.id, ids[3], "after a death and a removal")
            _ = try await bench.complete(fourth, worker)
            try bench.expect(try await bench.claimOne(worker).id, ids[4], "after a finish")
        },
        ConformanceCheck("An operation whose turn comes is ready, or scheduled if its time is still to come") { bench in
            let worker = try bench.worker()
            _ = try await bench.enqueueNew("key", .enqueue)
            let later = try await bench.enqueueNew("key", .enqueue, delay: 5000)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            try await bench.expectState(later, .scheduled)
            try bench.expect(try await bench.enqueue("key", .join).outcome, .taken(by: later), "it has the key")
            try await bench.advance(.milliseconds(5000))
            try bench.expect(try await bench.claimOne(worker).id, later, "in time")
        },
        ConformanceCheck("An operation keeps its key through a retry and the loss of its worker") { bench in
            let worker = try bench.worker()
            let lost = try bench.worker()
            let first = try await bench.enqueueNew("key", .join)
            _ = try await bench.fail(try await bench.claimOne(worker), worker, .retry(afterMilliseconds: 1000))
            try bench.expect(try await bench.enqueue("key", .join).outcome, .taken(by: first), "while it is retrying")
            try await bench.advance(.milliseconds(1000))
            try bench.expect(try await bench.claimOne(lost).id, first, "the next attempt")
            _ = try await bench.broker.recoverWorker(worker: lost, queue: bench.queue)
            try bench.expect(try await bench.enqueue("key", .join).outcome, .taken(by: first), "after the loss")
        },
        ConformanceCheck("An operation that waits for its turn cannot be released, and frees its place if it expires") {
            bench in
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("key", .enqueue)
            let expiring = try await bench.enqueueNew("key", .enqueue, expires: 1000)
            let last = try await bench.enqueueNew("key", .enqueue)
            let released = try await bench.broker.release([expiring], by: "ann", queue: bench.queue)
            try bench.expect(released, [.refused(.blocked)], "a release")
            let claimed = try await bench.claimOne(worker)
            try bench.expect(claimed.id, first, "the first")
            try await bench.advance(.milliseconds(1000))
            _ = try await bench.claim(worker)
            try await bench.expectState(expiring, .expired)
            _ = try await bench.complete(claimed, worker)
            try bench.expect(try await bench.claimOne(worker).id, last, "the next")
        },
    ]

    private static let superseding: [ConformanceCheck] = [
        ConformanceCheck("With replace, the latest wins: waiting operations are cancelled, running ones asked to end") {
            bench in
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("key", .replace)
            let second = try await bench.enqueueNew("key", .replace)
            try await bench.expectState(first, .cancelled)
            let trace = try await bench.existing(first).cancel
            try bench.expect(trace?.reason, "replaced by \(second)", "why it was cancelled")
            let claimed = try await bench.claimOne(worker)
            try bench.expect(claimed.id, second, "the latest")
            let third = try await bench.enqueueNew("key", .replace)
            let fourth = try await bench.enqueueNew("key", .replace)
            try await bench.expectState(third, .cancelled)
            try await bench.expectState(fourth, .blocked)
            try bench.expect(
                try await bench.requestedCancels([claimed.fence], worker).cancels.count,
                1,
                "requested cancels"
            )
            _ = try await bench.fail(claimed, worker, .cancelled)
            try bench.expect(try await bench.claimOne(worker).id, fourth, "once it has stopped")
        },
        ConformanceCheck("With keepLatest, one operation runs and at most one waits") { bench in
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("key", .keepLatest)
            let claimed = try await bench.claimOne(worker)
            let second = try await bench.enqueueNew("key", .keepLatest)
            let third = try await bench.enqueueNew("key", .keepLatest)
            try await bench.expectState(second, .cancelled)
            try bench.expect(
                try await bench.requestedCancels([claimed.fence], worker).cancels.count,
                0,
                "requested cancels of \(first)"
            )
            _ = try await bench.complete(claimed, worker)
            try bench.expect(try await bench.claimOne(worker).id, third, "the latest")
        },
        ConformanceCheck("With debounce, only the last operation of a burst runs, after its delay") { bench in
            let worker = try bench.worker()
            var ids: [OperationID] = []
            for _ in 0..<3 {
                ids.append(try await bench.enqueueNew("key", .debounce(.zero), delay: 1000))
                try await bench.advance(.milliseconds(999))
                try bench.expect(try await bench.claim(worker).operations.count, 0, "before its time")
            }
            try await bench.advance(.milliseconds(1))
            let claimed = try await bench.claimOne(worker)
            try bench.expect(claimed.id, ids[2], "the last one")
            let next = try await bench.enqueueNew("key", .debounce(.zero), delay: 1000)
            try await bench.expectState(next, .blocked)
            _ = try await bench.complete(claimed, worker)
            try await bench.expectState(next, .scheduled)
        },
        ConformanceCheck("An operation that would replace more than a call may cancel is refused") { bench in
            let first = try await bench.enqueueNew("key", .enqueue)
            _ = try await bench.claimOne(try bench.worker())
            for _ in 0..<101 { _ = try await bench.enqueueNew("key", .enqueue) }
            try bench.expect(try await bench.enqueue("key", .replace).outcome, .crowded, "replace")
            try bench.expect(try await bench.snapshot().counts[.blocked], 101, "blocked ones behind \(first)")
        },
    ]

    private static let freeing: [ConformanceCheck] = [
        ConformanceCheck("A forced cancel keeps the key until the body has stopped, or its worker is gone") { bench in
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("key", .replace)
            let claimed = try await bench.claimOne(worker)
            _ = try await bench.force(first)
            let second = try await bench.enqueueNew("key", .replace)
            try await bench.expectState(second, .blocked)
            _ = try await bench.report(claimed, worker, .cancelStopped)
            let again = try await bench.claimOne(worker)
            try bench.expect(again.id, second, "once it has stopped")
            _ = try await bench.force(second)
            let third = try await bench.enqueueNew("key", .replace)
            try await bench.expectState(third, .blocked)
            _ = try await bench.broker.recoverWorker(worker: worker, queue: bench.queue)
            try await bench.expectState(third, .ready)
        },
        ConformanceCheck("A cancel of the whole queue frees all keys at once and ends operations that wait for a turn")
        { bench in
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("key", .enqueue)
            let second = try await bench.enqueueNew("key", .enqueue)
            _ = try await bench.cancelQueue()
            let third = try await bench.enqueueNew("key", .enqueue)
            let fourth = try await bench.enqueueNew("key", .enqueue)
            _ = try await bench.sweepAll()
            try await bench.expectState(first, .cancelled)
            try await bench.expectState(second, .cancelled)
            let claimed = try await bench.claimOne(worker)
            try bench.expect(claimed.id, third, "the first one after it")
            _ = try await bench.complete(claimed, worker)
            try bench.expect(try await bench.claimOne(worker).id, fourth, "the second one after it")
        },
        ConformanceCheck("A retry of an ended operation takes its key again, or is refused if the key is taken") {
            bench in
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("key", .join)
            _ = try await bench.fail(try await bench.claimOne(worker), worker, .dead)
            let second = try await bench.enqueueNew("key", .join)
            try bench.expect(try await bench.retry(first), .taken(by: second), "a retry while the key is taken")
            try await bench.expectState(first, .dead)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            try bench.expect(try await bench.retry(first), .done, "a retry when it is free")
            try bench.expect(try await bench.enqueue("key", .skip).outcome, .taken(by: first), "it has the key")
        },
        ConformanceCheck("A purge frees the keys of removed operations") { bench in
            let worker = try bench.worker()
            let running = try await bench.enqueueNew("key", .enqueue)
            let claimed = try await bench.claimOne(worker)
            _ = try await bench.enqueueNew("key", .enqueue)
            _ = try await bench.enqueueNew("other", .enqueue)
            _ = try await bench.broker.purge(bench.queue, by: "ann", from: nil)
            try bench.expect(try await bench.enqueue("other", .join).outcome, .created, "of what waited")
            try bench.expect(try await bench.enqueue("key", .join).outcome, .taken(by: running), "of what runs")
            _ = try await bench.complete(claimed, worker)
            try bench.expect(try await bench.enqueue("key", .join).outcome, .created, "once it has ended")
        },
        ConformanceCheck("The holder of a key is read while it waits or runs; a fresh or an overdue one holds none") {
            bench in
            func holders() async throws -> [OperationID?] {
                try await bench.broker.keyHolders(["a", "b", "c"], queue: bench.queue)
            }
            let worker = try bench.worker()
            let first = try await bench.enqueueNew("a", .enqueue, fresh: 60_000)
            _ = try await bench.enqueueNew("a", .enqueue)
            let overdue = try await bench.enqueueNew("b", .join, delay: 60_000, expires: 1000)
            try bench.expect(try await holders(), [first, overdue, nil], "the holders of waiting operations")
            let claimed = try await bench.claimOne(worker)
            try bench.expect(try await holders(), [first, overdue, nil], "the holder that runs")
            try await bench.advance(.milliseconds(1001))
            try bench.expect(try await holders(), [first, nil, nil], "without the overdue one")
            _ = try await bench.complete(claimed, worker)
            let last = try await bench.claimOne(worker)
            try bench.expect(try await holders(), [last.id, nil, nil], "the next one of the key")
            _ = try await bench.complete(last, worker)
            let fresh = try await bench.enqueueNew("c", .join, fresh: 60_000)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            try bench.expect(try await bench.enqueue("c", .join).outcome, .taken(by: fresh), "a fresh result")
            try bench.expect(try await holders(), [nil, nil, nil], "no holder")
        },
    ]
}

extension BrokerBench {
    func unique(
        _ key: String,
        _ policy: DuplicatePolicy,
        delay: Int64 = 0,
        expires: Int64 = 0,
        fresh: Int64 = 0
    ) -> NewOperation {
        NewOperation(
            delayMilliseconds: delay,
            expiresMilliseconds: expires,
            envelope: Self.envelope(),
            links: OperationLinks(unique: UniqueClaim(key: key, policy: policy, freshMilliseconds: fresh))
        )
    }

    func enqueue(
        _ key: String,
        _ policy: DuplicatePolicy,
        delay: Int64 = 0,
        expires: Int64 = 0,
        fresh: Int64 = 0
    ) async throws -> (outcome: EnqueueOutcome, id: OperationID) {
        let operation = unique(key, policy, delay: delay, expires: expires, fresh: fresh)
        return (try only(try await broker.enqueue([operation], queue: queue)), operation.id)
    }

    func enqueueNew(
        _ key: String,
        _ policy: DuplicatePolicy,
        delay: Int64 = 0,
        expires: Int64 = 0,
        fresh: Int64 = 0
    ) async throws -> OperationID {
        let (outcome, id) = try await enqueue(key, policy, delay: delay, expires: expires, fresh: fresh)
        try expect(outcome, .created, "the outcome of enqueue")
        return id
    }

    fileprivate func retry(_ id: OperationID) async throws -> ChangeOutcome {
        try only(try await broker.retry([id], by: "ann", queue: queue))
    }
}
