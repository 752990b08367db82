import Operations

extension BrokerConformance {
    static let leasing: [ConformanceCheck] = [
        ConformanceCheck("A heartbeat returns how many operations the worker holds") { bench in
            let worker = try bench.worker()
            try await bench.enqueue(2)
            try await bench.enqueue(1, tracked: false)
            _ = try await bench.claim(worker, 9)
            try bench.expect(try bench.beat(worker).inFlight, 3, "in flight")
        },
        ConformanceCheck("A heartbeat returns whether a ready or due operation could start") { bench in
            let worker = try bench.worker()
            try bench.expect(try bench.beat(worker).startable, false, "an empty queue")
            try await bench.enqueue(delay: 2000)
            try bench.expect(try bench.beat(worker).startable, false, "before the due time")
            try await bench.advance(.seconds(2))
            try bench.expect(try bench.beat(worker).startable, true, "at the due time")
            _ = try await bench.claim(worker)
            try await bench.enqueue()
            try bench.expect(try bench.beat(worker).startable, true, "with a ready one")
        },
        ConformanceCheck("Reconciling finds the operations of a claim whose reply was lost") { bench in
            let worker = try bench.worker()
            let known = try await bench.running(worker)
            try await bench.enqueue()
            try await bench.enqueue(tracked: false)
            let lost = try await bench.claim(worker, 2).operations
            let found = try await bench.broker.reconcile(
                known: [known.fence, 999],
                worker: worker,
                epoch: 1,
                queue: bench.queue
            )
            try bench.expect(found, Reconciliation(found: lost, lost: [999], more: false), "the reconciliation")
            for operation in lost {
                try bench.expect(try await bench.complete(operation, worker), .done(.finished), "its completion")
            }
        },
        ConformanceCheck("Reconciling returns the operations that a swept worker has lost") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let claimed = try await bench.running(worker)
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
            let reply = try await bench.broker.reconcile(
                known: [claimed.fence],
                worker: worker,
                epoch: 0,
                queue: bench.queue
            )
            try bench.expect(reply, Reconciliation(found: [], lost: [claimed.fence], more: false), "the reconciliation")
        },
        ConformanceCheck("Reconciling finds at most 200 unknown operations a call") { bench in
            let worker = try bench.worker()
            try await bench.enqueue(250, tracked: false)
            let claimed = try await bench.claim(worker, 250).operations
            var known: [Int64] = []
            var more = true
            while more {
                let reply = try await bench.broker.reconcile(known: known, worker: worker, epoch: 0, queue: bench.queue)
                known += reply.found.map(\.fence)
                more = reply.more
                try bench.expect(reply.found.count <= 200, "at most 200 are found at once")
            }
            try bench.expect(known, claimed.map(\.fence), "the fences")
        },
        ConformanceCheck("A worker retires only once it holds no operations") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            try await bench.broker.retire(worker: worker, statistics: [], queue: bench.queue)
            try bench.expect(try await bench.snapshot().workers.map(\.worker), [worker.description], "the workers")
            _ = try await bench.complete(claimed, worker)
            try await bench.broker.retire(worker: worker, statistics: [], queue: bench.queue)
            try bench.expect(try await bench.snapshot().workers.count, 0, "workers")
            try bench.expect(try await bench.claim(worker).status, .noLease, "a claim after that")
        },
        ConformanceCheck("A lapsed worker keeps its operations if its next heartbeat comes before a sweep") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let claimed = try await bench.running(worker)
            try await bench.lapse(allBut: other)
            try bench.expect(try bench.beat(worker).inFlight, 1, "in flight")
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the sweep")
            try bench.expect(try await bench.complete(claimed, worker), .done(.finished), "the completion")
        },
        ConformanceCheck("A worker with one heartbeat per lease never loses operations") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let claimed = try await bench.running(worker)
            for _ in 1...20 {
                try await bench.pass(14, beating: other)
                try bench.beat(worker)
                try bench.expect(try await bench.sweepAll(), SweepReply(), "the sweep")
            }
            try bench.expect(try await bench.complete(claimed, worker), .done(.finished), "the completion")
        },
    ]

    static let sweeping: [ConformanceCheck] = [
        ConformanceCheck("A lost worker's operations return to the head of the lane: delivery 2, same attempt") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let ids = try await bench.enqueue() + bench.enqueue(tracked: false) + bench.enqueue(2)
            _ = try await bench.claim(worker, 3)
            try await bench.lapse(allBut: other)
            try bench.expect(try bench.beat(other).sweepDue, true, "a sweep is due")
            try bench.expect(try await bench.sweepAll(), SweepReply(recovered: 3), "the sweep")
            let again = try await bench.claim(other, 9).operations
            try bench.expect(again.map(\.id), ids, "the order")
            try bench.expect(again.map(\.header.delivery), [2, 2, 2, 1], "the deliveries")
            try bench.expect(again.map(\.attempt), [1, 1, 1, 1], "the attempts")
            try bench.expect(try bench.beat(other).sweepDue, false, "a sweep is due after it")
        },
        ConformanceCheck("A sweep recovers nothing before the lease has passed") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            _ = try await bench.running(worker)
            try await bench.pass(15, beating: other)
            try bench.expect(try bench.beat(other).sweepDue, false, "a sweep is due")
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the sweep")
            try await bench.advance(.milliseconds(1))
            try bench.expect(try bench.beat(other).sweepDue, true, "a sweep is due")
            try bench.expect(try await bench.sweepAll(), SweepReply(recovered: 1), "the sweep")
        },
        ConformanceCheck("After an outage no worker is swept before another lease has passed") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let claimed = try await bench.running(worker)
            try await bench.advance(.seconds(60))
            try bench.expect(try bench.beat(other).sweepDue, false, "a sweep is due")
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the sweep")
            try await bench.pass(14, beating: other)
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the sweep")
            try bench.beat(worker)
            try bench.expect(try await bench.complete(claimed, worker), .done(.finished), "the completion")
        },
        ConformanceCheck("A short outage under a short lease makes no worker lost") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try bench.beat(worker, lease: 3000, interval: 1000)
            _ = try await bench.running(worker)
            try await bench.advance(.milliseconds(900))
            try bench.beat(other, lease: 3000, interval: 1000)
            // All workers are silent for less than a lease, but more than a lease has passed since the worker's last
            // heartbeat.
            try await bench.advance(.milliseconds(2200))
            try bench.expect(try bench.beat(other, lease: 3000, interval: 1000).sweepDue, false, "a sweep is due")
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the sweep")
        },
        ConformanceCheck("A worker that stays silent after an outage is swept one lease later") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            _ = try await bench.running(worker)
            try await bench.advance(.seconds(60))
            try bench.beat(other)
            try await bench.pass(16, beating: other)
            try bench.expect(try await bench.sweepAll(), SweepReply(recovered: 1), "the sweep")
        },
        ConformanceCheck("A clock that goes back makes no lease lapse early") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            _ = try await bench.running(worker)
            try await bench.pass(10, beating: other)
            try await bench.advance(.seconds(-8))
            try bench.beat(other)
            try await bench.pass(14, beating: other)
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the sweep")
        },
        ConformanceCheck("A sweep never takes operations from a worker that sends heartbeats") { bench in
            let (worker, other, live) = (try bench.worker(), try bench.worker(), try bench.worker())
            _ = try await bench.running(worker)
            let kept = try await bench.running(live)
            for _ in 1...17 {
                try await bench.pass(1, beating: other)
                try bench.beat(live)
            }
            try bench.expect(try await bench.sweepAll(), SweepReply(recovered: 1), "the sweep")
            try bench.expect(try await bench.complete(kept, live), .done(.finished), "the completion")
        },
        ConformanceCheck("An operation dies with the reason at its third lost delivery; its attempt stays the first") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            for tracked in [true, false] {
                var claimed = try await bench.running(worker, tracked: tracked)
                for delivery in 1...SluiceDefaults.maxDeliveries {
                    try bench.expect(
                        [claimed.header.delivery, claimed.attempt],
                        [delivery, 1],
                        "delivery and attempt"
                    )
                    try await bench.lapse(allBut: other)
                    let isLast = delivery == SluiceDefaults.maxDeliveries
                    let expected = SweepReply(recovered: isLast ? 0 : 1, dead: isLast ? 1 : 0)
                    try bench.expect(try await bench.sweepAll(), expected, "sweep \(delivery)")
                    try bench.beat(worker)
                    if !isLast { claimed = try await bench.claimAfterLoss(worker) }
                }
                let detail = try await bench.existing(claimed.id)
                try bench.expect(detail.state, .dead, "the state")
                let reason = detail.errors.last.map { String(decoding: $0.error, as: UTF8.self) } ?? ""
                try bench.expect(reason.contains(#""type":"lost""#), "the last error is of type lost: \(reason)")
            }
        },
        ConformanceCheck("Operations that were lost together twice do not start together a third time") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let ids = try await bench.enqueue(4) + bench.enqueue(4, tracked: false)
            for _ in 1..<SluiceDefaults.maxDeliveries {
                try bench.expect(try await bench.claim(worker, 9).operations.count, 8, "claimed together")
                try await bench.lapse(allBut: other)
                try bench.expect(try await bench.sweepAll(), SweepReply(recovered: 8), "the sweep")
                try bench.beat(worker)
            }
            var instants: Set<Int64> = []
            for id in ids {
                let record = try await bench.existing(id).record
                try bench.expect([record.header.delivery, record.attempt], [3, 0], "delivery and attempt")
                try await bench.expectState(id, .scheduled)
                instants.insert(record.dueAt)
            }
            try bench.expect(instants.count > 1, "they wait for different times")
            try await bench.pass(10, beating: worker)
            try bench.expect(Set(try await bench.claim(worker, 9).operations.map(\.id)), Set(ids), "due after 10 s")
        },
        ConformanceCheck("An operation with a requested cancel ends as cancelled when its worker is lost") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let claimed = try await bench.running(worker)
            _ = try await bench.cancel(claimed.id)
            try await bench.lapse(allBut: other)
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the sweep")
            try await bench.expectState(claimed.id, .cancelled)
        },
        ConformanceCheck("A sweep recovers at most 200 operations of a lost worker at once") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let ids = try await bench.enqueue(250, tracked: false)
            _ = try await bench.claim(worker, 250)
            try await bench.lapse(allBut: other)
            let first = try await bench.broker.sweep(queue: bench.queue)
            try bench.expect(first, SweepReply(recovered: 200, more: true), "the first pass")
            try bench.expect(try await bench.sweepAll().recovered, 50, "recovered by the rest")
            let again = try await bench.claim(other, 300).operations
            try bench.expect(Set(again.map(\.id)), Set(ids), "the operations")
            try bench.expect(again.map(\.header.delivery), [Int](repeating: 2, count: 250), "the deliveries")
        },
        ConformanceCheck("A sweep before the first heartbeat after an outage takes no worker for dead") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            _ = try await bench.running(worker)
            try await bench.pass(10, beating: other)
            try await bench.advance(.seconds(8))
            try bench.expect(try await bench.broker.sweep(queue: bench.queue), SweepReply(), "the sweep before a beat")
            try bench.beat(other)
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the sweep after it")
            try await bench.pass(16, beating: other)
            try bench.expect(try await bench.sweepAll(), SweepReply(recovered: 1), "the sweep after one lease more")
        },
        ConformanceCheck("One sweep recovers a bounded number of bytes, however large the operations are") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try await bench.enqueueUntracked(large: 5)
            var claimed = 0
            for _ in 0..<5 where claimed < 5 { claimed += try await bench.claim(worker, 5).operations.count }
            try bench.expect(claimed, 5, "claimed")
            try await bench.lapse(allBut: other)
            let first = try await bench.broker.sweep(queue: bench.queue)
            try bench.expect(first, SweepReply(recovered: 2, more: true), "the first pass")
            try bench.expect(try await bench.sweepAll().recovered, 3, "recovered by the rest")
        },
        ConformanceCheck("One sweep clears away a bounded number of bytes of a cancelled queue") { bench in
            try await bench.enqueueUntracked(large: 25)
            _ = try await bench.cancelQueue()
            let first = try await bench.broker.sweep(queue: bench.queue)
            try bench.expect(first, SweepReply(cleared: 3, more: true), "the first pass")
            try bench.expect(try await bench.sweepAll().cleared, 22, "cleared away by the rest")
        },
    ]
}
