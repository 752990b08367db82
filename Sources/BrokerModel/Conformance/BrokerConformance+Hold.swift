import Operations

// Operations that an operator holds.
extension BrokerConformance {
    static let holding: [ConformanceCheck] = [
        ConformanceCheck("A held operation starts only after its release, and then comes next") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(3)
            try bench.expect(try await bench.hold([ids[0], ids[1]]), [.done, .done], "the holds")
            try bench.expect(
                try await bench.claim(worker, 9).operations.map(\.id),
                [ids[2]],
                "claimed while they are held"
            )
            try bench.expect(try await bench.snapshot().counts[.blocked], 2, "blocked ones")
            let later = try await bench.enqueue(1)
            try bench.expect(try await bench.release([ids[0], ids[1]]), [.done, .done], "the releases")
            try bench.expect(try await bench.snapshot().counts[.blocked], 0, "blocked ones, after it")
            try bench.expect(
                try await bench.claim(worker, 9).operations.map(\.id),
                [ids[0], ids[1]] + later,
                "claimed after it"
            )
        },
        ConformanceCheck("A held operation shows who holds it, since when and why; pages list the newest first") {
            bench in
            let ids = try await bench.enqueue(2)
            let at = try await bench.snapshot().time
            _ = try await bench.hold([ids[0]])
            try await bench.advance(.milliseconds(10))
            _ = try await bench.hold([ids[1]])
            let held = try await bench.existing(ids[0])
            try bench.expect(held.state, .blocked, "the state")
            try bench.expect(held.hold, OperatorTrace(at: at, by: "ann", reason: "ask first"), "the hold")
            let page = try await bench.broker.page(state: .blocked, queue: bench.queue, cursor: nil, limit: 9)
            try bench.expect(page.operations.map { $0.record.header.id }, ids.reversed(), "the page")
            _ = try await bench.release([ids[0]])
            try bench.expect(try await bench.existing(ids[0]).hold, nil, "the hold, after it")
        },
        ConformanceCheck("After a release, scheduled and retrying operations wait for their time or are ready") {
            bench in
            let worker = try bench.worker()
            let failing = try await bench.running(worker)
            _ = try await bench.fail(failing, worker, .retry(afterMilliseconds: 5000))
            let scheduled = try await bench.enqueue(2, delay: 5000)
            let all = [failing.id] + scheduled
            _ = try await bench.hold(all)
            try await bench.advance(.milliseconds(2000))
            _ = try await bench.release([failing.id, scheduled[0]])
            try await bench.expectState(failing.id, .retrying)
            try await bench.expectState(scheduled[0], .scheduled)
            try await bench.advance(.milliseconds(2999))
            try bench.expect(try await bench.claim(worker, 9).operations.count, 0, "before their time")
            try await bench.advance(.milliseconds(1))
            try bench.expect(Set(try await bench.claim(worker, 9).operations.map(\.id)), Set(all.prefix(2)), "in time")
            _ = try await bench.release([scheduled[1]])
            try await bench.expectState(scheduled[1], .ready)
            try bench.expect(
                try await bench.claim(worker, 9).operations.map(\.id),
                [scheduled[1]],
                "claimed after a late release"
            )
        },
        ConformanceCheck("A held operation can expire, be removed, and be cancelled alone or with its queue") { bench in
            let worker = try bench.worker()
            let expiring = try await bench.enqueue(1, expires: 1000)
            let others = try await bench.enqueue(3)
            _ = try await bench.hold(expiring + others)
            try await bench.advance(.milliseconds(1001))
            _ = try await bench.claim(worker, 9)
            try await bench.expectState(expiring[0], .expired)
            _ = try await bench.cancel(others[0])
            try await bench.expectState(others[0], .cancelled)
            try bench.expect(
                try await bench.broker.remove([others[1]], by: "ann", queue: bench.queue),
                [.done],
                "removal"
            )
            let request = CancelRequest(reason: "all", by: "ann")
            let counts = try await bench.broker.cancelQueue(bench.queue, request: request)
            try bench.expect(counts.waiting, 1, "those that wait")
            try await bench.expectState(others[2], .cancelled)
            try bench.expect(try await bench.release([others[2]]), [.refused(.cancelled)], "the release")
            _ = try await bench.broker.sweep(queue: bench.queue)
            try await bench.expectState(others[2], .cancelled)
            let snapshot = try await bench.snapshot()
            try bench.expect(snapshot.counts[.blocked], 0, "blocked ones")
            try bench.expect(snapshot.counts[.cancelled], 2, "cancelled ones")
        },
        ConformanceCheck("An expiry counts again after a release") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(1, expires: 1000)
            _ = try await bench.hold(ids)
            _ = try await bench.release(ids)
            try await bench.advance(.milliseconds(1001))
            _ = try await bench.claim(worker, 9)
            try await bench.expectState(ids[0], .expired)
        },
        ConformanceCheck("Running, ended and unknown operations cannot be held or released, nor a held one held again")
        { bench in
            let worker = try bench.worker()
            let finished = try await bench.running(worker)
            _ = try await bench.complete(finished, worker)
            let running = try await bench.running(worker)
            let held = try await bench.enqueue(1)
            _ = try await bench.hold(held)
            let ids = [running.id, finished.id, held[0], OperationID()]
            let refused: [ChangeOutcome] = [.refused(.executing), .refused(.finished), .refused(.blocked), .unknown]
            try bench.expect(try await bench.hold(ids), refused, "the holds")
            try bench.expect(
                try await bench.release(ids),
                [.refused(.executing), .refused(.finished), .done, .unknown],
                "the releases"
            )
            try bench.expect(
                try await bench.broker.retry(held, by: "ann", queue: bench.queue),
                [.refused(.ready)],
                "retry"
            )
        },
        ConformanceCheck("An operation that is held and released several times runs once") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2)
            for _ in 1...3 {
                _ = try await bench.hold([ids[0]])
                _ = try await bench.release([ids[0]])
            }
            try bench.expect(try await bench.snapshot().counts[.ready], 2, "ready ones")
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), ids, "claimed ones")
            try bench.expect(try await bench.claim(worker, 9).operations.count, 0, "left ones")
        },
        ConformanceCheck("An unhandled operation can be held, and is ready after its release") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            let given = Return(
                fence: claimed.fence,
                id: claimed.id,
                place: .unhandled(name: "unknown", orLaterMilliseconds: 9)
            )
            _ = try await bench.broker.giveBack([given], worker: worker, queue: bench.queue)
            _ = try await bench.hold([claimed.id])
            try bench.expect(try await bench.snapshot().unhandledCount, 0, "unhandled ones")
            _ = try await bench.release([claimed.id])
            try bench.expect(try await bench.claim(worker).operations.map(\.id), [claimed.id], "claimed ones")
        },
        ConformanceCheck("A repeated return or failure of an operation held meanwhile counts as already done") {
            bench in
            let worker = try bench.worker()
            let returned = try await bench.running(worker)
            _ = try await bench.giveBack(returned, worker, .front)
            _ = try await bench.hold([returned.id])
            try bench.expect(try await bench.giveBack(returned, worker, .front), .already, "the return")
            let failed = try await bench.running(worker)
            _ = try await bench.fail(failed, worker, .retry(afterMilliseconds: 5000))
            _ = try await bench.hold([failed.id])
            try bench.expect(
                try await bench.fail(failed, worker, .retry(afterMilliseconds: 5000)),
                .already,
                "the failure"
            )
        },
    ]
}

extension BrokerBench {
    fileprivate func hold(_ ids: [OperationID]) async throws -> [ChangeOutcome] {
        try await broker.hold(ids, by: "ann", reason: "ask first", queue: queue)
    }

    fileprivate func release(_ ids: [OperationID]) async throws -> [ChangeOutcome] {
        try await broker.release(ids, by: "ann", queue: queue)
    }
}
