import Operations
import Synchronization

extension BrokerConformance {
    static let reading: [ConformanceCheck] = [
        ConformanceCheck("Progress, checkpoint and log are stored while the operation runs, and stay") { bench in
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
        ConformanceCheck("The log keeps its last thousand lines, and their numbers") { bench in
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
        ConformanceCheck("A repeated report stores its log lines once, and is answered as the first was") { bench in
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
        ConformanceCheck("Reports of untracked operations are taken while they run, and kept nowhere") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker, tracked: false)
            let taken = try await bench.report(claimed, worker, .progress(fraction: 0.5, message: ""))
            try bench.expect(taken, true, "the report")
            _ = try await bench.complete(claimed, worker)
            try await bench.expectState(claimed.id, nil)
        },
        ConformanceCheck("A snapshot says what waits, for how long, what runs and who works") { bench in
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
        ConformanceCheck("Pages list a state's operations, each once, the next to run or the newest end first") {
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
        ConformanceCheck("The backlog of a ready operation is what is ahead in its lane and in higher lanes") { bench in
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
            _ = try await bench.cancel(normal[2])
            try bench.expect(try await backlog(normal[2]), nil, "one that has ended")
        },
        ConformanceCheck("A queue is known once it is used") { bench in
            try await bench.enqueue()
            try bench.expect(try await bench.broker.queues(), [bench.queue], "the queues")
        },
    ]

    static let listening: [ConformanceCheck] = [
        ConformanceCheck("Waiting for ends returns when all have ended") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            let waiting = try await bench.enqueue()
            let ids = [claimed.id, OperationID()] + waiting
            async let states = bench.broker.awaitEnd(of: ids, queue: bench.queue, timeout: .seconds(20))
            try await bench.untilAwaited(ids[0])
            _ = try await bench.complete(claimed, worker)
            _ = try await bench.cancel(waiting[0])
            try bench.expect(try await states, [.finished, nil, .cancelled], "the states")
        },
        ConformanceCheck("Waiting for ends returns when the whole queue is cancelled") { bench in
            let ids = try await bench.enqueue(2)
            async let states = bench.broker.awaitEnd(of: ids, queue: bench.queue, timeout: .seconds(20))
            try await bench.untilAwaited(ids[1])
            _ = try await bench.cancelQueue()
            _ = try await bench.sweepAll()
            try bench.expect(try await states, [.cancelled, .cancelled], "the states")
        },
        ConformanceCheck("Waiting for ends reports the states that it reads first and those at the end") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            let ids = try await [claimed.id] + bench.enqueue()
            let seen = Mutex<[[OperationState?]]>([])
            async let states = bench.broker.awaitEnd(of: ids, queue: bench.queue, timeout: .seconds(20)) { states in
                seen.withLock { $0.append(states) }
            }
            try await bench.untilAwaited(ids[1])
            _ = try await bench.complete(claimed, worker)
            _ = try await bench.cancel(ids[1])
            try bench.expect(try await states, [.finished, .cancelled], "the states")
            try bench.expect(seen.withLock { $0.first }, [.executing, .ready], "the first report")
            try bench.expect(seen.withLock { $0.last }, [.finished, .cancelled], "the last report")
        },
        ConformanceCheck("Waiting for ends gives up after its time and says how things stand") { bench in
            let ids = try await bench.enqueue()
            let states = try await bench.broker.awaitEnd(of: ids, queue: bench.queue, timeout: .milliseconds(20))
            try bench.expect(states, [.ready], "the states")
        },
        ConformanceCheck("Hints come at once, and with each progress and transition of the operation") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            var hints = bench.broker.hints(of: claimed.id, queue: bench.queue).makeAsyncIterator()
            let started = ContinuousClock.now
            func awaitHint(_ isTrue: (OperationDetail) -> Bool) async throws {
                while await hints.next() != nil, try await !isTrue(bench.existing(claimed.id)) {}
            }
            try await awaitHint { $0.state == .executing }
            for step in 1...10 {
                let progress = Report.Content.progress(fraction: 0.5, message: "\(step)")
                _ = try await bench.report(claimed, worker, progress)
                try await awaitHint { $0.progress?.message == "\(step)" }
            }
            _ = try await bench.complete(claimed, worker)
            try await awaitHint { $0.state == .finished }
            // Without hints every step would wait for the next look, five seconds later.
            try bench.expect(ContinuousClock.now - started < .seconds(25), "the hints came at once")
        },
        ConformanceCheck("One wake-up token at most: enqueuing twice wakes one waiter once") { bench in
            try await bench.enqueue()
            try await bench.enqueue()
            try bench.expect(try await bench.wakeUp(within: .seconds(5)), bench.queue, "the first wait")
            try bench.expect(try await bench.wakeUp(within: .milliseconds(30)), nil, "the second wait")
            try await bench.broker.wake(queue: bench.queue)
            try await bench.broker.wake(queue: bench.queue)
            try bench.expect(try await bench.wakeUp(within: .seconds(5)), bench.queue, "after putting it back")
            try bench.expect(try await bench.wakeUp(within: .milliseconds(30)), nil, "after putting it back twice")
        },
        ConformanceCheck("A waiter is woken by an enqueue") { bench in
            try await bench.enqueue()
            _ = try await bench.wakeUp(within: .seconds(5))
            async let woken = bench.wakeUp(within: .seconds(20))
            try await bench.enqueue()
            try bench.expect(try await woken, bench.queue, "the queue that woke")
        },
        ConformanceCheck("Whatever makes something startable puts the wake-up token") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let steps: [(String, () async throws -> Void)] = [
                (
                    "a claim that leaves work",
                    {
                        try await bench.enqueue(2); _ = try await bench.wakeUp(within: .seconds(5));
                        _ = try await bench.claim(worker)
                    }
                ),
                ("giving back", { _ = try await bench.giveBack(try await bench.claimOne(worker), worker) }),
                ("resume", { try await bench.broker.setPaused(false, forMilliseconds: nil, queue: bench.queue) }),
                ("an earlier due time", { try await bench.enqueue(delay: 500) }),
                (
                    "a sweep",
                    {
                        try await bench.lapse(allBut: other); _ = try await bench.sweepAll()
                    }
                ),
                (
                    "an operator's retry",
                    {
                        let ids = try await bench.enqueue(delay: 1_000_000)
                        _ = try await bench.wakeUp(within: .milliseconds(100))
                        _ = try await bench.broker.retry(ids, queue: bench.queue)
                    }
                ),
            ]
            for (name, step) in steps {
                try await step()
                let woken = try await bench.wakeUp(within: .seconds(5))
                try bench.expect(woken, bench.queue, "the wake-up token after \(name)")
            }
        },
        ConformanceCheck("Waiting for the wake-up token ends when its task is cancelled") { bench in
            _ = try await bench.snapshot()
            let task = Task { try await bench.broker.waitForWakeUp(queues: [bench.queue], timeout: .seconds(60)) }
            task.cancel()
            let result = await task.result
            guard case .failure(let error) = result, error is CancellationError else {
                throw ConformanceViolation(description: "the wait ended with \(result)")
            }
        },
        ConformanceCheck("A claim with the wait takes no more than it may, and puts the token back for the rest") {
            bench in
            let worker = try bench.worker()
            async let claimed = bench.claimAtWakeUp(worker, 2, within: .seconds(20))
            let ids = try await bench.enqueue(3)
            let claim = try await claimed
            try bench.expect(claim.operations.map(\.id), Array(ids.prefix(2)), "what was claimed")
            try bench.expect(claim.more, true, "that there is more")
            try bench.expect(try await bench.wakeUp(within: .seconds(5)), bench.queue, "the wake-up token for the rest")
        },
        ConformanceCheck("A claim with the wait, of an older epoch, takes the token and nothing else") { bench in
            let worker = try bench.worker()
            try bench.beat(worker, epoch: 1)
            try await bench.enqueue()
            let claim = try await bench.claimAtWakeUp(worker, 1, within: .seconds(20))
            try bench.expect(claim, Claim(status: .staleEpoch), "the claim")
            try bench.expect(try await bench.snapshot().counts[.ready], 1, "those that are ready")
            try bench.expect(try await bench.wakeUp(within: .milliseconds(30)), nil, "the wake-up token")
        },
        ConformanceCheck("A claim for an idle worker gives nothing to one that holds something") { bench in
            let worker = try bench.worker()
            let held = try await bench.running(worker)
            try await bench.enqueue()
            let refused = try await bench.claim(worker, onlyIfIdle: true)
            try bench.expect(refused, Claim(status: .busy), "the claim")
            _ = try await bench.complete(held, worker)
            try bench.expect(try await bench.claim(worker, onlyIfIdle: true).operations.count, 1, "the second claim")
        },
        ConformanceCheck(
            "A claim for an idle worker that takes nothing leaves the next instant to whoever watches for it"
        ) { bench in
            let (timerOwner, other) = (try bench.worker(), try bench.worker())
            try await bench.enqueue(delay: 5000)
            let passing = try await bench.claim(other, onlyIfIdle: true)
            try bench.expect(passing.nextDueMilliseconds, 5000, "the first, which watches")
            try bench.expect(
                try await bench.claim(timerOwner, 8).nextDueMilliseconds,
                5000,
                "a free one, which takes over"
            )
            let again = try await bench.claim(other, onlyIfIdle: true)
            try bench.expect(again.nextDueMilliseconds, nil, "one that passes by")
        },
        ConformanceCheck("Events number every transition once, in order, with counts and names") { bench in
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
            try bench.expect(finished, claimed.map(\.id), "the ends that were told")
        },
    ]
}

extension BrokerBench {
    func wakeUp(within timeout: Duration) async throws -> String? {
        try await broker.waitForWakeUp(queues: [queue], timeout: timeout)
    }

    /// Where the wait cannot bring the claim along, it is made afterwards.
    func claimAtWakeUp(_ worker: WorkerID, _ capacity: Int, within timeout: Duration) async throws -> Claim {
        let request = ClaimRequest(worker: worker, epoch: 0, capacity: capacity)
        let answer = try await broker.claimAtWakeUp(request, queue: queue, timeout: timeout)
        try expect(answer.wasWoken, true, "that it was woken")
        if let claim = answer.claim { return claim }
        return try await broker.claim(request, queue: queue)
    }

    /// All ids of a state's place, page by page.
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

    /// Returns once somebody waits for the operation's end.
    func untilAwaited(_ id: OperationID) async throws {
        for _ in 0..<2000 {
            if try await existing(id).isAwaited { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw ConformanceViolation(description: "nobody waits for \(id)")
    }

    /// Enqueues one after the other until the stream tells of one: then it is subscribed.
    func enqueueUntilHeard(_ events: AsyncThrowingStream<EventBatch, any Error>) async throws -> [EventBatch] {
        let heard = Guarded<EventBatch?>(nil)
        let listener = Task {
            for try await batch in events {
                heard.withLock { $0 = batch }
                return
            }
        }
        for _ in 0..<500 where heard.withLock({ $0 == nil }) {
            try await enqueue()
            try await Task.sleep(for: .milliseconds(20))
        }
        guard let first = heard.withLock({ $0 }) else { throw ConformanceViolation(description: "no event came") }
        try await listener.value
        return [first]
    }

    /// The next message of a stream, within ten seconds. Where another one is expected, "resubscribed" does not count: it is
    /// said whenever messages may have been missed.
    func expectMessage(_ expected: ControlMessage, in stream: AsyncStream<ControlMessage>) async throws {
        let message = await withTaskGroup(of: ControlMessage?.self) { group in
            group.addTask {
                for await message in stream where expected == .resubscribed || message != .resubscribed {
                    return message
                }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(10))
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        try expect(message, expected, "the next message")
    }
}
