import Operations

extension BrokerConformance {
    static let sharing: [ConformanceCheck] = [
        ConformanceCheck("Limit keys get equal shares, however many operations one of them has") { bench in
            let worker = try bench.worker()
            let crowd = try await bench.enqueue(20, key: "crowd")
            let few = try await bench.enqueue(2, key: "few")
            let other = try await bench.enqueue(1, key: "other")
            let claimed = try await bench.claim(worker, 8).operations.map(\.id)
            let expected = [crowd[0], few[0], other[0], crowd[1], few[1]] + crowd[2...4]
            try bench.expect(claimed, expected, "what one claim takes")
            try bench.expect(try bench.beat(worker).startable, true, "startable")
            try bench.expect(try await bench.snapshot().counts[.ready], 15, "ready")
        },
        ConformanceCheck("Within a key, a higher priority goes first, even before operations already in a lane") {
            bench in
            let worker = try bench.worker()
            let low = try await bench.enqueue(2, priority: .low, key: "acme")
            let other = try await bench.enqueue(2)
            let high = try await bench.enqueue(1, priority: .high, key: "acme")
            let claimed = try await bench.claim(worker, 8).operations.map(\.id)
            try bench.expect(claimed, high + other + low, "the order")
        },
        ConformanceCheck("A key of weight 4 gets four times the share of a key of weight 1") { bench in
            let worker = try bench.worker()
            try await bench.limit(.keyWeight(4, of: "large"))
            let large = Set(try await bench.enqueue(60, key: "large"))
            try await bench.enqueue(60, key: "small")
            var taken: [OperationID] = []
            for _ in 0..<10 {
                let claim = try await bench.claim(worker, 5)
                taken += claim.operations.map(\.id)
                for operation in claim.operations { _ = try await bench.complete(operation, worker) }
            }
            try bench.expect(taken.count(where: large.contains), 40, "of the large key")
        },
        ConformanceCheck("All workers together run no more operations of a key than its concurrency") { bench in
            let (one, two) = (try bench.worker(), try bench.worker())
            try await bench.limit(.keyConcurrency(2), .keyConcurrency(3, of: "acme"))
            try await bench.enqueue(5, key: "acme")
            try await bench.enqueue(5, key: "bolt")
            let first = try await bench.claim(one, 4).operations
            let second = try await bench.claim(two, 8)
            try bench.expect([first.count, second.operations.count], [4, 1], "claimed")
            try bench.expect([second.status == .ok, second.more], [true, false], "ok, and more is startable")
            try bench.expect(try await bench.claim(two, 8), Claim(status: .ok), "a claim beside them")
            let state = try await bench.broker.limitKey("acme", queue: bench.queue)
            try bench.expect(state.row, LimitKeyRow(key: "acme", ready: 2, waiting: 2, executing: 3), "the key")
            try bench.expect([state.isFull, state.executing.count == 3], [true, true], "full, and what runs is named")
            guard let bolt = first.first(where: { $0.id == second.operations.first?.id }) ?? first.last else { return }
            let next = try await bench.completeAndClaim(bolt, one)
            try bench.expect(next?.operations.count, 1, "operations claimed with the completion")
        },
        ConformanceCheck("A completion that frees a key's only place claims the key's next operation") { bench in
            let worker = try bench.worker()
            try await bench.limit(.keyConcurrency(1))
            let ids = try await bench.enqueue(4, key: "acme")
            var current = try await bench.claimOne(worker)
            for id in ids.dropFirst() {
                guard let next = try await bench.completeAndClaim(current, worker)?.operations.first else {
                    throw ConformanceViolation(description: "expected a claim in the place of \(current.id), got none")
                }
                try bench.expect(next.id, id, "the next")
                current = next
            }
        },
        ConformanceCheck("An operation that waits for its key wakes no worker until another one of the key leaves") {
            bench in
            let worker = try bench.worker()
            try await bench.limit(.keyConcurrency(1))
            try await bench.enqueue(1, key: "acme")
            try await bench.expectToken("woken by the first")
            let running = try await bench.claimOne(worker)
            try await bench.enqueue(3, key: "acme")
            try await bench.expectNoToken("woken by those that have to wait")
            try bench.expect(try bench.beat(worker).startable, false, "startable")
            _ = try await bench.complete(running, worker)
            try await bench.expectToken("woken once the place is free")
        },
        ConformanceCheck("A failure, a return, a forced cancel and a loss each free the place of a key") { bench in
            let (worker, survivor) = (try bench.worker(), try bench.worker())
            try await bench.limit(.keyConcurrency(1))
            try await bench.enqueue(5, key: "acme")
            _ = try await bench.fail(try await bench.claimOne(worker), worker, .retry(afterMilliseconds: 60_000_000))
            let given = try await bench.claimOne(worker)
            _ = try await bench.giveBack(given, worker)
            let again = try await bench.claimOne(worker)
            try bench.expect(again.id, given.id, "one that was given back goes before the others of its key")
            let request = CancelRequest(reason: "", by: "ann", isForced: true)
            _ = try await bench.broker.cancel([again.id], request: request, queue: bench.queue)
            let lost = try await bench.claimOne(worker)
            try await bench.lapse(allBut: survivor)
            _ = try await bench.broker.sweep(queue: bench.queue)
            try bench.expect(try await bench.claimOne(survivor).id, lost.id, "what the lost worker held")
            try bench.expect(try await bench.claim(survivor, 4).operations.count, 0, "operations claimed beside it")
        },
        ConformanceCheck("An operation that waits for its key can be cancelled, held, released, removed and found") {
            bench in
            let worker = try bench.worker()
            try await bench.limit(.keyConcurrency(1))
            let ids = try await bench.enqueue(6, key: "acme")
            let running = try await bench.claimOne(worker)
            let detail = try await bench.broker.details([ids[3]], queue: bench.queue).first ?? nil
            try bench.expect(
                [detail?.limitKey == "acme", detail?.waitsForKey ?? false],
                [true, true],
                "waits for its key"
            )
            let page = try await bench.broker.page(state: .ready, queue: bench.queue, cursor: nil, limit: 10)
            try bench.expect(page.operations.map(\.id), Array(ids[1...]), "the list of ready ones")
            _ = try await bench.cancel(ids[1])
            _ = try await bench.broker.hold([ids[2]], by: "ann", reason: "", queue: bench.queue)
            _ = try await bench.broker.remove([ids[3]], by: "ann", queue: bench.queue)
            _ = try await bench.broker.release([ids[2]], by: "ann", queue: bench.queue)
            try bench.expect(try await bench.snapshot().counts[.ready], 3, "ready")
            _ = try await bench.complete(running, worker)
            try bench.expect(try await bench.claimOne(worker).id, ids[2], "the released one goes first")
        },
        ConformanceCheck(
            "After a cancel of the whole queue its keys start afresh, and earlier operations are cancelled"
        ) { bench in
            let worker = try bench.worker()
            try await bench.limit(.keyConcurrency(1))
            let before = try await bench.enqueue(3, key: "acme") + bench.enqueue(2, key: "bolt")
            let cancelled = try await bench.cancelQueue()
            try bench.expect(cancelled.waiting, 5, "cancelled")
            let ids = try await bench.enqueue(2, key: "acme")
            try bench.expect(try await bench.claimOne(worker).id, ids[0], "the first that came later")
            _ = try await bench.sweepAll()
            let states = try await bench.broker.details(before, queue: bench.queue).map { $0?.state }
            try bench.expect(states, [OperationState?](repeating: .cancelled, count: 5), "those of before")
            try bench.expect(try await bench.snapshot().counts[.ready], 1, "ready")
        },
        ConformanceCheck("After a key's limit is lowered, none of its operations start until fewer run") { bench in
            let worker = try bench.worker()
            try await bench.limit(.keyWeight(3))
            try await bench.enqueue(6, key: "acme")
            let running = try await bench.claim(worker, 2).operations
            try await bench.limit(.keyConcurrency(1))
            try bench.expect(try await bench.claim(worker, 5).operations.count, 0, "while two run")
            _ = try await bench.complete(running[0], worker)
            try bench.expect(try await bench.claim(worker, 5).operations.count, 0, "while one runs")
            _ = try await bench.complete(running[1], worker)
            try bench.expect(try await bench.claim(worker, 5).operations.count, 1, "while none runs")
        },
        ConformanceCheck("A raised limit of a key lets more of its operations start") { bench in
            let worker = try bench.worker()
            try await bench.limit(.keyConcurrency(1))
            try await bench.enqueue(5, key: "acme")
            _ = try await bench.claim(worker, 5)
            try await bench.dropToken()
            try await bench.limit(.keyConcurrency(3, of: "acme"))
            try await bench.expectToken("woken")
            try bench.expect(try await bench.claim(worker, 5).operations.count, 2, "two more")
            let limits = try await bench.broker.setLimits([.keyConcurrency(nil)], by: "ann", queue: bench.queue)
            try bench.expect(limits, QueueLimits(keys: ["acme": KeyLimit(concurrency: 3)]), "the limits")
        },
    ]
}

extension BrokerBench {
    fileprivate func limit(_ limits: QueueLimit...) async throws {
        _ = try await broker.setLimits(limits, by: "ann", queue: queue)
    }
}
