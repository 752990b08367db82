import Operations

extension BrokerConformance {
    static let limiting: [ConformanceCheck] = [
        ConformanceCheck("A serial queue never runs two operations, whichever worker claims") { bench in
            let workers = [try bench.worker(), try bench.worker(), try bench.worker()]
            let ids = try await bench.enqueue(6) + bench.enqueue(6, tracked: false)
            try await bench.limit(1)
            var order: [OperationID] = []
            for turn in 0..<12 {
                let claim = try await bench.claim(workers[turn % 3], 8)
                try bench.expect(claim.operations.count, 1, "claimed operations")
                try bench.expect(claim.status, .limited, "the status of the claim that takes the last place")
                for worker in workers {
                    try bench.expect(try await bench.claim(worker, 8), Claim(status: .limited), "a claim beside it")
                }
                order += claim.operations.map(\.id)
                _ = try await bench.complete(claim.operations[0], workers[turn % 3])
            }
            try bench.expect(order, ids, "the order")
            try bench.expect(try await bench.claim(workers[0], 8), Claim(status: .ok), "the claim of an empty queue")
        },
        ConformanceCheck("In a serial queue the claim within a completion takes the next operation") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2) + bench.enqueue(2, tracked: false)
            try await bench.limit(1)
            var current = try await bench.claimOne(worker)
            for id in ids.dropFirst() {
                let claim = try await bench.completeAndClaim(current, worker)
                try bench.expect(claim?.operations.map(\.id), [id], "the next")
                try bench.expect(claim?.more, false, "more is ready")
                guard let next = claim?.operations.first else { return }
                current = next
            }
            try bench.expect(try await bench.completeAndClaim(current, worker), Claim(status: .ok), "the last claim")
        },
        ConformanceCheck("A limit counts the operations of all workers, and a claim takes no more than is left") {
            bench in
            let (one, other) = (try bench.worker(), try bench.worker())
            try await bench.enqueue(9)
            try await bench.limit(5)
            try bench.expect(
                try await bench.claim(one, 3).operations.count,
                3,
                "operations claimed by the first worker"
            )
            let second = try await bench.claim(other, 8)
            try bench.expect(second.operations.count, 2, "operations claimed by the second worker")
            try bench.expect(
                [second.status == .limited, second.more],
                [true, false],
                "limited, and more is startable"
            )
        },
        ConformanceCheck("While the limit is full, no enqueue wakes a worker; a leaving operation wakes one") { bench in
            let worker = try bench.worker()
            try await bench.limit(1)
            try await bench.enqueue()
            try await bench.expectToken("woken by the first")
            let running = try await bench.claimOne(worker)
            try await bench.enqueue()
            try await bench.enqueue(2, tracked: false)
            try await bench.expectNoToken("woken while one runs")
            try bench.expect(try bench.beat(worker).startable, false, "startable while one runs")
            _ = try await bench.complete(running, worker)
            try bench.expect(try bench.beat(worker).startable, true, "startable afterwards")
            try await bench.expectToken("woken by its end")
            let second = try await bench.claimOne(worker)
            _ = try await bench.fail(second, worker, .dead)
            try await bench.expectToken("woken by a failure")
            let third = try await bench.claimOne(worker)
            _ = try await bench.giveBack(third, worker, .later(milliseconds: 60_000))
            try await bench.expectToken("woken by a return")
        },
        ConformanceCheck("The end of the last operation of a limited queue wakes no worker") { bench in
            let worker = try bench.worker()
            try await bench.limit(1)
            let running = try await bench.running(worker)
            try await bench.dropToken()
            _ = try await bench.complete(running, worker)
            try await bench.expectNoToken("woken")
            try await bench.enqueue()
            try await bench.expectToken("woken by the next")
        },
        ConformanceCheck("A claim below the limit wakes a worker for the remaining operations") { bench in
            let (one, other) = (try bench.worker(), try bench.worker())
            try await bench.limit(3)
            try await bench.enqueue(4)
            try await bench.expectToken("woken by the enqueue")
            try bench.expect(try await bench.claim(one, 2).more, true, "more is startable")
            try await bench.expectToken("woken by the first claim")
            try bench.expect(
                try await bench.claim(other, 2).operations.count,
                1,
                "operations claimed by the second worker"
            )
            try await bench.expectNoToken("woken by the second claim")
        },
        ConformanceCheck("A limit can be raised, lowered and removed at any time; running operations continue") {
            bench in
            let worker = try bench.worker()
            try await bench.enqueue(20)
            try bench.expect(try await bench.limit(2), QueueLimits(concurrency: 2), "the limits")
            var held = try await bench.claim(worker, 9).operations
            try bench.expect(held.count, 2, "with two")
            try await bench.dropToken()
            try await bench.limit(5)
            try await bench.expectToken("woken by a higher limit")
            held += try await bench.claim(worker, 9).operations
            try bench.expect(held.count, 5, "with five")
            try await bench.limit(1)
            try await bench.expectNoToken("woken by a lower limit")
            for operation in held.dropLast() {
                _ = try await bench.complete(operation, worker)
                try bench.expect(try await bench.claim(worker, 9), Claim(status: .limited), "a claim with one")
            }
            _ = try await bench.complete(held[4], worker)
            try bench.expect(try await bench.claim(worker, 9).operations.count, 1, "the next with one")
            try bench.expect(try await bench.limit(nil), QueueLimits(), "no limits")
            try await bench.expectToken("woken by the removal")
            try bench.expect(try await bench.claim(worker, 9).operations.count, 9, "without a limit")
        },
        ConformanceCheck("A change of limits is an event, and a snapshot shows who set them") { bench in
            try await bench.limit(4)
            let snapshot = try await bench.snapshot()
            try bench.expect(snapshot.limits, QueueLimits(concurrency: 4), "the limits")
            let set = OperatorTrace(at: snapshot.time, by: "ann", reason: "")
            try bench.expect(snapshot.limitsSet, set, "who has set them")
            try await bench.limit(nil)
            try bench.expect(try await bench.snapshot().limitsSet, nil, "the author after the removal")
            let events = try await bench.broker.storedEvents(
                queue: bench.queue,
                after: nil,
                agoMilliseconds: 60_000,
                limit: 9
            )
            let expected = ["concurrency 4", "concurrency none"].map { QueueChange(.limit, by: "ann", detail: $0) }
            try bench.expect(events.entries.compactMap(\.batch.change), expected, "the changes")
        },
        ConformanceCheck("In a full queue due operations are promoted, and the highest priority goes first") { bench in
            let worker = try bench.worker()
            try await bench.limit(1)
            let running = try await bench.running(worker)
            try await bench.enqueue(priority: .low)
            let due = try await bench.enqueue(priority: .high, delay: 1000)
            let expiring = try await bench.enqueue(expires: 1000)
            try bench.expect(try await bench.claim(worker).nextDueMilliseconds, 1000, "the next instant")
            try await bench.advance(.seconds(2))
            try bench.beat(worker)
            try bench.expect(try await bench.claim(worker), Claim(status: .limited), "a claim while one runs")
            try await bench.expectState(due[0], .ready)
            try await bench.expectState(expiring[0], .expired)
            let next = try await bench.completeAndClaim(running, worker)
            try bench.expect(next?.operations.map(\.id), due, "the next")
        },
        ConformanceCheck("An unhandled operation of a serial queue frees its place and can return") { bench in
            let worker = try bench.worker()
            try await bench.limit(1)
            let strange = try await bench.running(worker)
            let next = try await bench.enqueue()
            let place = Return.Place.unhandled(name: "strange", orLaterMilliseconds: 1000)
            _ = try await bench.giveBack(strange, worker, place)
            let running = try await bench.claimOne(worker)
            try bench.expect([running.id], next, "the next")
            let request = ClaimRequest(worker: worker, epoch: 0, capacity: 4, unhandled: ["strange"])
            let refused = try await bench.broker.claim(request, queue: bench.queue)
            try bench.expect([refused.status == .limited, refused.operations.isEmpty], [true, true], "while one runs")
            try await bench.dropToken()
            _ = try await bench.complete(running, worker)
            try await bench.expectToken("woken for the unhandled one")
            let claim = try await bench.broker.claim(request, queue: bench.queue)
            try bench.expect(claim.operations.map(\.id), [strange.id], "the unhandled one")
        },
        ConformanceCheck("The recovery of a lost worker frees the places of its operations and wakes a worker") {
            bench in
            let (lost, other) = (try bench.worker(), try bench.worker())
            try await bench.limit(1)
            let running = try await bench.running(lost)
            try await bench.enqueue()
            try await bench.dropToken()
            try await bench.lapse(allBut: other)
            try bench.expect(try await bench.claim(other), Claim(status: .limited), "a claim before the sweep")
            _ = try await bench.sweepAll()
            try await bench.expectToken("woken")
            let again = try await bench.claim(other, 4)
            try bench.expect(again.operations.map(\.id), [running.id], "the recovered one, alone")
            try bench.expect(try await bench.complete(running, lost), .stale, "what the lost worker writes")
            try bench.expect(try await bench.claim(other, 4), Claim(status: .limited), "a claim after that")
        },
        ConformanceCheck("A forced cancel and a recovered worker free the places of their operations") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try await bench.limit(1)
            for isTracked in [true, false] {
                let running = try await bench.running(worker, tracked: isTracked)
                try await bench.enqueue()
                try await bench.dropToken()
                _ = try await bench.force(running.id)
                try await bench.expectToken("woken by a forced cancel")
                let next = try await bench.claimOne(other)
                try bench.expect(try await bench.complete(running, worker), .stale, "what its worker writes")
                try bench.expect(try await bench.claim(other), Claim(status: .limited), "a claim beside the next")
                _ = try await bench.complete(next, other)
            }
            let held = try await bench.running(worker)
            try await bench.dropToken()
            _ = try await bench.broker.recoverWorker(worker: worker, queue: bench.queue)
            try await bench.expectToken("woken by the recovery of a worker")
            try bench.expect(try await bench.claimOne(other).id, held.id, "what it held")
        },
        ConformanceCheck("A heartbeat returns how many more may start, and how many a worker may hold ahead") { bench in
            let (worker, _) = (try bench.worker(), try bench.worker())
            try bench.expect(try bench.beat(worker).room, nil, "without a limit")
            try await bench.limit(13)
            try bench.expect(try bench.beat(worker).room, Room(left: 13, ahead: 3), "with nothing running")
            try await bench.enqueue(5)
            _ = try await bench.claim(worker, 5)
            try bench.expect(try bench.beat(worker).room, Room(left: 8, ahead: 2), "with five")
            try await bench.limit(1)
            try bench.expect(try bench.beat(worker).room, Room(left: 0, ahead: 0), "of a serial queue")
        },
        ConformanceCheck("A paused limited queue starts nothing, even if its limit has room") { bench in
            let worker = try bench.worker()
            try await bench.limit(1)
            let running = try await bench.running(worker)
            try await bench.enqueue()
            try await bench.broker.setPaused(.pause(by: "ann"), queue: bench.queue)
            try bench.expect(try await bench.completeAndClaim(running, worker), Claim(status: .paused), "the claim")
            try await bench.broker.setPaused(.resume(by: "ann"), queue: bench.queue)
            try await bench.expectToken("woken by the resume")
            try bench.expect(try await bench.claim(worker, 4).operations.count, 1, "claimed operations")
        },
    ]
}

extension BrokerConformance {
    static let rating: [ConformanceCheck] = [
        ConformanceCheck("A rate starts its burst at once, then one at a time, and a claim returns when") { bench in
            let worker = try bench.worker()
            try await bench.rate(QueueRate(10, per: .seconds(1), burst: 3))
            try await bench.enqueue(3)
            try await bench.enqueue(6, tracked: false)
            let first = try await bench.claim(worker, 9)
            try bench.expect(first.operations.count, 3, "the burst")
            try bench.expect([first.status == .limited, first.more], [true, false], "limited, and more is startable")
            try bench.expect(first.nextDueMilliseconds, 100, "the next start")
            try await bench.advance(.milliseconds(99))
            let early = try await bench.claim(worker, 9)
            try bench.expect(early, Claim(status: .limited, nextDueMilliseconds: 1), "a claim before")
            try bench.expect(try bench.beat(worker).room, Room(left: 0), "what a heartbeat says before")
            try await bench.advance(.milliseconds(1))
            try bench.expect(try bench.beat(worker).startable, true, "startable then")
            try bench.expect(try await bench.claim(worker, 9).operations.count, 1, "then")
        },
        ConformanceCheck("A rate of 100 a second starts 990 to 1,000 in 10 s, plus its burst") { bench in
            let workers = [try bench.worker(), try bench.worker()]
            try await bench.rate(QueueRate(100))
            for _ in 0..<3 { try await bench.enqueue(500, tracked: false) }
            var started = 0
            for step in 0..<1000 {
                if step % 100 == 0 { for worker in workers { try bench.beat(worker) } }
                started += try await bench.claim(workers[step % 2], 7).operations.count
                try await bench.advance(.milliseconds(10))
            }
            try bench.expect((990...1100).contains(started), "\(started) starts are within 990...1100")
        },
        ConformanceCheck("An operation given back untried gives its start back") { bench in
            let worker = try bench.worker()
            try await bench.rate(QueueRate(1, per: .seconds(60), burst: 2))
            try await bench.enqueue(3)
            let claimed = try await bench.claim(worker, 3).operations
            try bench.expect(claimed.count, 2, "the burst")
            _ = try await bench.giveBack(claimed[1], worker)
            try bench.expect(try await bench.claim(worker, 3).operations.map(\.id), [claimed[1].id], "the same again")
        },
        ConformanceCheck("Operations held back by a rate wake only one worker, to time the next start") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try await bench.rate(QueueRate(1, burst: 1))
            try await bench.enqueue()
            try await bench.dropToken()
            _ = try await bench.claim(worker, 2)
            // Nothing waits yet, so a worker has to be woken to time the next start.
            try await bench.enqueue()
            try await bench.expectToken("woken by what comes first")
            try bench.expect(try await bench.claim(other, 2).nextDueMilliseconds, 1000, "the next start")
            try await bench.enqueue(2)
            try await bench.expectNoToken("woken by what comes then")
            try await bench.advance(.seconds(1))
            try bench.expect(try await bench.claim(other, 2).operations.count, 1, "at that instant")
        },
        ConformanceCheck("A rate and a concurrency hold together, and each can be removed alone") { bench in
            let worker = try bench.worker()
            try await bench.enqueue(9)
            let both = [QueueLimit.concurrency(2), .rate(QueueRate(1, per: .seconds(10), burst: 3))]
            _ = try await bench.broker.setLimits(both, by: "ann", queue: bench.queue)
            let first = try await bench.claim(worker, 9).operations
            try bench.expect(first.count, 2, "by the concurrency")
            for operation in first { _ = try await bench.complete(operation, worker) }
            try bench.expect(try await bench.claim(worker, 9).operations.count, 1, "by the rate")
            let left = try await bench.broker.setLimits([.rate(nil)], by: "ann", queue: bench.queue)
            try bench.expect(left, QueueLimits(concurrency: 2), "without the rate")
            try bench.expect(try await bench.claim(worker, 9).operations.count, 1, "without the rate")
            try await bench.limit(nil)
            try bench.expect(try await bench.claim(worker, 9).operations.count, 5, "without both")
        },
    ]
}

extension BrokerBench {
    @discardableResult
    fileprivate func limit(_ concurrency: Int?) async throws -> QueueLimits {
        try await broker.setLimits([.concurrency(concurrency)], by: "ann", queue: queue)
    }

    fileprivate func rate(_ rate: QueueRate) async throws {
        _ = try await broker.setLimits([.rate(rate)], by: "ann", queue: queue)
    }

    /// Completes one operation and claims up to four in the same call.
    func completeAndClaim(_ operation: ClaimedOperation, _ worker: WorkerID) async throws -> Claim? {
        let completion = Completion(fence: operation.fence, id: operation.id, tracked: operation.header.tracked)
        return try await broker.complete(
            [completion],
            isRepeat: false,
            worker: worker,
            thenClaim: ClaimRequest(worker: worker, epoch: 0, capacity: 4),
            queue: queue
        ).claim
    }
}
