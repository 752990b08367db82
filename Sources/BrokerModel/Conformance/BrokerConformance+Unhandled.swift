import Operations

/// Unhandled operations: they wait for a worker that has registered their name.
extension BrokerConformance {
    static let settingAside: [ConformanceCheck] = [
        ConformanceCheck("An unhandled operation is ready without a counted start, and is not claimed again") { bench in
            let worker = try bench.worker()
            for tracked in [true, false] {
                try await bench.setAside(1, worker, tracked: tracked)
                try bench.expect(try await bench.claim(worker, 10).operations.count, 0, "claimed again")
            }
            let snapshot = try await bench.snapshot()
            try bench.expect(snapshot.counts[.ready], 2, "ready")
            try bench.expect(snapshot.totals["started"] ?? 0, 0, "starts")
            try bench.expect(snapshot.unhandled, [UnhandledName(name: "check", count: 2)], "the names")
            try bench.expect([snapshot.unhandledNames, snapshot.unhandledCount], [1, 2], "names, operations")
            try bench.expect(try bench.beat(worker).startable, false, "startable")
        },
        ConformanceCheck("An unhandled operation shows no start and keeps attempt and delivery") { bench in
            let worker = try bench.worker()
            let id = try bench.only(try await bench.setAside(1, worker))
            let detail = try await bench.existing(id)
            try bench.expect(detail.state, .ready, "its state")
            try bench.expect(detail.isUnhandled, "it is unhandled")
            try bench.expect(detail.record.startedAt, 0, "its start")
            let header = detail.record.header
            try bench.expect([header.failedAttempts, header.delivery], [0, 1], "failed attempts, delivery")
            let page = try await bench.broker.page(state: .ready, queue: bench.queue, cursor: nil, limit: 10)
            try bench.expect(page.operations.map(\.record.header.id), [id], "the ready ones")
            try bench.expect(page.operations.allSatisfy(\.isUnhandled), "they are unhandled")
        },
        ConformanceCheck("A worker that knows the name gets unhandled operations first, by priority and in order") {
            bench in
            let worker = try bench.worker()
            let normal = try await bench.setAside(5, worker)
            let high = try await bench.setAside(3, worker, priority: .high)
            let later = try await bench.enqueue(2)
            let first = try await bench.claim(worker, knowing: ["other", "check"], capacity: 4)
            try bench.expect(first.operations.map(\.id), high + normal.prefix(1), "the first claim")
            try bench.expect(first.unhandledLeft, "more are left")
            let second = try await bench.claim(worker, knowing: ["check"], capacity: 10)
            try bench.expect(second.operations.map(\.id), normal.dropFirst() + later, "the second claim")
            try bench.expect(!second.unhandledLeft, "none are left")
            try bench.expect(try await bench.snapshot().unhandledNames, 0, "names")
            for operation in first.operations + second.operations {
                try bench.expect(try await bench.complete(operation, worker), .done(.finished), "its end")
            }
            try bench.expect(try await bench.snapshot().totals["started"], 10, "starts")
        },
        ConformanceCheck("An unhandled operation that was held and released before runs once") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(1)
            _ = try await bench.broker.hold(ids, by: "ann", reason: "", queue: bench.queue)
            _ = try await bench.broker.release(ids, by: "ann", queue: bench.queue)
            try await bench.setAsideNext(worker)
            let claimed = try await bench.claim(worker, knowing: ["check"], capacity: 1)
            try bench.expect(claimed.operations.map(\.id), ids, "claimed")
            try bench.expect(try await bench.snapshot().unhandledCount, 0, "unhandled")
            try await bench.expectState(ids[0], .executing)
            let again = try await bench.claim(worker, knowing: ["check"], capacity: 5)
            try bench.expect(again.operations.count, 0, "claimed again")
        },
        ConformanceCheck("A claim within a completion also returns unhandled operations") { bench in
            let worker = try bench.worker()
            let ids = try await bench.setAside(2, worker)
            let running = try await bench.running(worker)
            let completion = Completion(fence: running.fence, id: running.id, tracked: true)
            let request = ClaimRequest(worker: worker, epoch: 0, capacity: 5, unhandled: ["check"])
            let answer = try await bench.broker.complete(
                [completion],
                isRepeat: false,
                worker: worker,
                thenClaim: request,
                queue: bench.queue
            )
            try bench.expect(answer.claim?.operations.map(\.id), ids, "claimed")
        },
        ConformanceCheck("A message and the next heartbeat report the first unhandled operation of a name") { bench in
            let worker = try bench.worker()
            let messages = bench.broker.controlMessages(worker: worker, queues: [bench.queue])
            var iterator = messages.makeAsyncIterator()
            try bench.expect(await iterator.next(), .resubscribed, "the first message")
            try await bench.setAside(2, worker)
            try bench.expect(await iterator.next(), .unhandled(queue: bench.queue, name: "check"), "the message")
            let reply = try bench.beat(worker)
            try bench.expect(reply.unhandled, ["check"], "the names of the heartbeat")
            let beat = Beat(
                worker: worker,
                epoch: 0,
                leaseMilliseconds: BrokerBench.lease,
                intervalMilliseconds: BrokerBench.interval,
                info: [],
                unhandledSeen: reply.newestUnhandled
            )
            try bench.expect(try bench.broker.beat(beat, queue: bench.queue).unhandled, [], "nothing new")
        },
        ConformanceCheck("Giving back an unhandled operation twice changes nothing") { bench in
            let worker = try bench.worker()
            let operation = try await bench.running(worker)
            let place = Return.Place.unhandled(name: "check", orLaterMilliseconds: 1000)
            try bench.expect(try await bench.giveBack(operation, worker, place), .done(.ready), "the first")
            try bench.expect(try await bench.giveBack(operation, worker, place), .already, "the second")
            try bench.expect(try await bench.snapshot().unhandledCount, 1, "unhandled")
        },
        ConformanceCheck("Cancel and remove reach unhandled operations one by one") { bench in
            let worker = try bench.worker()
            let ids = try await bench.setAside(4, worker) + bench.setAside(1, worker, tracked: false)
            try bench.expect(try await bench.cancel(ids[1]), .cancelled, "the cancel")
            try bench.expect(try await bench.cancel(ids[4]), .cancelled, "the cancel of an untracked one")
            try bench.expect(
                try await bench.broker.remove([ids[2]], by: "tester", queue: bench.queue),
                [.done],
                "the removal"
            )
            try bench.expect(
                try await bench.broker.retry([ids[0]], by: "tester", queue: bench.queue),
                [.refused(.ready)],
                "the retry"
            )
            try await bench.expectState(ids[1], .cancelled)
            try bench.expect(try await bench.existing(ids[1]).isUnhandled, false, "unhandled")
            try bench.expect(try await bench.snapshot().counts[.ready], 2, "ready")
            try bench.expect(try await bench.snapshot().unhandledCount, 2, "unhandled")
            let claim = try await bench.claim(worker, knowing: ["check"], capacity: 10)
            try bench.expect(claim.operations.map(\.id), [ids[0], ids[3]], "claimed")
        },
        ConformanceCheck("A cancel of a name's last unhandled operation forgets the name; a retry makes it ready") {
            bench in
            let worker = try bench.worker()
            let id = try bench.only(try await bench.setAside(1, worker))
            _ = try await bench.cancel(id)
            try bench.expect(try await bench.snapshot().unhandledNames, 0, "names")
            try bench.expect(try await bench.broker.retry([id], by: "tester", queue: bench.queue), [.done], "the retry")
            try bench.expect(try await bench.claim(worker, 5).operations.map(\.id), [id], "claimed")
        },
        ConformanceCheck("A cancel of the queue ends unhandled operations; later ones of the name stay unhandled") {
            bench in
            let worker = try bench.worker()
            let ids = try await bench.setAside(3, worker)
            let counts = try await bench.cancelQueue()
            try bench.expect(counts.waiting, 3, "cancelled")
            for id in ids { try await bench.expectState(id, .cancelled) }
            let later = try await bench.setAside(2, worker)
            try bench.expect(try await bench.snapshot().counts[.ready], 2, "ready")
            let retried = try await bench.broker.retry([ids[0]], by: "tester", queue: bench.queue)
            try bench.expect(retried, [.done], "the retry of a cancelled one")
            _ = try await bench.sweepAll()
            for id in ids.dropFirst() {
                try bench.expect(try await bench.existing(id).record.state, .cancelled, "what is stored")
            }
            let claim = try await bench.claim(worker, knowing: ["check"], capacity: 10)
            try bench.expect(claim.operations.map(\.id), later + [ids[0]], "claimed")
        },
        ConformanceCheck("An unhandled operation expires at its deadline") { bench in
            let worker = try bench.worker()
            let ids = try await bench.setAside(1, worker, expires: 20_000)
            let others = try await bench.setAside(1, worker, tracked: false, expires: 20_000)
            try await bench.pass(21, beating: worker)
            _ = try await bench.claim(worker, 1)
            for id in ids + others { try await bench.expectState(id, .expired) }
            try bench.expect(try await bench.snapshot().unhandledNames, 0, "names")
        },
        ConformanceCheck("A claim returns at most 256 KiB of large unhandled operations") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueueLarge(6, bytes: 100_000)
            for _ in ids { try await bench.setAsideNext(worker) }
            var claimed: [OperationID] = []
            for _ in ids where claimed.count < ids.count {
                let claim = try await bench.claim(worker, knowing: ["check"], capacity: 10)
                try bench.expect((1...3).contains(claim.operations.count), "claimed \(claim.operations.count) at once")
                claimed += claim.operations.map(\.id)
            }
            try bench.expect(claimed, ids, "claimed, in order")
        },
        ConformanceCheck("Beyond 1,000 unhandled names, operations with further names are scheduled for later") {
            bench in
            let worker = try bench.worker()
            for start in stride(from: 0, to: SluiceDefaults.unhandledNames, by: 100) {
                try await bench.enqueue(100)
                let claimed = try await bench.claim(worker, 100).operations
                let returns = claimed.enumerated().map { index, operation in
                    Return(
                        fence: operation.fence,
                        id: operation.id,
                        place: .unhandled(name: "name\(start + index)", orLaterMilliseconds: 1000)
                    )
                }
                let outcomes = try await bench.broker.giveBack(returns, worker: worker, queue: bench.queue)
                try bench.expect(outcomes.allSatisfy { $0 == .done(.ready) }, "all are set aside")
            }
            let other = try await bench.running(worker)
            let outcome = try await bench.giveBack(other, worker, .unhandled(name: "other", orLaterMilliseconds: 1000))
            try bench.expect(outcome, .done(.scheduled), "one of another name")
            let known = try await bench.running(worker)
            let again = try await bench.giveBack(known, worker, .unhandled(name: "name7", orLaterMilliseconds: 1000))
            try bench.expect(again, .done(.ready), "one of a name of before")
            let snapshot = try await bench.snapshot()
            try bench.expect([snapshot.unhandledNames, snapshot.unhandledCount], [1000, 1001], "names, operations")
            try bench.expect(snapshot.unhandled.first, UnhandledName(name: "name7", count: 2), "the largest")
            var (rows, cursor) = (0, String?.none)
            repeat {
                let page = try await bench.broker.page(state: .ready, queue: bench.queue, cursor: cursor, limit: 150)
                rows += page.operations.count
                cursor = page.cursor
            } while cursor != nil
            try bench.expect(rows, 1001, "rows of all pages")
            try bench.expect(try await bench.cancelQueue().waiting, 1002, "cancelled")
            try bench.expect(try await bench.sweepAll().more, false, "more to sweep")
        },
    ]
}

extension BrokerBench {
    /// Enqueues `count` operations, claims them, and gives them back as unhandled.
    @discardableResult
    func setAside(
        _ count: Int,
        _ worker: WorkerID,
        tracked: Bool = true,
        priority: OperationPriority = .normal,
        expires: Int64 = 0
    ) async throws -> [OperationID] {
        let ids = try await enqueue(count, tracked: tracked, priority: priority, expires: expires)
        for _ in ids { try await setAsideNext(worker) }
        return ids
    }

    func setAsideNext(_ worker: WorkerID) async throws {
        let operation = try await claimOne(worker)
        let outcome = try await giveBack(operation, worker, .unhandled(name: "check", orLaterMilliseconds: 1000))
        try expect(outcome, .done(.ready), "the outcome of the return")
    }

    func claim(_ worker: WorkerID, knowing names: [String], capacity: Int) async throws -> Claim {
        try await broker.claim(
            ClaimRequest(worker: worker, epoch: 0, capacity: capacity, unhandled: names),
            queue: queue
        )
    }
}
