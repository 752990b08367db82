import Operations
import Synchronization

// Waits for ends, hints and the wake-up token.
extension BrokerConformance {
    static let waiting: [ConformanceCheck] = [
        ConformanceCheck("Waiting for ends returns when all operations have ended") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            let waiting = try await bench.enqueue()
            let ids = [claimed.id, OperationID()] + waiting
            async let states = bench.broker.awaitEnd(of: ids, queue: bench.queue, timeout: BrokerBench.patience)
            try await bench.untilAwaited(ids[0])
            _ = try await bench.complete(claimed, worker)
            _ = try await bench.cancel(waiting[0])
            try bench.expect(try await states, [.finished, nil, .cancelled], "the states")
        },
        ConformanceCheck("Waiting for ends returns when the whole queue is cancelled") { bench in
            let ids = try await bench.enqueue(2)
            async let states = bench.broker.awaitEnd(of: ids, queue: bench.queue, timeout: BrokerBench.patience)
            try await bench.untilAwaited(ids[1])
            _ = try await bench.cancelQueue()
            _ = try await bench.sweepAll()
            try bench.expect(try await states, [.cancelled, .cancelled], "the states")
        },
        ConformanceCheck("Waiting for ends reports the first and the last states") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            let ids = try await [claimed.id] + bench.enqueue()
            let seen = Mutex<[[OperationState?]]>([])
            async let states = bench.broker.awaitEnd(
                of: ids,
                queue: bench.queue,
                timeout: BrokerBench.patience
            ) { states in
                seen.withLock { $0.append(states) }
            }
            try await bench.untilAwaited(ids[1])
            _ = try await bench.complete(claimed, worker)
            _ = try await bench.cancel(ids[1])
            try bench.expect(try await states, [.finished, .cancelled], "the states")
            try bench.expect(seen.withLock { $0.first }, [.executing, .ready], "the first report")
            try bench.expect(seen.withLock { $0.last }, [.finished, .cancelled], "the last report")
        },
        ConformanceCheck("Waiting for ends returns the current states after its timeout") { bench in
            let ids = try await bench.enqueue()
            let states = try await bench.broker.awaitEnd(of: ids, queue: bench.queue, timeout: .milliseconds(20))
            try bench.expect(states, [.ready], "the states")
        },
        ConformanceCheck("Hints come at once, and with each progress and transition of the operation") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            var hints = bench.broker.hints(of: claimed.id, queue: bench.queue).makeAsyncIterator()
            var waits: [Duration] = []
            func awaitHint(_ isTrue: (OperationDetail) -> Bool) async throws {
                let started = ContinuousClock.now
                while await hints.next() != nil, try await !isTrue(bench.existing(claimed.id)) {}
                waits.append(ContinuousClock.now - started)
            }
            try await awaitHint { $0.state == .executing }
            for step in 1...10 {
                let progress = Report.Content.progress(fraction: 0.5, message: "\(step)")
                _ = try await bench.report(claimed, worker, progress)
                try await awaitHint { $0.progress?.message == "\(step)" }
            }
            _ = try await bench.complete(claimed, worker)
            try await awaitHint { $0.state == .finished }
            // Without hints each step would wait for the next poll, 5 s later. A busy machine delays only some steps.
            try bench.expect(waits.sorted()[waits.count / 2] < .seconds(4), "most hints came at once, not in \(waits)")
        },
        ConformanceCheck("A queue has at most one wake-up token: two enqueues wake one waiter once") { bench in
            try await bench.enqueue()
            try await bench.enqueue()
            try await bench.expectToken("the first wait")
            try await bench.expectNoToken("the second wait")
            try await bench.broker.wake(queue: bench.queue)
            try await bench.broker.wake(queue: bench.queue)
            try await bench.expectToken("after putting it back")
            try await bench.expectNoToken("after putting it back twice")
        },
        ConformanceCheck("An enqueue wakes a waiter") { bench in
            try await bench.enqueue()
            try await bench.expectToken("of the first enqueue")
            async let woken = bench.wakeUp()
            try await bench.enqueue()
            try bench.expect(try await woken, bench.queue, "the queue that woke")
        },
        ConformanceCheck("Every change that lets an operation start puts the wake-up token") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let steps: [(String, () async throws -> Void)] = [
                (
                    "a claim that leaves work",
                    {
                        try await bench.enqueue(2); try await bench.expectToken("the wake-up token of the enqueue")
                        _ = try await bench.claim(worker)
                    }
                ),
                ("giving back", { _ = try await bench.giveBack(try await bench.claimOne(worker), worker) }),
                ("resume", { try await bench.broker.setPaused(.resume(by: "tester"), queue: bench.queue) }),
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
                        try await bench.dropToken()
                        _ = try await bench.broker.retry(ids, by: "tester", queue: bench.queue)
                    }
                ),
            ]
            for (name, step) in steps {
                try await step()
                try await bench.expectToken("the wake-up token after \(name)")
            }
        },
        ConformanceCheck("Waiting for the wake-up token ends when its task is cancelled") { bench in
            _ = try await bench.snapshot()
            let task = Task { try await bench.broker.waitForWakeUp(queues: [bench.queue], timeout: .seconds(60)) }
            task.cancel()
            let result = await task.result
            guard case .failure(let error) = result, error is CancellationError else {
                throw ConformanceViolation(description: "expected CancellationError, but the wait ended with \(result)")
            }
        },
        ConformanceCheck("A claim within a wait takes no more than its capacity, and puts the token back for the rest")
        { bench in
            let worker = try bench.worker()
            async let claimed = bench.claimAtWakeUp(worker, 2)
            let ids = try await bench.enqueue(3)
            let claim = try await claimed
            try bench.expect(claim.operations.map(\.id), Array(ids.prefix(2)), "what was claimed")
            try bench.expect(claim.more, true, "that there is more")
            try await bench.expectToken("the wake-up token for the rest")
        },
        ConformanceCheck("A claim within a wait, with an older epoch, takes the token and no operation") { bench in
            let worker = try bench.worker()
            try bench.beat(worker, epoch: 1)
            try await bench.enqueue()
            let claim = try await bench.claimAtWakeUp(worker, 1)
            try bench.expect(claim, Claim(status: .staleEpoch), "the claim")
            try bench.expect(try await bench.snapshot().counts[.ready], 1, "the number of ready operations")
            try await bench.expectNoToken("the wake-up token")
        },
        ConformanceCheck("A claim for an idle worker takes nothing if the worker holds an operation") { bench in
            let worker = try bench.worker()
            let held = try await bench.running(worker)
            try await bench.enqueue()
            let refused = try await bench.claim(worker, onlyIfIdle: true)
            try bench.expect(refused, Claim(status: .busy), "the claim")
            _ = try await bench.complete(held, worker)
            try bench.expect(try await bench.claim(worker, onlyIfIdle: true).operations.count, 1, "the second claim")
        },
        ConformanceCheck("An idle worker whose claim takes nothing leaves the timer to its owner") { bench in
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
    ]
}

extension BrokerBench {
    /// The longest wait for what a check expects. The wait ends when that comes, so a busy machine has time.
    static let patience: Duration = .seconds(180)

    /// Waits for the wake-up token and takes it. A broker may need seconds to connect on a busy machine, so only a
    /// check that expects no token waits for a short time.
    func wakeUp(within timeout: Duration = BrokerBench.patience) async throws -> String? {
        try await broker.waitForWakeUp(queues: [queue], timeout: timeout)
    }

    /// Takes the wake-up token, which has to come.
    func expectToken(_ what: String, file: String = #fileID, line: Int = #line) async throws {
        try expect(try await wakeUp(), queue, what, file: file, line: line)
    }

    /// Expects that there is no wake-up token.
    func expectNoToken(_ what: String, file: String = #fileID, line: Int = #line) async throws {
        try expect(try await wakeUp(within: .milliseconds(30)), nil, what, file: file, line: line)
    }

    /// Takes the wake-up token if there is one. First puts one, so that there is something to wait for: a queue has at
    /// most one token.
    func dropToken() async throws {
        try await broker.wake(queue: queue)
        try await expectToken("the wake-up token that was put")
    }

    /// Waits for the wake-up token and claims. A broker that cannot claim within the wait gets a second call.
    func claimAtWakeUp(_ worker: WorkerID, _ capacity: Int) async throws -> Claim {
        let request = ClaimRequest(worker: worker, epoch: 0, capacity: capacity)
        let answer = try await broker.claimAtWakeUp(request, queue: queue, timeout: Self.patience)
        try expect(answer.wasWoken, true, "that it was woken")
        if let claim = answer.claim { return claim }
        return try await broker.claim(request, queue: queue)
    }

    /// Returns once a client waits for the operation's end.
    func untilAwaited(_ id: OperationID) async throws {
        let deadline = ContinuousClock.now + Self.patience
        while ContinuousClock.now < deadline {
            if try await existing(id).isAwaited { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw ConformanceViolation(description: "expected a client to wait for \(id), but none does")
    }

    /// Expects the next message of a stream. A broker sends `.resubscribed` whenever messages may have been missed, so
    /// that message counts only if it is the expected one.
    func expectMessage(_ expected: ControlMessage, in stream: AsyncStream<ControlMessage>) async throws {
        let message = await withTaskGroup(of: ControlMessage?.self) { group in
            group.addTask {
                for await message in stream where expected == .resubscribed || message != .resubscribed {
                    return message
                }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: Self.patience)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        try expect(message, expected, "the next message")
    }
}
