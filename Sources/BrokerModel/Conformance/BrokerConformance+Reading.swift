import Operations

extension BrokerConformance {
    static let reading: [ConformanceCheck] = [
        ConformanceCheck("Progress, checkpoint and log are stored while an operation runs, and stay after its end") {
            bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            for content in [
                Report.Content.progress(fraction: 0.25, message: "a"), .progress(fraction: 0.5, message: "pass 2 of 3"),
                .checkpoint([0, 255, 10]), .log(line: Array("one".utf8)), .log(line: [0xff, 0]),
            ] {
                try bench.expect(try await bench.report(claimed, worker, content), true, "the report")
            }
            try bench.expect(
                try await bench.snapshot().executing.first?.progress?.fraction,
                0.5,
                "progress in a snapshot"
            )
            let told = try await bench.snapshot().time
            try await bench.advance(.seconds(5))
            _ = try await bench.complete(claimed, worker)
            let detail = try await bench.existing(claimed.id)
            try bench.expect(detail.progress?.fraction, 0.5, "the progress")
            try bench.expect(detail.progress?.message, "pass 2 of 3", "its message")
            try bench.expect(detail.checkpoint, [0, 255, 10], "the checkpoint")
            let log = try await bench.broker.log(claimed.id, queue: bench.queue, from: 1, limit: 9)
            try bench.expect(log.lines.map(\.text), [[0xff, 0]], "the log from line 1 on")
            try bench.expect(log.lines.first?.at, told, "when the line was stored")
            try bench.expect(log.first, 1, "the number of the first line")
        },
        ConformanceCheck("An ended operation names the worker that ran it, until the worker leaves") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            try bench.expect(try await bench.existing(claimed.id).ranOn, nil, "the last worker while it runs")
            _ = try await bench.complete(claimed, worker)
            try bench.expect(try await bench.existing(claimed.id).ranOn, worker.description, "the last worker")
            let waiting = try bench.only(try await bench.enqueue())
            _ = try await bench.cancel(waiting)
            try bench.expect(try await bench.existing(waiting).ranOn, nil, "the last worker of one that never ran")
            try await bench.broker.retire(worker: worker, statistics: [], queue: bench.queue)
            try bench.expect(try await bench.existing(claimed.id).ranOn, nil, "the last worker after it has left")
            try bench.beat(worker)
            try bench.expect(try await bench.existing(claimed.id).ranOn, nil, "the last worker after it has come back")
        },
        ConformanceCheck("The log keeps its last 1,000 lines and their numbers") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            for part in 0..<3 {
                let reports = (0..<500).map { line in
                    Report(
                        fence: claimed.fence,
                        id: claimed.id,
                        content: .log(line: Array("\(part * 500 + line)".utf8))
                    )
                }
                _ = try await bench.broker.report(reports, number: part + 1, worker: worker, queue: bench.queue)
            }
            let oldest = try await bench.broker.log(claimed.id, queue: bench.queue, from: 0, limit: 2)
            try bench.expect(oldest.first, 500, "the number of the oldest line")
            try bench.expect(oldest.lines.map(\.text), [Array("500".utf8), Array("501".utf8)], "the oldest lines")
            let newest = try await bench.broker.log(claimed.id, queue: bench.queue, from: 1499, limit: 9)
            try bench.expect(newest.lines.map(\.text), [Array("1499".utf8)], "the newest line")
        },
        ConformanceCheck("A repeated report stores its log lines once and gets the same answer") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            let line = Report(fence: claimed.fence, id: claimed.id, content: .log(line: Array("once".utf8)))
            let stale = Report(fence: 999, id: claimed.id, content: .progress(fraction: 1, message: ""))
            for _ in 1...2 {
                let taken = try await bench.broker.report([line, stale], number: 7, worker: worker, queue: bench.queue)
                try bench.expect(taken, [true, false], "whether the reports were taken")
            }
            _ = try await bench.broker.report([line], number: 8, worker: worker, queue: bench.queue)
            let log = try await bench.broker.log(claimed.id, queue: bench.queue, from: 0, limit: 9)
            try bench.expect(log.lines.count, 2, "stored lines")
        },
        ConformanceCheck("Reports of running untracked operations are accepted and not stored") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker, tracked: false)
            let taken = try await bench.report(claimed, worker, .progress(fraction: 0.5, message: ""))
            try bench.expect(taken, true, "the report")
            _ = try await bench.complete(claimed, worker)
            try await bench.expectState(claimed.id, nil)
        },
        ConformanceCheck("A snapshot shows waiting and running operations, the longest wait and the workers") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            try await bench.enqueue(2, priority: .low)
            try await bench.enqueue(delay: 60_000)
            try await bench.advance(.seconds(3))
            let snapshot = try await bench.snapshot()
            try bench.expect(snapshot.counts[.ready], 2, "ready")
            try bench.expect(snapshot.counts[.scheduled], 1, "scheduled")
            try bench.expect(snapshot.counts[.executing], 1, "executing")
            try bench.expect(snapshot.oldestReadyMilliseconds, 3000, "the oldest ready one's wait")
            try bench.expect(snapshot.workers.map(\.worker), [worker.description], "the workers")
            try bench.expect(snapshot.workers.first?.inFlight, 1, "in flight")
            try bench.expect(snapshot.workers.first?.leaseUntil, snapshot.time - 3000 + BrokerBench.lease, "the lease")
            try bench.expect(snapshot.executing.map(\.fence), [claimed.fence], "the fences that run")
            try bench.expect(snapshot.executing.first?.name, "check", "the name of what runs")
            try bench.expect(snapshot.executing.first?.startedAt, snapshot.time - 3000, "its start")
        },
        ConformanceCheck("Pages list each operation of a state once: the next to run or the newest end first") {
            bench in
            let worker = try bench.worker()
            let low = try await bench.enqueue(3, priority: .low)
            let high = try await bench.enqueue(2, tracked: false, priority: .high)
            let late = try await bench.enqueue(delay: 9000)
            let early = try await bench.enqueue(delay: 5000)
            try bench.expect(try await bench.list(.ready, limit: 2), high + low, "ready ones")
            try bench.expect(try await bench.list(.scheduled, limit: 1), early + late, "scheduled ones")
            let claimed = try await bench.claim(worker, 4).operations
            try bench.expect(try await bench.list(.executing, limit: 3), claimed.map(\.id), "executing ones")
            for operation in claimed[2...] {
                _ = try await bench.complete(operation, worker)
                try await bench.advance(.milliseconds(5))
            }
            try bench.expect(try await bench.list(.finished, limit: 1), [low[1], low[0]], "finished ones")
        },
        ConformanceCheck("The backlog of a ready operation counts those ahead in its lane and in higher lanes") {
            bench in
            let worker = try bench.worker()
            let aside = try await bench.setAside(2, worker)
            let normal = try await bench.enqueue(3)
            let low = try await bench.enqueue(2, priority: .low)
            let later = try await bench.enqueue(delay: 60_000)
            func backlog(_ id: OperationID, _ limit: Int = Backlog.limit) async throws -> Backlog? {
                try await bench.broker.backlog(aheadOf: id, queue: bench.queue, limit: limit)
            }
            let first = Backlog(inLane: 0, inHigherLanes: 0, isLeast: false)
            let last = Backlog(inLane: 2, inHigherLanes: 0, isLeast: false)
            try bench.expect(try await backlog(normal[0]), first, "ahead of the first")
            try bench.expect(try await backlog(normal[2]), last, "ahead of the last of its lane")
            try bench.expect(
                try await backlog(normal[2], 2),
                Backlog(inLane: 2, inHigherLanes: 0, isLeast: true),
                "a bound"
            )
            try bench.expect(
                try await backlog(low[1]),
                Backlog(inLane: 1, inHigherLanes: 3, isLeast: false),
                "a lower lane"
            )
            try bench.expect(
                try await backlog(aside[1]),
                Backlog(inLane: 1, inHigherLanes: 0, isLeast: false),
                "an unhandled one"
            )
            try bench.expect(try await backlog(later[0]), nil, "one that is not due")
            try bench.expect(try await backlog(OperationID()), nil, "one that does not exist")
            let waiting = NewOperation(
                envelope: BrokerBench.envelope(),
                links: OperationLinks(after: [OperationDependency(normal[0])])
            )
            _ = try await bench.broker.enqueue([waiting], queue: bench.queue)
            try bench.expect(try await backlog(normal[0]), first, "ahead of the first, once another one waits for it")
            _ = try await bench.cancel(normal[2])
            try bench.expect(try await backlog(normal[2]), nil, "one that has ended")
        },
        ConformanceCheck("A queue is known once it is used") { bench in
            try await bench.enqueue()
            try bench.expect(try await bench.broker.queues(), [bench.queue], "the queues")
        },
        ConformanceCheck("A search finds each operation with the sought text once, and counts those left out") {
            bench in
            let texts = (0..<1100).map { $0 % 5 == 0 ? "wanted \($0)" : "other" } + ["an \\ escape", "wanted"]
            let new = texts.map { NewOperation(envelope: BrokerBench.envelope($0)) }
            for first in stride(from: 0, to: new.count, by: SluiceDefaults.batch) {
                let part = Array(new[first..<min(first + SluiceDefaults.batch, new.count)])
                _ = try await bench.broker.enqueue(part, queue: bench.queue)
            }
            let all = new.map(\.id)
            let expected = zip(all, texts).filter { $1 != "other" }.map(\.0)
            for state in [OperationState.ready, .cancelled] {
                var (found, leftOut, cursor, pages): ([OperationID], Int, String?, Int) = ([], 0, nil, 0)
                repeat {
                    let page = try await bench.broker.page(
                        state: state,
                        queue: bench.queue,
                        cursor: cursor,
                        limit: OperationPage.limit(SoughtText([])),
                        sought: SoughtText([["no such"], ["wan", "ed"]])
                    )
                    try bench.expect(page.operations.count <= OperationPage.answered, true, "a bounded answer")
                    found += page.operations.map(\.id)
                    (leftOut, cursor, pages) = (leftOut + page.leftOut, page.cursor, pages + 1)
                } while cursor != nil && pages < 50
                try bench.expect(Set(found), Set(expected), "what was found in \(state)")
                try bench.expect([found.count, leftOut], [expected.count, texts.count - expected.count], "counts")
                _ = try await bench.cancelQueue()
            }
        },
    ]
}

extension BrokerBench {
    /// Returns all ids in a state, page by page.
    func list(_ state: OperationState, limit: Int) async throws -> [OperationID] {
        var ids: [OperationID] = []
        var cursor: String?
        repeat {
            let page = try await broker.page(state: state, queue: queue, cursor: cursor, limit: limit)
            ids += page.operations.map(\.record.header.id)
            cursor = page.cursor
        } while cursor != nil && ids.count < 1000
        return ids
    }
}
