import Operations

/// Operations whose bodies ask to run again: later, or behind the others.
extension BrokerConformance {
    static let runningAgain: [ConformanceCheck] = [
        ConformanceCheck("A snoozed operation is scheduled without a used attempt or an error, and runs when due") {
            bench in
            for tracked in [true, false] {
                let worker = try bench.worker()
                let claimed = try await bench.running(worker, tracked: tracked)
                let outcome = try await bench.snooze(claimed, worker, "not ready")
                try bench.expect(outcome, .done(.scheduled), "the outcome")
                let detail = try await bench.existing(claimed.id)
                try bench.expect(detail.state, .scheduled, "the state")
                try bench.expect(detail.errors.count, 0, "errors")
                try bench.expect(detail.snooze?.count, 1, "snoozes")
                try bench.expect(detail.snooze?.reason, "not ready", "the reason")
                try bench.expect(detail.snoozedUntil, detail.record.dueAt, "its end")
                try bench.expect(try await bench.claim(worker, 1).operations.count, 0, "claimed before it is due")
                try await bench.advance(.milliseconds(5000))
                let again = try await bench.claimOne(worker)
                try bench.expect(again.id, claimed.id, "claimed when due")
                try bench.expect([again.attempt, again.header.delivery], [1, 1], "attempt, delivery")
                _ = try await bench.snooze(again, worker, "still not")
                try bench.expect(try await bench.existing(claimed.id).snooze?.count, 2, "snoozes")
                try await bench.advance(.milliseconds(5000))
                let last = try await bench.claimOne(worker)
                try bench.expect(try await bench.existing(claimed.id).snoozedUntil, nil, "its end while it runs")
                try bench.expect(try await bench.complete(last, worker), .done(.finished), "its end")
            }
        },
        ConformanceCheck("A snooze keeps checkpoint and failed attempts, and restarts the count of deliveries") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            var claimed = try await bench.running(worker)
            _ = try await bench.fail(claimed, worker, .retry(afterMilliseconds: 0))
            claimed = try await bench.claimOne(worker)
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
            claimed = try await bench.claimAfterLoss(other)
            try bench.expect([claimed.attempt, claimed.header.delivery], [2, 2], "attempt, delivery")
            let report = Report(fence: claimed.fence, id: claimed.id, content: .checkpoint(Array("7".utf8)))
            _ = try await bench.broker.report([report], number: 1, worker: other, queue: bench.queue)
            _ = try await bench.snooze(claimed, other)
            let detail = try await bench.existing(claimed.id)
            try bench.expect(detail.checkpoint, Array("7".utf8), "the checkpoint")
            try bench.expect(detail.errors.count, 1, "errors")
            let header = detail.record.header
            try bench.expect([header.failedAttempts, header.delivery], [1, 1], "failed attempts, delivery")
        },
        ConformanceCheck("A requested cancel wins over a snooze or a yield, and uses no attempt") { bench in
            for disposition in [Failure.Disposition.snoozed(milliseconds: 5000, reason: ""), .yielded] {
                let worker = try bench.worker()
                let claimed = try await bench.running(worker)
                let request = CancelRequest(reason: "enough", by: "ann")
                _ = try await bench.broker.cancel([claimed.id], request: request, queue: bench.queue)
                let outcome = try await bench.fail(claimed, worker, disposition, error: "")
                try bench.expect(outcome, .done(.cancelled), "the outcome")
                try bench.expect(try await bench.existing(claimed.id).record.header.failedAttempts, 0, "attempts")
            }
        },
        ConformanceCheck("An operation that yields goes behind the others of its lane, with the same attempt") {
            bench in
            let worker = try bench.worker()
            for tracked in [true, false] {
                let claimed = try await bench.running(worker, tracked: tracked)
                let others = try await bench.enqueue(2)
                let outcome = try await bench.fail(claimed, worker, .yielded, error: "")
                try bench.expect(outcome, .done(.ready), "the outcome")
                let detail = try await bench.existing(claimed.id)
                try bench.expect([detail.yields, detail.errors.count], [1, 0], "yields, errors")
                try bench.expect(detail.record.startedAt, 0, "its start")
                let next = try await bench.claim(worker, 5).operations
                try bench.expect(next.map(\.id), others + [claimed.id], "the order")
                try bench.expect(next.map(\.attempt), [1, 1, 1], "attempts")
                for each in next { _ = try await bench.complete(each, worker) }
            }
        },
        ConformanceCheck("An operation that has snoozed or yielded no longer expires") { bench in
            for disposition in [Failure.Disposition.snoozed(milliseconds: 60_000, reason: ""), .yielded] {
                let worker = try bench.worker()
                let id = try bench.only(try await bench.enqueue(1, expires: 1000))
                let claimed = try await bench.claimOne(worker)
                _ = try await bench.fail(claimed, worker, disposition, error: "")
                try bench.expect(try await bench.existing(id).record.header.expiresAt, 0, "its expiry")
            }
        },
        ConformanceCheck("A snooze or yield with a stale fence changes nothing") { bench in
            for disposition in [Failure.Disposition.snoozed(milliseconds: 5000, reason: ""), .yielded] {
                let (worker, other) = (try bench.worker(), try bench.worker())
                let claimed = try await bench.running(worker)
                try await bench.lapse(allBut: other)
                _ = try await bench.sweepAll()
                _ = try await bench.claimAfterLoss(other)
                try bench.expect(try await bench.fail(claimed, worker, disposition, error: ""), .stale, "the outcome")
                try await bench.expectState(claimed.id, .executing)
                try bench.expect(try await bench.existing(claimed.id).snooze, nil, "snoozes")
            }
        },
    ]
}

extension BrokerBench {
    /// Snoozes the operation for 5 s.
    fileprivate func snooze(_ operation: ClaimedOperation, _ worker: WorkerID, _ reason: String = "") async throws
        -> SettleOutcome
    {
        try await fail(operation, worker, .snoozed(milliseconds: 5000, reason: reason), error: "")
    }
}
