import Operations

extension BrokerConformance {
    static let keyRating: [ConformanceCheck] = [
        ConformanceCheck("A key's rate starts its burst at once, then one at a time, and a claim returns when") {
            bench in
            let worker = try bench.worker()
            try await bench.limit(.keyRate(QueueRate(10, burst: 2)))
            let acme = try await bench.enqueue(4, key: "acme")
            let bolt = try await bench.enqueue(1, key: "bolt")
            let others = try await bench.enqueue(2)
            let first = try await bench.claim(worker, 9)
            let expected = [acme[0], bolt[0]] + others + [acme[1]]
            try bench.expect(first.operations.map(\.id), expected, "the burst of acme, and all others")
            try bench.expect([first.status == .ok, first.more], [true, false], "ok, and more is startable")
            try bench.expect(first.nextDueMilliseconds, 100, "the next start")
            try await bench.advance(.milliseconds(99))
            try bench.expect(
                try await bench.claim(worker, 9),
                Claim(status: .ok, nextDueMilliseconds: 1),
                "a claim before"
            )
            try bench.expect(try bench.beat(worker).startable, false, "startable before")
            try await bench.advance(.milliseconds(1))
            try bench.expect(try bench.beat(worker).startable, true, "startable then")
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), [acme[2]], "then")
            try await bench.advance(.milliseconds(100))
            let last = try await bench.claim(worker, 9)
            try bench.expect(last.operations.map(\.id), [acme[3]], "claimed after the second pause")
            try bench.expect(last.nextDueMilliseconds, nil, "the next start while none waits")
        },
        ConformanceCheck("A key with its own rate obeys that rate; all other keys obey the rate for each key") {
            bench in
            let worker = try bench.worker()
            try await bench.limit(.keyRate(QueueRate(1, burst: 1)), .keyRate(QueueRate(1, burst: 3), of: "acme"))
            for key in ["acme", "bolt", "cold"] { try await bench.enqueue(4, key: key) }
            try bench.expect(try await bench.claim(worker, 12).operations.count, 3 + 1 + 1, "the bursts")
            try await bench.limit(.keyRate(nil, of: "acme"))
            try await bench.advance(.seconds(1))
            try bench.expect(try await bench.claim(worker, 12).operations.count, 3, "one of each")
        },
        ConformanceCheck("Keys with 100 starts a second each start 990 to 1,000 in 10 s, plus their bursts") { bench in
            let workers = [try bench.worker(), try bench.worker()]
            try await bench.limit(.keyRate(QueueRate(100)))
            for _ in 0..<3 { for key in ["acme", "bolt"] { try await bench.enqueue(400, key: key) } }
            var started = 0
            for step in 0..<1000 {
                if step % 100 == 0 { for worker in workers { try bench.beat(worker) } }
                started += try await bench.claim(workers[step % 2], 9).operations.count
                try await bench.advance(.milliseconds(10))
            }
            try bench.expect((1980...2200).contains(started), "\(started) starts are within 1980...2200")
        },
        ConformanceCheck("Operations that wait for their key's next start wake only one worker, to time that start") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try await bench.limit(.keyRate(QueueRate(1, burst: 1)))
            try await bench.enqueue(1, key: "acme")
            try await bench.dropToken()
            try bench.expect(try await bench.claim(worker, 1).nextDueMilliseconds, nil, "the next start")
            // Nothing waits yet, so a worker has to be woken to time the next start.
            try await bench.enqueue(1, key: "acme")
            try await bench.expectToken("woken by what comes first")
            try bench.expect(try await bench.claim(other, 2).nextDueMilliseconds, 1000, "the next start")
            try await bench.enqueue(2, priority: .high, key: "acme")
            try await bench.expectNoToken("woken by what comes then")
            try await bench.enqueue(1, key: "bolt")
            try await bench.expectToken("woken by another key")
            try bench.expect(try await bench.claim(worker, 2).operations.count, 1, "of the other key")
            try await bench.advance(.seconds(1))
            let next = try await bench.claim(other, 2).operations
            try bench.expect(next.map(\.header.priority), [.high], "at that instant")
        },
        ConformanceCheck("An earlier start of another key wakes a worker, even if one times a later start") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try await bench.limit(.keyRate(QueueRate(1, per: .seconds(60), burst: 1)))
            try await bench.limit(.keyRate(QueueRate(1, burst: 1), of: "bolt"))
            try await bench.enqueue(2, key: "acme")
            try bench.expect(try await bench.claim(worker, 2).nextDueMilliseconds, 60_000, "the start of acme")
            try await bench.dropToken()
            try await bench.enqueue(2, key: "bolt")
            try await bench.expectToken("woken by what can start")
            // A claim that gets all it asked for does not make its worker the timer owner.
            try bench.expect(try await bench.claim(other, 1).operations.count, 1, "of bolt")
            try await bench.expectToken("woken to time the start of bolt")
            try bench.expect(try await bench.claim(worker, 2).nextDueMilliseconds, 1000, "the start of bolt")
        },
        ConformanceCheck("An operation given back untried gives its key's start back, even if the key is parked") {
            bench in
            let worker = try bench.worker()
            try await bench.limit(.keyRate(QueueRate(1, per: .seconds(60), burst: 2)))
            let ids = try await bench.enqueue(3, key: "acme")
            let claimed = try await bench.claim(worker, 3).operations
            try bench.expect(claimed.map(\.id), Array(ids[...1]), "the burst")
            try await bench.dropToken()
            _ = try await bench.giveBack(claimed[1], worker)
            try await bench.expectToken("woken")
            let again = try await bench.claim(worker, 3)
            try bench.expect(again.operations.map(\.id), [ids[1]], "the operation claimed again")
            try bench.expect(again.nextDueMilliseconds, 60_000, "the next start")
            _ = try await bench.giveBack(again.operations[0], worker, .later(milliseconds: 1000))
            try bench.expect(try await bench.claim(worker, 3).operations.map(\.id), [ids[2]], "the next one instead")
        },
        ConformanceCheck("Lost and failed runs use a start of their key; operations that end before they start do not")
        { bench in
            let (worker, survivor) = (try bench.worker(), try bench.worker())
            try await bench.limit(.keyRate(QueueRate(1, per: .seconds(600), burst: 3)))
            let expiring = try await bench.enqueue(1, expires: 1000, key: "acme")
            let ids = try await bench.enqueue(5, key: "acme")
            _ = try await bench.cancel(ids[0])
            try await bench.advance(.seconds(2))
            let failed = try await bench.claimOne(worker)
            try bench.expect(failed.id, ids[1], "behind what expired and what was cancelled")
            try await bench.expectState(expiring[0], .expired)
            _ = try await bench.fail(failed, worker, .retry(afterMilliseconds: 0))
            try bench.expect(try await bench.claimOne(worker).id, ids[2], "the next of the key")
            try await bench.lapse(allBut: survivor)
            _ = try await bench.sweepAll()
            try bench.expect(try await bench.claim(survivor, 5).operations.map(\.id), [failed.id], "the last start")
            try bench.expect(try await bench.snapshot().counts[.ready], 3, "what has to wait")
        },
        ConformanceCheck("A key's rate, concurrency and weight hold together, and each can be removed alone") { bench in
            let worker = try bench.worker()
            let rate = QueueRate(1, per: .seconds(10), burst: 2)
            try await bench.limit(.keyConcurrency(2), .keyWeight(5), .keyRate(rate))
            try await bench.enqueue(11, key: "acme")
            let first = try await bench.claim(worker, 9)
            try bench.expect(first.operations.count, 2, "by both")
            try bench.expect(first.nextDueMilliseconds, nil, "the next start while the places are taken")
            for operation in first.operations { _ = try await bench.complete(operation, worker) }
            let second = try await bench.claim(worker, 9)
            try bench.expect(second, Claim(status: .ok, nextDueMilliseconds: 10_000), "by the rate")
            try await bench.dropToken()
            let left = try await bench.broker.setLimits([.keyRate(nil)], by: "ann", queue: bench.queue)
            try bench.expect(left, QueueLimits(perKey: KeyLimit(concurrency: 2, weight: 5)), "without the rate")
            try await bench.expectToken("woken once there is no rate")
            try bench.expect(try await bench.claim(worker, 1).operations.count, 1, "without the rate")
            try await bench.limit(.keyConcurrency(nil), .keyRate(rate))
            try bench.expect(
                try await bench.claim(worker, 9).operations.count,
                2,
                "claimed by a new rate, of which no start is used"
            )
            try await bench.limit(.keyRate(nil))
            try bench.expect(try await bench.claim(worker, 9).operations.count, 6, "without all")
        },
        ConformanceCheck("A changed rate of a key holds at once, even for operations already in a lane") { bench in
            let worker = try bench.worker()
            try await bench.limit(.keyWeight(4))
            try await bench.enqueue(9, key: "acme")
            let rate = QueueRate(1, per: .seconds(60), burst: 1)
            let limits = try await bench.broker.setLimits([.keyRate(rate, of: "acme")], by: "ann", queue: bench.queue)
            let expected = QueueLimits(perKey: KeyLimit(weight: 4), keys: ["acme": KeyLimit(rate: rate)])
            try bench.expect(limits, expected, "the limits")
            try bench.expect(try await bench.claim(worker, 9).operations.count, 1, "of four in a lane")
            try await bench.dropToken()
            try await bench.limit(.keyRate(QueueRate(1, burst: 1), of: "acme"))
            try await bench.expectToken("woken to time an earlier start")
            try bench.expect(try await bench.claim(worker, 9).nextDueMilliseconds, 1000, "the next start")
            try await bench.limit(.keyRate(QueueRate(1, per: .seconds(60), burst: 4), of: "acme"))
            try bench.expect(try await bench.claim(worker, 9).operations.count, 3, "of a larger burst")
        },
        ConformanceCheck("A key without a start shows when its next start is back") { bench in
            let worker = try bench.worker()
            try await bench.limit(.keyRate(QueueRate(1, per: .seconds(2), burst: 1)))
            try await bench.enqueue(3, key: "acme")
            let before = try await bench.broker.limitKey("acme", queue: bench.queue)
            try bench.expect(before.row.nextStartMilliseconds, nil, "while one may start")
            _ = try await bench.claim(worker, 3)
            try await bench.advance(.milliseconds(500))
            var row = LimitKeyRow(key: "acme", ready: 2, waiting: 2, executing: 1)
            row.nextStartMilliseconds = 1500
            let state = try await bench.broker.limitKey("acme", queue: bench.queue)
            try bench.expect(state.row, row, "the key")
            try bench.expect(state.limit, KeyLimit(rate: QueueRate(1, per: .seconds(2), burst: 1)), "its limit")
            let snapshot = try await bench.snapshot()
            try bench.expect(snapshot.limitKeys, [row], "the keys of a snapshot")
            try bench.expect(snapshot.counts[.ready], 2, "ready")
        },
        ConformanceCheck("Used starts of a key still count after a cancel of the whole queue") { bench in
            let worker = try bench.worker()
            try await bench.limit(.keyRate(QueueRate(1, per: .seconds(60), burst: 1)))
            try await bench.enqueue(3, key: "acme")
            try bench.expect(try await bench.claim(worker, 3).operations.count, 1, "the burst")
            _ = try await bench.cancelQueue()
            let ids = try await bench.enqueue(2, key: "acme")
            try bench.expect(try await bench.claim(worker, 3).nextDueMilliseconds, 60_000, "the next start")
            _ = try await bench.sweepAll()
            try await bench.pass(60, beating: worker)
            try bench.expect(try await bench.claim(worker, 3).operations.map(\.id), [ids[0]], "then")
        },
        ConformanceCheck("No worker times a key without waiting operations") { bench in
            let worker = try bench.worker()
            try await bench.limit(.keyRate(QueueRate(1, per: .seconds(60), burst: 1)))
            let ids = try await bench.enqueue(2, key: "acme")
            try bench.expect(try await bench.claim(worker, 3).nextDueMilliseconds, 60_000, "while one waits")
            _ = try await bench.cancel(ids[1])
            try bench.expect(try await bench.claim(worker, 3).nextDueMilliseconds, nil, "while none waits")
        },
    ]
}

extension BrokerBench {
    fileprivate func limit(_ limits: QueueLimit...) async throws {
        _ = try await broker.setLimits(limits, by: "ann", queue: queue)
    }
}
