import Operations

extension BrokerConformance {
    static let operating: [ConformanceCheck] = [
        ConformanceCheck("A retry gives dead, cancelled and expired operations fresh attempts and keeps errors") {
            bench in
            let worker = try bench.worker()
            let dead = try await bench.running(worker)
            _ = try await bench.fail(dead, worker, .retry(afterMilliseconds: 0))
            _ = try await bench.fail(try await bench.claimOne(worker), worker, .dead, error: #"{"n":2}"#)
            let cancelled = try await bench.enqueue()
            _ = try await bench.cancel(cancelled[0])
            let expired = try await bench.enqueue(expires: 10)
            try await bench.advance(.seconds(1))
            _ = try await bench.claim(worker)
            let ids = [dead.id] + cancelled + expired
            try bench.expect(
                try await bench.broker.retry(ids, by: "tester", queue: bench.queue),
                [.done, .done, .done],
                "the outcomes"
            )
            let again = try await bench.claim(worker, 9).operations
            try bench.expect(again.map(\.id), ids, "claimed operations")
            try bench.expect(again.map(\.attempt), [1, 1, 1], "the attempts")
            try bench.expect(try await bench.existing(dead.id).errors.count, 2, "kept errors")
            try bench.expect(try await bench.existing(cancelled[0]).cancel, nil, "the trace of the old cancel")
            try bench.expect(try await bench.snapshot().totals["enqueued"], 3, "the total of enqueued ones")
        },
        ConformanceCheck("A retry makes scheduled and retrying operations ready at once, with their attempts") {
            bench in
            let worker = try bench.worker()
            let retrying = try await bench.running(worker)
            _ = try await bench.fail(retrying, worker, .retry(afterMilliseconds: 60_000))
            let scheduled = try await bench.enqueue(delay: 60_000)
            let ids = [retrying.id] + scheduled
            try bench.expect(
                try await bench.broker.retry(ids, by: "tester", queue: bench.queue),
                [.done, .done],
                "the outcomes"
            )
            let again = try await bench.claim(worker, 9)
            try bench.expect(again.operations.map(\.id), ids, "claimed operations")
            try bench.expect(again.operations.map(\.attempt), [2, 1], "the attempts")
            try bench.expect(again.nextDueMilliseconds, nil, "the next due time")
        },
        ConformanceCheck("A retry with delays starts each operation at its own time; dependencies still count") {
            bench in
            let worker = try bench.worker()
            let dead = try await bench.running(worker)
            _ = try await bench.fail(dead, worker, .dead)
            let dependency = try await bench.enqueue()
            let blocked = try await bench.dependent(on: [OperationDependency(dependency[0])])
            let others = try await bench.enqueue(2)
            _ = try await bench.broker.cancel(
                [blocked] + others,
                request: CancelRequest(reason: "", by: "ann"),
                queue: bench.queue
            )
            let outcomes = try await bench.broker.retry(
                [dead.id, blocked] + others,
                delays: [2_000, 1_000, 0, 3_000],
                by: "ann",
                queue: bench.queue
            )
            try bench.expect(outcomes, [.done, .done, .done, .done], "the outcomes")
            for (id, state) in zip(
                [dead.id, blocked] + others,
                [OperationState.scheduled, .blocked, .ready, .scheduled]
            ) {
                try await bench.expectState(id, state)
            }
            try bench.expect(try await bench.existing(dead.id).record.startedAt, 0, "the start of the last run")
            let first = try await bench.claim(worker, 9).operations
            try bench.expect(first.map(\.id), [dependency[0], others[0]], "claimed at once")
            for operation in first { _ = try await bench.complete(operation, worker) }
            try await bench.expectState(blocked, .scheduled)
            for id in [blocked, dead.id, others[1]] {
                try await bench.advance(.milliseconds(999))
                try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), [], "too early")
                try await bench.advance(.milliseconds(1))
                try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), [id], "at its time")
            }
        },
        ConformanceCheck("A retry is refused for finished, running and ready operations, and reports unknown ids") {
            bench in
            let worker = try bench.worker()
            let finished = try await bench.running(worker)
            _ = try await bench.complete(finished, worker)
            let running = try await bench.running(worker)
            let ids = [finished.id, running.id] + (try await bench.enqueue()) + [OperationID()]
            let expected: [ChangeOutcome] = [.refused(.finished), .refused(.executing), .refused(.ready), .unknown]
            try bench.expect(
                try await bench.broker.retry(ids, by: "tester", queue: bench.queue),
                expected,
                "the outcomes"
            )
        },
        ConformanceCheck("A cancelled and retried operation runs once, although its lane has a stale reference") {
            bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2)
            for _ in 1...3 {
                _ = try await bench.cancel(ids[0])
                _ = try await bench.broker.retry([ids[0]], by: "tester", queue: bench.queue)
            }
            try bench.expect(try await bench.snapshot().counts[.ready], 2, "ready operations")
            try bench.expect(
                try await bench.claim(worker, 9).operations.map(\.id),
                ids.reversed(),
                "claimed operations"
            )
        },
        ConformanceCheck("A removal erases an operation and all that is stored for it, unless it is running") { bench in
            let worker = try bench.worker()
            let finished = try await bench.running(worker)
            _ = try await bench.report(finished, worker, .log(line: Array("x".utf8)))
            _ = try await bench.complete(finished, worker, result: "1")
            let running = try await bench.running(worker)
            let waiting = try await bench.enqueue() + bench.enqueue(delay: 1000)
            let ids = [finished.id, running.id] + waiting + [OperationID()]
            let expected: [ChangeOutcome] = [.done, .refused(.executing), .done, .done, .unknown]
            try bench.expect(
                try await bench.broker.remove(ids, by: "tester", queue: bench.queue),
                expected,
                "the outcomes"
            )
            for id in [finished.id] + waiting { try await bench.expectState(id, nil) }
            let log = try await bench.broker.log(finished.id, queue: bench.queue, from: 0, limit: 9)
            try bench.expect(log.lines.count, 0, "log lines")
            try await bench.advance(.seconds(2))
            try bench.expect(try await bench.claim(worker, 9).operations.count, 0, "claimed operations")
        },
        ConformanceCheck("An id that is named twice is removed once") { bench in
            let ids = try await bench.enqueue(2)
            let outcomes = try await bench.broker.remove([ids[0], ids[1], ids[0]], by: "tester", queue: bench.queue)
            try bench.expect(outcomes, [.done, .done, .unknown], "the outcomes")
            try bench.expect(try await bench.snapshot().totals["removed"], 2, "the number of removed ones")
        },
        ConformanceCheck("A removed id can be enqueued anew as a new operation, which runs once") { bench in
            let worker = try bench.worker()
            let first = try await bench.running(worker)
            _ = try await bench.fail(first, worker, .retry(afterMilliseconds: 0))
            _ = try await bench.broker.retry([first.id], by: "tester", queue: bench.queue)
            _ = try await bench.broker.remove([first.id], by: "tester", queue: bench.queue)
            let anew = NewOperation(id: first.id, envelope: BrokerBench.envelope("anew"))
            _ = try await bench.broker.enqueue([anew], queue: bench.queue)
            let claimed = try await bench.claim(worker, 9).operations
            try bench.expect(claimed.map(\.id), [first.id], "claimed operations")
            try bench.expect(claimed.first?.attempt, 1, "the attempt")
            try bench.expect(claimed.first?.envelope, BrokerBench.envelope("anew"), "the envelope")
        },
    ]

    /// Ended operations: totals and retention.
    static let ending: [ConformanceCheck] =
        [
            ConformanceCheck("Totals agree: every enqueued operation waits, runs, has ended or was removed") { bench in
                let worker = try bench.worker()
                try await bench.enqueue(12)
                try await bench.enqueue(6, tracked: false, priority: .high)
                try await bench.enqueue(3, delay: 1000)
                try await bench.enqueue(1, priority: .veryHigh, expires: 1)
                try await bench.advance(.milliseconds(10))
                let claimed = try await bench.claim(worker, 10).operations
                for (index, operation) in claimed.enumerated() {
                    switch index % 4 {
                    case 0: _ = try await bench.complete(operation, worker)
                    case 1: _ = try await bench.fail(operation, worker, .dead)
                    case 2: _ = try await bench.fail(operation, worker, .retry(afterMilliseconds: 500))
                    default: break
                    }
                }
                let waiting = try await bench.enqueue(3)
                _ = try await bench.cancel(waiting[0])
                _ = try await bench.broker.remove([waiting[1]], by: "tester", queue: bench.queue)
                let snapshot = try await bench.snapshot()
                let held = [OperationState.ready, .scheduled, .retrying, .executing].reduce(0) {
                    $0 + (snapshot.counts[$1] ?? 0)
                }
                let gone = ["finished", "dead", "cancelled", "expired", "removed"].reduce(0) {
                    $0 + (snapshot.totals[$1] ?? 0)
                }
                try bench.expect(Int64(held) + gone, 25, "waiting, running, ended and removed")
                try bench.expect(snapshot.totals["enqueued"], 25, "the total of enqueued ones")
                try bench.expect(snapshot.totals["started"], 10, "the total of starts")
                try bench.expect(snapshot.counts[.executing], snapshot.executing.count, "executing")
            },
            ConformanceCheck(
                "Ended operations are kept for their retention time, and are removed when others end later"
            ) { bench in
                let worker = try bench.worker()
                let old = try await bench.running(worker)
                _ = try await bench.complete(old, worker)
                try await bench.advance(.milliseconds(3_599_999))
                try bench.beat(worker)
                _ = try await bench.complete(try await bench.running(worker), worker)
                try await bench.expectState(old.id, .finished)
                try await bench.advance(.milliseconds(1))
                _ = try await bench.complete(try await bench.running(worker), worker)
                try await bench.expectState(old.id, nil)
                try bench.expect(try await bench.snapshot().totals["finished"], 3, "the total of finished ones")
            },
            ConformanceCheck("The retention count removes no operation that ended under 10 s ago or is awaited") {
                bench in
                let kept = SluiceDefaults.retention[.cancelled]?.count ?? 0
                let first = try await bench.cancelledBatch(500)
                for _ in 0..<kept / 500 { try await bench.cancelledBatch(500) }
                try bench.expect(try await bench.snapshot().counts[.cancelled], kept + 500, "kept while they are young")
                let awaited = try await bench.broker.awaitEnd(of: [first[0]], queue: bench.queue, timeout: .zero)
                try bench.expect(awaited, [.cancelled], "the awaited one")
                try await bench.advance(.seconds(11))
                let young = try await bench.cancelledBatch(500)
                try bench.expect(try await bench.snapshot().counts[.cancelled], kept + 1, "kept when they are old")
                for id in [first[0], young[0], young[499]] { try await bench.expectState(id, .cancelled) }
                try await bench.expectState(first[499], nil)
            },
            ConformanceCheck("Many awaited operations do not block retention, even if few operations end") { bench in
                let day = SluiceDefaults.retention[.cancelled]?.ageMilliseconds ?? 0
                var awaited: [OperationID] = []
                for _ in 1...6 { awaited += try await bench.cancelledBatch(500) }
                let others = try await bench.cancelledBatch(30)
                try await bench.advance(.milliseconds(day + 1))
                // One operation ends every 2 s, so a minute passes long before all awaited ones were skipped.
                for _ in 1...60 {
                    _ = try await bench.broker.awaitEnd(of: awaited, queue: bench.queue, timeout: .zero)
                    try await bench.cancelledBatch(1)
                    try await bench.advance(.seconds(2))
                }
                for id in others { try await bench.expectState(id, nil) }
                for id in [awaited[0], awaited[2999]] { try await bench.expectState(id, .cancelled) }
            },
            ConformanceCheck("A client that awaits many ended operations keeps them, and no others") { bench in
                let day = SluiceDefaults.retention[.cancelled]?.ageMilliseconds ?? 0
                let awaited = try await bench.cancelledBatch(500)
                let others = try await bench.cancelledBatch(300)
                try await bench.advance(.milliseconds(day + 1))
                _ = try await bench.broker.awaitEnd(of: awaited, queue: bench.queue, timeout: .zero)
                for _ in 1...25 { try await bench.cancelledBatch(10) }
                try bench.expect(try await bench.snapshot().counts[.cancelled], 750, "kept beside those that are new")
                for id in [awaited[0], awaited[499]] { try await bench.expectState(id, .cancelled) }
                for id in [others[0], others[299]] { try await bench.expectState(id, nil) }
                // For a minute no client has waited for the old operations, although one waits for another operation.
                try await bench.advance(.seconds(61))
                let young = try await bench.cancelledBatch(1)
                _ = try await bench.broker.awaitEnd(of: young, queue: bench.queue, timeout: .zero)
                for _ in 1...25 { try await bench.cancelledBatch(10) }
                try bench.expect(try await bench.snapshot().counts[.cancelled], 501, "kept when no client waits")
            },
        ]
        + TerminalEnd.allCases.map { end in
            ConformanceCheck("A \(end.rawValue) operation does not change, whatever its worker writes afterwards") {
                bench in
                let worker = try bench.worker()
                let claimed = try await bench.running(worker)
                try await end.reach(claimed, worker, bench)
                let before = try await bench.existing(claimed.id)
                _ = try await bench.complete(claimed, worker, result: "7")
                for disposition in [Failure.Disposition.retry(afterMilliseconds: 0), .dead, .cancelled] {
                    _ = try await bench.fail(claimed, worker, disposition)
                }
                for place in [Return.Place.front, .later(milliseconds: 0)] {
                    _ = try await bench.giveBack(claimed, worker, place)
                }
                _ = try await bench.report(claimed, worker, .progress(fraction: 1, message: "late"))
                try bench.expect(try await bench.existing(claimed.id), before, "the operation")
                try bench.expect(try await bench.claim(worker).operations.count, 0, "claimed operations")
            }
        }
}

extension BrokerBench {
    @discardableResult
    fileprivate func cancelledBatch(_ count: Int) async throws -> [OperationID] {
        let ids = try await enqueue(count).sorted()
        _ = try await broker.cancel(ids, request: CancelRequest(reason: "full", by: "tester"), queue: queue)
        return ids
    }
}

private enum TerminalEnd: String, CaseIterable {
    case finished, dead, cancelled

    func reach(_ claimed: ClaimedOperation, _ worker: WorkerID, _ bench: BrokerBench) async throws {
        switch self {
        case .finished: _ = try await bench.complete(claimed, worker, result: "1")
        case .dead: _ = try await bench.fail(claimed, worker, .dead)
        case .cancelled: _ = try await bench.fail(claimed, worker, .cancelled)
        }
    }
}
