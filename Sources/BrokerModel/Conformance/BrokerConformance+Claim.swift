import Operations

extension BrokerConformance {
    static let claiming: [ConformanceCheck] = [
        ConformanceCheck("A worker without a lease claims nothing") { bench in
            try await bench.enqueue()
            try bench.expect(try await bench.claim(WorkerID()), Claim(status: .noLease), "the claim")
        },
        ConformanceCheck("A worker whose lease has lapsed claims nothing until its next heartbeat") { bench in
            let (lapsed, other) = (try bench.worker(), try bench.worker())
            try await bench.enqueue()
            try await bench.lapse(allBut: other)
            try bench.expect(try await bench.claim(lapsed).status, .noLease, "the status")
            try bench.beat(lapsed)
            try bench.expect(try await bench.claim(lapsed).operations.count, 1, "claimed operations")
        },
        ConformanceCheck("A claim takes no more than its capacity and reports that more is ready") { bench in
            let worker = try bench.worker()
            try await bench.enqueue(5)
            let first = try await bench.claim(worker, 3)
            try bench.expect(first.operations.count, 3, "claimed operations")
            try bench.expect(first.more, "more is ready")
            let second = try await bench.claim(worker, 3)
            try bench.expect(second.operations.count, 2, "claimed operations")
            try bench.expect(!second.more, "nothing more is ready")
        },
        ConformanceCheck("No operation is claimed by two workers") { bench in
            let workers = [try bench.worker(), try bench.worker(), try bench.worker()]
            let ids = try await bench.enqueue(20) + bench.enqueue(20, tracked: false)
            var taken: [OperationID] = []
            for turn in 0..<15 { taken += try await bench.claim(workers[turn % 3], 3).operations.map(\.id) }
            try bench.expect(taken.count, 40, "hand-outs")
            try bench.expect(Set(taken), Set(ids), "the operations handed out")
        },
        ConformanceCheck("Every claim of an operation gets a new and higher fence") { bench in
            let worker = try bench.worker()
            try await bench.enqueue(2)
            var fences: [Int64] = []
            for _ in 0..<4 {
                let claimed = try await bench.claimOne(worker)
                fences.append(claimed.fence)
                _ = try await bench.giveBack(claimed, worker)
            }
            fences += try await bench.claim(worker, 2).operations.map(\.fence)
            try bench.expect(zip(fences, fences.dropFirst()).allSatisfy { $0 < $1 }, "\(fences) grow")
        },
        ConformanceCheck("A claimed operation is executing: state, worker, start, first attempt, first delivery") {
            bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            let detail = try await bench.existing(claimed.id)
            try bench.expect(detail.state, .executing, "the state")
            try bench.expect(detail.worker, worker.description, "the owner")
            try bench.expect(detail.record.fence, claimed.fence, "the fence")
            try bench.expect(detail.record.startedAt, try await bench.snapshot().time, "started at")
            try bench.expect(
                [claimed.attempt, detail.record.attempt, claimed.header.delivery],
                [1, 1, 1],
                "the counts"
            )
        },
        ConformanceCheck("A claim of an older epoch takes nothing") { bench in
            let worker = try bench.worker()
            try await bench.enqueue()
            _ = try await bench.broker.reconcile(known: [], worker: worker, epoch: 4, queue: bench.queue)
            try bench.expect(try await bench.claim(worker, epoch: 3), Claim(status: .staleEpoch), "the claim")
            try bench.expect(try await bench.claim(worker, epoch: 4).operations.count, 1, "claimed operations")
        },
        ConformanceCheck("A heartbeat can raise the epoch, but not lower it") { bench in
            let worker = try bench.worker()
            try await bench.enqueue()
            try bench.beat(worker, epoch: 2)
            try bench.beat(worker, epoch: 1)
            try bench.expect(try await bench.claim(worker, epoch: 1).status, .staleEpoch, "the status")
        },
        ConformanceCheck("A paused queue starts nothing until it is resumed; running operations continue") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            try await bench.enqueue()
            try await bench.broker.setPaused(.pause(by: "tester"), queue: bench.queue)
            try bench.expect(try await bench.claim(worker), Claim(status: .paused), "the claim")
            try bench.expect(try await bench.complete(claimed, worker), .done(.finished), "the completion")
            try bench.expect(try bench.beat(worker).startable, false, "startable")
            try await bench.broker.setPaused(.resume(by: "tester"), queue: bench.queue)
            try bench.expect(try await bench.claim(worker).operations.count, 1, "claimed operations")
        },
        ConformanceCheck("A timed pause ends by itself, and a claim returns when") { bench in
            let worker = try bench.worker()
            try await bench.enqueue()
            try await bench.broker.setPaused(.pause(forMilliseconds: 5000, by: "tester"), queue: bench.queue)
            try await bench.advance(.seconds(2))
            let refused = try await bench.claim(worker)
            try bench.expect(refused, Claim(status: .paused, nextDueMilliseconds: 3000), "the claim")
            try await bench.advance(.seconds(3))
            try bench.expect(try await bench.claim(worker).operations.count, 1, "claimed operations")
            try bench.expect(try await bench.snapshot().paused, false, "paused")
        },
        ConformanceCheck("A pause of zero milliseconds ends at once instead of lasting for ever") { bench in
            let worker = try bench.worker()
            try await bench.enqueue()
            try await bench.broker.setPaused(.pause(forMilliseconds: 0, by: "tester"), queue: bench.queue)
            try await bench.advance(.milliseconds(1))
            try bench.expect(try await bench.claim(worker).operations.count, 1, "claimed operations")
        },
        ConformanceCheck("A full worker gets a due time one second later, so a free worker comes first") { bench in
            let (free, full) = (try bench.worker(), try bench.worker())
            try await bench.enqueue(2)
            try await bench.enqueue(delay: 9000)
            try bench.expect(
                try await bench.claim(full, 2).nextDueMilliseconds,
                10_000,
                "milliseconds until the next due time, full worker"
            )
            try bench.expect(
                try await bench.claim(free, 2).nextDueMilliseconds,
                9000,
                "milliseconds until the next due time, free worker"
            )
        },
    ]

    static let ordering: [ConformanceCheck] = [
        ConformanceCheck("A claim finds the only operation of a queue in every lane and place") { bench in
            let worker = try bench.worker()
            for priority in OperationPriority.allCases {
                let ids = try await bench.enqueue(priority: priority)
                try bench.expect(try await bench.claim(worker).operations.map(\.id), ids, "of priority \(priority)")
            }
            let scheduled = try await bench.enqueue(delay: 1000)
            try bench.expect(try await bench.claim(worker).nextDueMilliseconds, 1000, "the time of a scheduled one")
            try await bench.advance(.seconds(1))
            let claimed = try await bench.claimOne(worker)
            try bench.expect([claimed.id], scheduled, "the scheduled one")
            _ = try await bench.fail(claimed, worker, .retry(afterMilliseconds: 1000))
            try bench.expect(try await bench.claim(worker).nextDueMilliseconds, 1000, "the time of a retry")
            try await bench.advance(.seconds(1))
            try bench.expect(try await bench.claim(worker).operations.map(\.id), scheduled, "the retry")
            // Only the operation that stays has a deadline. A full worker gets an instant one second later.
            _ = try await bench.enqueue() + bench.enqueue(expires: 1000)
            try bench.expect(try await bench.claim(worker).nextDueMilliseconds, 2000, "the time of a deadline")
        },
        ConformanceCheck("A lane is first in, first out, for tracked and untracked ones alike") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2) + bench.enqueue(2, tracked: false) + bench.enqueue()
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), ids, "the order")
        },
        ConformanceCheck("Higher priorities are claimed first") { bench in
            let worker = try bench.worker()
            var expected: [OperationID] = []
            for priority in OperationPriority.allCases { expected += try await bench.enqueue(priority: priority) }
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), expected.reversed(), "the order")
        },
        ConformanceCheck("A lane gains one rank for each full 30 s that its head waits") { bench in
            let worker = try bench.worker()
            let old = try await bench.enqueue(2, priority: .low)
            try await bench.advance(.milliseconds(29_999))
            let young = try await bench.enqueue(9, priority: .normal)
            try bench.beat(worker)
            // Every fifth operation is chosen by age.
            for number in 0..<5 {
                try bench.expect(try await bench.claim(worker).operations.map(\.id), [young[number]], "before 30 s")
            }
            try await bench.advance(.milliseconds(1))
            for number in 5..<9 {
                try bench.expect(try await bench.claim(worker).operations.map(\.id), [young[number]], "by priority")
            }
            try await bench.enqueue(priority: .normal)
            // Between equal ranks, the head that has waited longer comes first.
            try bench.expect(try await bench.claim(worker).operations.map(\.id), [old[0]], "after 30 s")
        },
        ConformanceCheck("After two minutes a veryLow head goes before new veryHigh operations") { bench in
            let worker = try bench.worker()
            let old = try await bench.enqueue(priority: .veryLow)
            try await bench.advance(.seconds(120))
            let urgent = try await bench.enqueue(10, priority: .veryHigh)
            try bench.beat(worker)
            let order = try await bench.claim(worker, 5).operations.map(\.id)
            try bench.expect(order, Array(urgent[..<4]) + old, "the order")
        },
        ConformanceCheck("An old backlog gets one fifth of the claims, and urgent operations the rest") { bench in
            let worker = try bench.worker()
            let old = try await bench.enqueue(100, priority: .low)
            try await bench.advance(.seconds(600))
            let urgent = try await bench.enqueue(20, priority: .veryHigh)
            try bench.beat(worker)
            let together = try await bench.claim(worker, 10).operations.map(\.id)
            var tenth = Array(urgent[..<4])
            tenth.append(old[0])
            tenth += urgent[4..<8]
            tenth.append(old[1])
            try bench.expect(together, tenth, "ten in one claim")
            var single: [OperationID] = []
            for _ in 1...10 { single += try await bench.claim(worker).operations.map(\.id) }
            var expected = Array(urgent[8..<12])
            expected.append(old[2])
            expected += urgent[12..<16]
            expected.append(old[3])
            try bench.expect(single, expected, "ten claims of one")
        },
        ConformanceCheck("Due operations go to the tail of their lane, in order of their due times") { bench in
            let worker = try bench.worker()
            let late = try await bench.enqueue(delay: 2000)
            let early = try await bench.enqueue(delay: 1000)
            let ready = try await bench.enqueue()
            try await bench.advance(.seconds(3))
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), ready + early + late, "the order")
        },
        ConformanceCheck("Operations due at the same instant are claimed in the order of their enqueue") { bench in
            // Producers may choose ids: these sort in the reverse order.
            let ids = (0..<20).map { OperationID(key: "line \($0)") }.sorted(by: >)
            let operations = ids.map { NewOperation(id: $0, delayMilliseconds: 1000, envelope: BrokerBench.envelope()) }
            _ = try await bench.broker.enqueue(operations, queue: bench.queue)
            try await bench.advance(.milliseconds(1001))
            let claimed = try await bench.claim(try bench.worker(), 20).operations
            try bench.expect(claimed.map(\.id), ids, "the order")
        },
        ConformanceCheck("A claim takes a bounded number of tracked operations and reports that more is ready") {
            bench in
            let worker = try bench.worker()
            let cheap = try await bench.enqueue(120, tracked: false)
            let ids = try await bench.enqueue(SluiceDefaults.trackedBatch + 30)
            let first = try await bench.claim(worker, SluiceDefaults.batch)
            try bench.expect(first.operations.map(\.id), cheap + ids[..<SluiceDefaults.trackedBatch], "the first part")
            try bench.expect(first.more, true, "more after the first")
            let second = try await bench.claim(worker, SluiceDefaults.batch)
            try bench.expect(second.operations.map(\.id), Array(ids[SluiceDefaults.trackedBatch...]), "the rest")
            try bench.expect(second.more, false, "more after the second")
        },
        ConformanceCheck("A claim promotes a bounded number of due operations, and reports that more are due now") {
            bench in
            let worker = try bench.worker()
            var ids: [OperationID] = []
            for _ in 0..<3 { ids += try await bench.enqueue(150, delay: 1000) }
            let expiring = try await bench.enqueue(70, delay: 60_000, expires: 1000)
            try await bench.advance(.seconds(2))
            var taken: [OperationID] = []
            let part = QueueModel.promoteLimit
            let calls = (ids.count + part - 1) / part
            for number in 1...calls {
                let claim = try await bench.claim(worker, SluiceDefaults.batch)
                taken += claim.operations.map(\.id)
                try bench.expect(taken.count, min(part * number, ids.count), "promoted by claim \(number)")
                if number == 1 {
                    let waiting = ids.count + expiring.count - part - QueueModel.promoteLeast
                    try bench.expect(try await bench.snapshot().counts[.scheduled], waiting, "not promoted by it")
                }
                try bench.expect(
                    claim.nextDueMilliseconds,
                    number < calls ? 0 : nil,
                    "the next instant after claim \(number)"
                )
            }
            try bench.expect(Set(taken), Set(ids), "what was promoted")
            // Expiry does not wait until all due operations are promoted.
            try bench.expect(try await bench.snapshot().counts[.expired], expiring.count, "expired")
        },
        ConformanceCheck("Operations given back to the front keep their order, before all others") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(5)
            let claimed = try await bench.claim(worker, 3).operations
            let returns = claimed.shuffled().map { Return(fence: $0.fence, id: $0.id) }
            let outcomes = try await bench.broker.giveBack(returns, worker: worker, queue: bench.queue)
            try bench.expect(outcomes, [.done(.ready), .done(.ready), .done(.ready)], "the outcomes")
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), ids, "the order")
        },
        ConformanceCheck("A worker never gets the same fence twice, even if the counter fell behind") { bench in
            let worker = try bench.worker()
            func fences(_ claim: Claim?) -> [Int64] { claim?.operations.map(\.fence) ?? [] }
            func request(_ capacity: Int, _ highest: Int64) -> ClaimRequest {
                ClaimRequest(worker: worker, epoch: 0, capacity: capacity, highestFence: highest)
            }
            try await bench.enqueue(2, tracked: false)
            try await bench.enqueue(2)
            let first = try await bench.broker.claim(request(2, 1000), queue: bench.queue)
            try bench.expect(fences(first), [1001, 1002], "the fences of a claim")
            let completion = Completion(fence: 1001, id: first.operations[0].id, tracked: false, result: [])
            let reply = try await bench.broker.complete(
                [completion],
                isRepeat: false,
                worker: worker,
                thenClaim: request(1, 2000),
                queue: bench.queue
            )
            try bench.expect(reply.outcomes, [.done(.finished)], "the outcome")
            try bench.expect(fences(reply.claim), [2001], "the fence of a claim behind a completion")
            let last = try await bench.broker.claim(request(1, 5), queue: bench.queue)
            try bench.expect(fences(last), [2002], "the fence where the counter is ahead")
            try bench.expect(try await bench.complete(last.operations[0], worker), .done(.finished), "its completion")
        },
    ]
}
