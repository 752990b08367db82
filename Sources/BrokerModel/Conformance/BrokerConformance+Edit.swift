import Operations

// Changes of waiting operations, and the removal of all waiting operations.
extension BrokerConformance {
    static let editing: [ConformanceCheck] = [
        ConformanceCheck("A new priority puts a ready operation behind the others of that priority; each runs once") {
            bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2)
            let high = try await bench.enqueue(1, priority: .high)
            try bench.expect(try await bench.edit([ids[1]], priority: .high), [.done], "the edit")
            try bench.expect(try await bench.existing(ids[1]).record.header.priority, .high, "the priority")
            try bench.expect(
                try await bench.claim(worker, 9).operations.map(\.id),
                high + [ids[1], ids[0]],
                "claimed operations"
            )
            try bench.expect(try await bench.claim(worker, 9).operations.count, 0, "left ones")
        },
        ConformanceCheck("A new time schedules a ready operation, and moves a scheduled, retrying or held one") {
            bench in
            let worker = try bench.worker()
            let failing = try await bench.running(worker)
            _ = try await bench.fail(failing, worker, .retry(afterMilliseconds: 9000))
            let ready = try await bench.enqueue(2)
            let scheduled = try await bench.enqueue(1, delay: 9000)
            _ = try await bench.broker.hold([ready[1]], by: "ann", reason: "", queue: bench.queue)
            let all = [failing.id] + ready + scheduled
            try bench.expect(
                try await bench.edit(all, delay: 2000),
                [EditOutcome](repeating: .done, count: 4),
                "the edits"
            )
            _ = try await bench.broker.release([ready[1]], by: "ann", queue: bench.queue)
            for (id, state) in zip(all, [OperationState.retrying, .scheduled, .scheduled, .scheduled]) {
                try await bench.expectState(id, state)
            }
            try await bench.advance(.milliseconds(1999))
            try bench.expect(try await bench.claim(worker, 9).operations.count, 0, "before the time")
            try await bench.advance(.milliseconds(1))
            try bench.expect(Set(try await bench.claim(worker, 9).operations.map(\.id)), Set(all), "in time")
        },
        ConformanceCheck("An edited operation keeps its place, and the worker gets the new envelope") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2)
            let envelope = BrokerBench.envelope("another, which is longer than the one before")
            try bench.expect(try await bench.edit([ids[0]], envelope: envelope), [.done], "the edit")
            let claimed = try await bench.claim(worker, 9).operations
            try bench.expect(claimed.map(\.id), ids, "claimed operations")
            try bench.expect(claimed.first?.envelope, envelope, "the envelope")
        },
        ConformanceCheck("An edit keeps the expiry, and changes no outdated, running, ended or unknown operation") {
            bench in
            let worker = try bench.worker()
            let running = try await bench.running(worker)
            let expiring = try await bench.enqueue(1, expires: 1000)
            let old = try await bench.existing(expiring[0]).record
            _ = try await bench.edit(expiring, priority: .low)
            let second = OperationEdit(old, priority: .veryHigh, envelope: BrokerBench.envelope("late"))
            try bench.expect(
                try await bench.broker.edit([second], by: "ann", queue: bench.queue),
                [.outdated],
                "an old one"
            )
            try bench.expect(
                try await bench.edit([running.id], priority: .low),
                [.refused(.executing)],
                "one that runs"
            )
            var unknown = old
            unknown.header.id = OperationID()
            let third = OperationEdit(unknown, priority: .low)
            try bench.expect(
                try await bench.broker.edit([third], by: "ann", queue: bench.queue),
                [.unknown],
                "an unknown operation"
            )
            try await bench.advance(.milliseconds(1001))
            _ = try await bench.claim(worker, 9)
            try await bench.expectState(expiring[0], .expired)
            try bench.expect(try await bench.edit(expiring, priority: .low), [.refused(.expired)], "an ended one")
        },
        ConformanceCheck("A purge removes all waiting operations, tracked and untracked, and nothing else") { bench in
            let worker = try bench.worker()
            let running = try await bench.running(worker)
            let finished = try await bench.running(worker)
            _ = try await bench.complete(finished, worker)
            let failing = try await bench.running(worker)
            _ = try await bench.fail(failing, worker, .retry(afterMilliseconds: 60_000))
            let unknown = try await bench.running(worker)
            let given = Return(
                fence: unknown.fence,
                id: unknown.id,
                place: .unhandled(name: "unknown", orLaterMilliseconds: 9)
            )
            _ = try await bench.broker.giveBack([given], worker: worker, queue: bench.queue)
            try await bench.enqueue(120)
            try await bench.enqueue(150, tracked: false, priority: .low)
            try await bench.enqueue(20, delay: 60_000)
            let held = try await bench.enqueue(3, expires: 60_000)
            _ = try await bench.broker.hold(held, by: "ann", reason: "", queue: bench.queue)
            let stale = try await bench.enqueue(2)
            _ = try await bench.cancel(stale[0])
            let first = try await bench.broker.purge(bench.queue, by: "ann", from: nil)
            let later = try await bench.enqueue(2)
            var progress = first
            while !progress.isDone { progress = try await bench.broker.purge(bench.queue, by: "ann", from: progress) }
            try bench.expect(progress.removed, 120 + 150 + 20 + 3 + 1 + 2, "removed operations")
            let snapshot = try await bench.snapshot()
            for (state, count) in [(OperationState.ready, 2), (.scheduled, 0), (.retrying, 0), (.blocked, 0)] {
                try bench.expect(snapshot.counts[state], count, state.rawValue)
            }
            try bench.expect(snapshot.totals["removed"], Int64(progress.removed), "the total of removed ones")
            try await bench.expectState(finished.id, .finished)
            try await bench.expectState(stale[0], .cancelled)
            try await bench.expectState(failing.id, nil)
            try await bench.expectState(unknown.id, nil)
            try bench.expect(try await bench.complete(running, worker), .done(.finished), "the running one")
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), later, "what came later")
            let again = try await bench.broker.purge(bench.queue, by: "ann", from: nil)
            try bench.expect(again.removed, 0, "removed by another purge")
        },
        ConformanceCheck("A purge in parts removes all earlier unhandled operations, even while others come") { bench in
            let worker = try bench.worker()
            try await bench.setAside(220, "a", worker)
            try await bench.setAside(200, "b", worker)
            var progress = try await bench.broker.purge(bench.queue, by: "ann", from: nil)
            // By count, "a" comes last before the first part and first after it.
            let later = try await bench.setAside(230, "b", worker)
            while !progress.isDone { progress = try await bench.broker.purge(bench.queue, by: "ann", from: progress) }
            try bench.expect(progress.removed, 420, "removed operations")
            try bench.expect(try await bench.snapshot().unhandledCount, later.count, "unhandled ones that stay")
        },
    ]
}

extension BrokerBench {
    /// Enqueues operations and lets the worker give them back as unhandled.
    @discardableResult
    fileprivate func setAside(_ count: Int, _ name: String, _ worker: WorkerID) async throws -> [OperationID] {
        let ids = try await enqueue(count)
        var left = count
        while left > 0 {
            let claimed = try await claim(worker, 500).operations
            let returns = claimed.map {
                Return(fence: $0.fence, id: $0.id, place: .unhandled(name: name, orLaterMilliseconds: 9))
            }
            _ = try await broker.giveBack(returns, worker: worker, queue: queue)
            left -= claimed.count
        }
        return ids
    }

    fileprivate func edit(
        _ ids: [OperationID],
        priority: OperationPriority? = nil,
        delay: Int64? = nil,
        envelope: [UInt8]? = nil
    ) async throws -> [EditOutcome] {
        var edits: [OperationEdit] = []
        for id in ids {
            edits.append(
                OperationEdit(
                    try await existing(id).record,
                    priority: priority,
                    delayMilliseconds: delay,
                    envelope: envelope
                )
            )
        }
        return try await broker.edit(edits, by: "ann", queue: queue)
    }
}
