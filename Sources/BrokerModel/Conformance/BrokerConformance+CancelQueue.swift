import Operations

extension BrokerConformance {
    static let cancellingQueues: [ConformanceCheck] = [
        ConformanceCheck("Cancelling a queue ends all waiting operations at once, and none of them starts") { bench in
            let worker = try bench.worker()
            let retrying = try await bench.running(worker)
            _ = try await bench.fail(retrying, worker, .retry(afterMilliseconds: 1000))
            let tracked = try await bench.enqueue(3) + bench.enqueue(delay: 1000) + [retrying.id]
            try await bench.enqueue(2, tracked: false, priority: .high)
            let counts = try await bench.cancelQueue()
            try bench.expect([counts.waiting, counts.executing], [7, 0], "waiting and executing")
            for id in tracked { try await bench.expectState(id, .cancelled) }
            let later = try await bench.enqueue(2)
            try await bench.advance(.seconds(2))
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), later, "claimed operations")
            try bench.expect(try await bench.snapshot().totals["cancelled"], 7, "the total of cancelled ones")
        },
        ConformanceCheck("Sweeps clear away a cancelled batch, and its operations stay cancelled") { bench in
            let worker = try bench.worker()
            let tracked = try await bench.enqueue(3) + bench.enqueue(delay: 1000)
            try await bench.enqueue(2, tracked: false)
            _ = try await bench.cancelQueue()
            let before = try await bench.existing(tracked[0])
            try bench.expect(before.cancel?.reason, "all of it", "the reason before")
            try bench.expect(try bench.beat(worker).sweepDue, true, "a sweep is due")
            try bench.expect(try await bench.sweepAll().cleared, 6, "cleared operations")
            try bench.expect(try bench.beat(worker).sweepDue, false, "a sweep is due after it")
            for id in tracked {
                let detail = try await bench.existing(id)
                try bench.expect(detail.record.state, .cancelled, "the stored state")
                try bench.expect(detail.cancel?.reason, "all of it", "the reason")
            }
            let snapshot = try await bench.snapshot()
            try bench.expect(snapshot.totals["cancelled"], 6, "the total of cancelled ones")
            try bench.expect(snapshot.counts[.cancelled], 4, "records of cancelled ones")
        },
        ConformanceCheck("Cancelling a queue notifies its workers, and operations that they hold do not return") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try await bench.enqueue(3)
            let claimed = try await bench.claim(worker, 3).operations
            let counts = try await bench.cancelQueue()
            try bench.expect([counts.waiting, counts.executing], [0, 3], "waiting and executing")
            try bench.expect(try bench.beat(worker).cancelledThroughFence, claimed[2].fence, "cancelled through")
            try bench.expect(try await bench.existing(claimed[0].id).cancel?.reason, "all of it", "the reason, running")
            let failed = try await bench.fail(claimed[0], worker, .retry(afterMilliseconds: 0))
            try bench.expect(failed, .done(.cancelled), "a failure")
            try bench.expect(try await bench.giveBack(claimed[1], worker), .done(.cancelled), "the outcome of a return")
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
            try await bench.expectState(claimed[2].id, .cancelled)
            try bench.expect(try await bench.claim(other, 9).operations.count, 0, "claimed operations")
        },
        ConformanceCheck("A cancel of a queue does not affect operations enqueued later") { bench in
            let worker = try bench.worker()
            try await bench.enqueue()
            _ = try await bench.cancelQueue()
            let claimed = try await bench.running(worker)
            try bench.expect(
                claimed.fence > (try bench.beat(worker).cancelledThroughFence),
                "the fence is above the cancelled fence"
            )
            let outcome = try await bench.fail(claimed, worker, .retry(afterMilliseconds: 1000))
            try bench.expect(outcome, .done(.retrying), "its failure")
            _ = try await bench.sweepAll()
            try await bench.expectState(claimed.id, .retrying)
        },
        ConformanceCheck("An operation of a cancelled queue can be retried before and after it is cleared away") {
            bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2)
            _ = try await bench.cancelQueue()
            try bench.expect(
                try await bench.broker.retry([ids[0]], by: "tester", queue: bench.queue),
                [.done],
                "before"
            )
            _ = try await bench.sweepAll()
            try await bench.expectState(ids[0], .ready)
            try bench.expect(try await bench.broker.retry([ids[1]], by: "tester", queue: bench.queue), [.done], "after")
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), ids, "claimed operations")
        },
        ConformanceCheck("A cancel of one operation of a cancelled queue returns when the queue was cancelled") {
            bench in
            let ids = try await bench.enqueue()
            let now = try await bench.snapshot().time
            _ = try await bench.cancelQueue()
            try await bench.advance(.seconds(5))
            try bench.expect(try await bench.cancel(ids[0]), .ended(.cancelled, at: now), "the outcome")
        },
        ConformanceCheck("Operations ended by a cancel of the queue are counted and listed as cancelled at once") {
            bench in
            let worker = try bench.worker()
            let retrying = try await bench.running(worker)
            _ = try await bench.fail(retrying, worker, .retry(afterMilliseconds: 1000))
            let early = try await bench.enqueue(delay: 1000)
            let late = try await bench.enqueue(delay: 2000)
            let low = try await bench.enqueue(3, priority: .low)
            let high = try await bench.enqueue(2, tracked: false, priority: .high)
            let cancelled = try await bench.enqueue()
            _ = try await bench.cancel(cancelled[0])
            _ = try await bench.cancelQueue()
            let batch = high.reversed() + low.reversed() + late + early + [retrying.id]
            let second = try await bench.enqueue(2)
            _ = try await bench.cancelQueue()
            for limit in [1, 2, 3, 200] {
                let listed = try await bench.list(.cancelled, limit: limit)
                try bench.expect(listed, second.reversed() + batch + cancelled, "listed, \(limit) a page")
            }
            try bench.expect(try await bench.snapshot().counts[.cancelled], 11, "counted")
            try bench.expect(try await bench.snapshot().counts[.ready], 0, "ready ones")
            _ = try await bench.sweepAll()
            try bench.expect(try await bench.snapshot().counts[.cancelled], 9, "counted when it is cleared away")
            let kept = Set(try await bench.list(.cancelled, limit: 2))
            try bench.expect(kept, Set(second + batch + cancelled).subtracting(high), "listed when it is cleared away")
        },
        ConformanceCheck("Operations removed or retried from a cancelled queue are not counted or listed again") {
            bench in
            let worker = try bench.worker()
            let waiting = try await bench.enqueue(3)
            let delayed = try await bench.enqueue(2, delay: 1000)
            _ = try await bench.cancelQueue()
            let removed = [waiting[0], delayed[0]]
            let removals = try await bench.broker.remove(removed, by: "tester", queue: bench.queue)
            try bench.expect(removals, [.done, .done], "the removals")
            let retried = [waiting[1], delayed[1]]
            let retries = try await bench.broker.retry(retried, by: "tester", queue: bench.queue)
            try bench.expect(retries, [.done, .done], "the retries")
            try bench.expect(try await bench.snapshot().counts[.cancelled], 1, "counted before")
            try bench.expect(try await bench.list(.cancelled, limit: 2), [waiting[2]], "listed before")
            _ = try await bench.sweepAll()
            try bench.expect(try await bench.snapshot().counts[.cancelled], 1, "counted after")
            try bench.expect(try await bench.list(.cancelled, limit: 2), [waiting[2]], "listed after")
            for id in removed { try await bench.expectState(id, nil) }
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), retried, "claimed operations")
        },
        ConformanceCheck("An operation shows the same cancel of its queue before and after it is cleared away") {
            bench in
            let first = try await bench.enqueue()
            let now = try await bench.snapshot().time
            _ = try await bench.cancelQueue(reason: "the first")
            try await bench.advance(.seconds(5))
            try await bench.enqueue()
            _ = try await bench.cancelQueue(reason: "the second")
            let before = try await bench.existing(first[0])
            try bench.expect(before.cancel?.reason, "the first", "the reason before")
            try bench.expect(before.record.endedAt, now, "the end before")
            try bench.expect(try await bench.cancel(first[0]), .ended(.cancelled, at: now), "a cancel of it")
            try await bench.advance(.seconds(60))
            _ = try await bench.sweepAll()
            let after = try await bench.existing(first[0])
            try bench.expect(after.cancel, before.cancel, "the cancel after")
            try bench.expect(after.record.endedAt, now, "the end after")
        },
        ConformanceCheck("Each cancelled operation keeps the cancel of its queue, even if another follows at once") {
            bench in
            let first = try await bench.enqueue()
            _ = try await bench.cancelQueue(reason: "the first")
            let second = try await bench.enqueue()
            _ = try await bench.cancelQueue(reason: "the second")
            _ = try await bench.sweepAll()
            try bench.expect(try await bench.existing(first[0]).cancel?.reason, "the first", "its reason")
            try bench.expect(try await bench.existing(second[0]).cancel?.reason, "the second", "its reason")
        },
        ConformanceCheck("A removed id of a cancelled queue can be enqueued anew and runs") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue()
            _ = try await bench.cancelQueue()
            try bench.expect(
                try await bench.broker.remove(ids, by: "tester", queue: bench.queue),
                [.done],
                "the removal"
            )
            let anew = NewOperation(id: ids[0], envelope: BrokerBench.envelope())
            try bench.expect(try await bench.broker.enqueue([anew], queue: bench.queue), [.created], "the enqueue")
            _ = try await bench.sweepAll()
            try bench.expect(try await bench.claimOne(worker).id, ids[0], "the claimed operation")
        },
    ]
}
