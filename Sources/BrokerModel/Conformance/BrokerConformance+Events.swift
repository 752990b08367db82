import Operations

// Events of transitions and changes, live and stored.
extension BrokerConformance {
    static let announcing: [ConformanceCheck] = [
        ConformanceCheck("Retries, deaths and cancels are stored as numbered events and can be read in parts") {
            bench in
            let worker = try bench.worker()
            let failing = try await bench.running(worker)
            _ = try await bench.fail(failing, worker, .retry(afterMilliseconds: 60_000))
            let dying = try await bench.running(worker)
            _ = try await bench.fail(dying, worker, .dead)
            let cancelled = try await bench.enqueue(1)
            _ = try await bench.cancel(try bench.only(cancelled))
            _ = try await bench.complete(try await bench.running(worker), worker)
            var kept: [EventBatch] = []
            var cursor: String?
            while true {
                let part = try await bench.broker.storedEvents(
                    queue: bench.queue,
                    after: cursor,
                    agoMilliseconds: .max / 2,
                    limit: 2
                )
                try bench.expect(part.newest, try await bench.snapshot().eventSequence, "the number of the last event")
                try bench.expect(part.trimmedBefore, nil, "what was dropped")
                kept += part.entries.map(\.batch)
                guard part.entries.count == 2 else { break }
                cursor = part.cursor
            }
            let names = kept.flatMap(\.transitions)
            try bench.expect(names.map(\.state), [.retrying, .dead, .cancelled], "the kept states")
            try bench.expect(names.map(\.id), [failing.id, dying.id] + cancelled, "the kept ids")
            // Enqueued, started, failed; enqueued, started, dead; enqueued, cancelled.
            try bench.expect(kept.map(\.from), [3, 6, 8], "their numbers")
        },
        ConformanceCheck("Changes by clients and operators are events, with author and count; no change is no event") {
            bench in
            let worker = try bench.worker()
            let (queue, broker) = (bench.queue, bench.broker)
            let running = try await bench.running(worker)
            let waiting = try await bench.enqueue(3)
            let request = CancelRequest(reason: "wrong file", by: "ann@host")
            _ = try await broker.cancel([waiting[0], waiting[1], OperationID()], request: request, queue: queue)
            _ = try await broker.cancel([running.id], request: request, queue: queue)
            _ = try await broker.retry([waiting[0], OperationID()], by: "bob", queue: queue)
            _ = try await broker.retry([OperationID()], by: "bob", queue: queue)
            _ = try await broker.remove([waiting[0]], by: "bob", queue: queue)
            _ = try await broker.remove([waiting[0]], by: "bob", queue: queue)
            let untracked = try await bench.enqueue(tracked: false)
            _ = try await bench.claim(worker, 9)
            _ = try await broker.cancel(untracked, request: request, queue: queue)
            try await broker.setPaused(.pause(forMilliseconds: 60_000, by: "ann", reason: "server down"), queue: queue)
            try await broker.setPaused(.pause(forMilliseconds: 500, by: "ann"), queue: queue)
            try await broker.setPaused(.resume(by: "ann"), queue: queue)
            _ = try await broker.control(.slots(3), worker: worker.description, by: "ann", queue: queue)
            _ = try await broker.control(.quiet, worker: "another", by: "ann", queue: queue)
            _ = try await broker.cancelQueue(queue, request: request)
            let events = try await broker.storedEvents(queue: queue, after: nil, agoMilliseconds: .max / 2, limit: 100)
            let expected = [
                QueueChange(.cancel, by: "ann@host", count: 2, detail: "wrong file"),
                QueueChange(.cancel, by: "ann@host", count: 1, detail: "wrong file"),
                QueueChange(.retry, by: "bob", count: 1),
                QueueChange(.remove, by: "bob", count: 1),
                QueueChange(.cancel, by: "ann@host", count: 1, detail: "wrong file"),
                QueueChange(.pause, by: "ann", detail: "for 60 s, server down"),
                QueueChange(.pause, by: "ann", detail: "for 0.5 s"),
                QueueChange(.resume, by: "ann"),
                QueueChange(.control, by: "ann", detail: "\(worker) slots 3"),
                QueueChange(.cancelQueue, by: "ann@host", count: 3, detail: "wrong file"),
            ]
            try bench.expect(events.entries.compactMap(\.batch.change), expected, "the changes")
            let named = events.entries.compactMap(\.batch.subject)
            try bench.expect(
                named,
                [running.id, waiting[0], waiting[0], untracked[0]],
                "the operations that the changes name"
            )
            let last = try await bench.snapshot().eventSequence
            try bench.expect(events.entries.last?.batch.to, last, "the number of the last one")
        },
        ConformanceCheck("A noted event changes nothing, and names its only operation") { bench in
            let id = try bench.only(try await bench.enqueue(1))
            let all = QueueChange(.startChange, by: "ann", count: 3, detail: "retry state:dead, books")
            let one = QueueChange(.runSchedule, by: "bob", count: 1, detail: "nightly")
            let before = try await bench.snapshot()
            try await bench.broker.noteEvent(all, of: nil, queue: bench.queue)
            try await bench.broker.noteEvent(one, of: id, queue: bench.queue)
            let events = try await bench.broker.storedEvents(
                queue: bench.queue,
                after: nil,
                agoMilliseconds: .max / 2,
                limit: 100
            )
            try bench.expect(events.entries.map(\.batch.change), [all, one], "the changes")
            try bench.expect(events.entries.map(\.batch.subject), [nil, id], "their operations")
            let after = try await bench.snapshot()
            try bench.expect(after.eventSequence, before.eventSequence + 2, "the number of the last event")
            try bench.expect(after.counts, before.counts, "the counts")
        },
        ConformanceCheck("A change of one operation names it, even if other operations have transitions") { bench in
            let (queue, broker) = (bench.queue, bench.broker)
            let first = try await bench.enqueue(2)
            for id in first {
                let links = OperationLinks(after: [OperationDependency(id)])
                _ = try await broker.enqueue(
                    [NewOperation(envelope: BrokerBench.envelope(), links: links)],
                    queue: queue
                )
            }
            _ = try await broker.remove([first[0]], by: "ann", queue: queue)
            _ = try await broker.cancel([first[1]], request: CancelRequest(reason: "", by: "ann"), queue: queue)
            let edited = try await bench.enqueue(1)
            let record = try await bench.existing(edited[0]).record
            _ = try await broker.edit([OperationEdit(record, priority: .high)], by: "ann", queue: queue)
            _ = try await broker.hold(edited, by: "ann", reason: "", queue: queue)
            _ = try await broker.release(edited, by: "ann", queue: queue)
            let events = try await broker.storedEvents(queue: queue, after: nil, agoMilliseconds: .max / 2, limit: 100)
            let changes = events.entries.map(\.batch).filter { $0.change != nil }
            try bench.expect(changes.map(\.change?.verb), [.remove, .cancel, .edit, .hold, .release], "the changes")
            try bench.expect(
                changes.map(\.subject),
                first + edited + edited + edited,
                "the operations that the changes name"
            )
        },
        ConformanceCheck("A snapshot shows who paused the queue, when and why, until the pause ends") { bench in
            let at = try await bench.snapshot().time
            try await bench.broker.setPaused(.pause(by: "ann", reason: "server down"), queue: bench.queue)
            let trace = OperatorTrace(at: at, by: "ann", reason: "server down")
            try bench.expect(try await bench.snapshot().pause, trace, "the pause")
            try await bench.broker.setPaused(.resume(by: "ann"), queue: bench.queue)
            try bench.expect(try await bench.snapshot().pause, nil, "the pause, after it")
            try await bench.broker.setPaused(.pause(forMilliseconds: 1000, by: "ann"), queue: bench.queue)
            try await bench.advance(.milliseconds(1001))
            try bench.expect(try await bench.snapshot().pause, nil, "the pause, when its time is over")
        },
        ConformanceCheck("Events number every transition once and in order, with counts and ids") { bench in
            let events = bench.broker.events(queues: [bench.queue])
            let worker = try bench.worker()
            var heard = try await bench.enqueueUntilHeard(events)
            let claimed = try await bench.claim(worker, 500).operations
            for operation in claimed { _ = try await bench.complete(operation, worker) }
            let last = try await bench.snapshot().eventSequence
            for try await batch in events {
                heard.append(batch)
                if batch.to >= last { break }
            }
            for (earlier, later) in zip(heard, heard.dropFirst()) {
                try bench.expect(later.from, earlier.to + 1, "the number after \(earlier.to)")
            }
            for batch in heard {
                let number = batch.counts.values.reduce(0, +)
                try bench.expect(Int64(number), batch.to - batch.from + 1, "the counts of \(batch)")
            }
            let finished = heard.flatMap(\.transitions).filter { $0.state == .finished }.map(\.id)
            try bench.expect(finished, claimed.map(\.id), "the ends in the events")
        },
    ]
}

extension BrokerBench {
    /// Enqueues operations one by one until the stream delivers an event: from then on it is subscribed.
    func enqueueUntilHeard(_ events: AsyncThrowingStream<EventBatch, any Error>) async throws -> [EventBatch] {
        let heard = Guarded<EventBatch?>(nil)
        let listener = Task {
            for try await batch in events {
                heard.withLock { $0 = batch }
                return
            }
        }
        let deadline = ContinuousClock.now + Self.patience
        // The pauses grow, because a check claims at most 500 of these operations.
        var pause: Duration = .milliseconds(10)
        while heard.withLock({ $0 == nil }), ContinuousClock.now < deadline {
            try await enqueue()
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(500))
        }
        guard let first = heard.withLock({ $0 }) else {
            throw ConformanceViolation(description: "expected an event of many enqueues, got none")
        }
        try await listener.value
        return [first]
    }
}
