import Operations

// Operations that depend on operations of other queues.
extension BrokerConformance {
    static let remoteDependencies: [ConformanceCheck] = hearing + retrying + asking

    private static let hearing: [ConformanceCheck] = [
        ConformanceCheck("A dependent on another queue is blocked until the end and its result are relayed") { bench in
            let pair = try RemotePair(bench)
            let first = try await pair.running()
            let last = try await pair.dependent(on: first.id)
            try await bench.expectState(last, .blocked)
            try bench.expect(
                try await bench.existing(last).links.needs.first?.dependency.queue,
                pair.other,
                "the queue"
            )
            _ = try await pair.there.complete(first, pair.worker, result: "17")
            try await bench.expectState(last, .blocked)
            try bench.expect(try pair.there.beat(pair.worker).sweepDue, true, "a sweep is due, to relay an end")
            try await pair.relay()
            try await bench.expectState(last, .ready)
            try bench.expect(try pair.there.beat(pair.worker).sweepDue, false, "nothing is left")
            let inputs = try await bench.broker.inputs(of: last, queue: bench.queue)
            try bench.expect(
                inputs.map(\.name),
                [DependencyName(first.id, queue: pair.other)],
                "the names of the dependencies"
            )
            try bench.expect(inputs.map(\.result), [Array("17".utf8)], "the result")
        },
        ConformanceCheck("A remote dependency that ended before the enqueue counts at once, by its policy") { bench in
            let pair = try RemotePair(bench)
            let (done, dead) = (try await pair.running(), try await pair.running())
            _ = try await pair.there.complete(done, pair.worker, result: "17")
            _ = try await pair.there.fail(dead, pair.worker, .dead)
            let ready = try await pair.dependent(on: done.id)
            try await bench.expectState(ready, .ready)
            let inputs = try await bench.broker.inputs(of: ready, queue: bench.queue)
            try bench.expect(inputs.map(\.result), [Array("17".utf8)], "the result")
            try await bench.expectState(try await pair.dependent(on: dead.id), .cancelled)
            try await bench.expectState(try await pair.dependent(on: dead.id, .run), .ready)
            try await bench.expectState(try await pair.dependent(on: dead.id, .hold), .blocked)
        },
        ConformanceCheck("An enqueue with an unknown remote dependency stores nothing") { bench in
            let pair = try RemotePair(bench)
            let unknown = OperationID()
            let (operation, outcome) = try await pair.enqueue(after: unknown)
            try bench.expect(outcome, .unknownDependency(unknown), "the outcome")
            try bench.expect(try await bench.detail(operation) == nil, true, "nothing is stored")
        },
        ConformanceCheck("A failure is relayed and spreads to dependents; the reason names the queue") { bench in
            let pair = try RemotePair(bench)
            let first = try await pair.running()
            let last = try await pair.dependent(on: first.id)
            let behind = try await bench.dependent(on: [OperationDependency(last)])
            _ = try await pair.there.fail(first, pair.worker, .dead)
            try await pair.relay()
            try await bench.expectState(last, .cancelled)
            try await bench.expectState(behind, .cancelled)
            let reason = try await bench.existing(last).cancel?.reason
            try bench.expect(reason, "depends on \(pair.other)/\(first.id), which is dead", "why")
        },
        ConformanceCheck("An end that is relayed before its dependent is enqueued is not lost") { bench in
            let pair = try RemotePair(bench)
            let first = try await pair.running()
            let said = try await bench.broker.link([first.id], in: pair.other, from: bench.queue)
            _ = try await pair.there.complete(first, pair.worker)
            try await pair.relay()
            let last = try await pair.enqueue(after: first.id, said: said).id
            try await bench.expectState(last, .ready)
        },
        ConformanceCheck("A removal of a waiting dependency is relayed, by one relay at a time") { bench in
            let pair = try RemotePair(bench)
            let first = try await pair.there.enqueue()[0]
            let last = try await pair.dependent(on: first)
            _ = try await bench.broker.remove([first], by: "ann", queue: pair.other)
            let relay = try await bench.broker.relay(queue: pair.other)
            try bench.expect(relay?.ends.map(\.status), [.removed], "what is relayed")
            try bench.expect(
                try await bench.broker.relay(queue: pair.other),
                nil,
                "a second relay while the first is out"
            )
            try await bench.advance(.seconds(2))
            try bench.expect(
                try await bench.broker.relay(queue: pair.other),
                relay,
                "the relay that was not confirmed, again"
            )
            try await bench.advance(.seconds(2))
            try await pair.relay()
            try await bench.expectState(last, .cancelled)
        },
    ]

    private static let retrying: [ConformanceCheck] = [
        ConformanceCheck("A retry takes back an end that was not relayed, and a late message changes nothing") {
            bench in
            let pair = try RemotePair(bench)
            let first = try await pair.running()
            let last = try await pair.dependent(on: first.id)
            _ = try await pair.there.fail(first, pair.worker, .dead)
            let late = try await bench.broker.relay(queue: pair.other)
            _ = try await bench.broker.retry([first.id], by: "ann", queue: pair.other)
            try await bench.advance(.seconds(2))
            try await pair.relay()
            try await bench.expectState(last, .blocked)
            let again = try await pair.there.claimOne(pair.worker)
            _ = try await pair.there.complete(again, pair.worker)
            try await pair.relay()
            try await bench.expectState(last, .ready)
            for end in late?.ends ?? [] { try await bench.broker.resolve([end], of: pair.other, queue: bench.queue) }
            try await bench.expectState(last, .ready)
        },
        ConformanceCheck("A retried dependent waits for the next end, not for the failure that cancelled it") { bench in
            let pair = try RemotePair(bench)
            let first = try await pair.running()
            let last = try await pair.dependent(on: first.id)
            _ = try await pair.there.fail(first, pair.worker, .dead)
            let end = RemoteState(
                first.id,
                .dead,
                sequence: try await bench.broker.link([first.id], in: pair.other, from: bench.queue)[0].sequence
            )
            try await pair.relay()
            try bench.expect(try await bench.broker.retry([last], by: "ann", queue: bench.queue), [.done], "the retry")
            try await bench.broker.resolve([end], of: pair.other, queue: bench.queue)
            try await bench.expectState(last, .blocked)
            _ = try await bench.broker.retry([first.id], by: "ann", queue: pair.other)
            let again = try await pair.there.claimOne(pair.worker)
            _ = try await pair.there.fail(again, pair.worker, .dead)
            try await pair.relay()
            try await bench.expectState(last, .cancelled)
        },
    ]

    private static let asking: [ConformanceCheck] = [
        ConformanceCheck("A lost end is asked for after 10 s, after a minute, then every 5 minutes") { bench in
            let pair = try RemotePair(bench)
            let here = try bench.worker()
            let first = try await pair.running()
            let last = try await pair.dependent(on: first.id)
            let name = DependencyName(first.id, queue: pair.other)
            _ = try await pair.there.complete(first, pair.worker, result: "17")
            let relay = try await bench.broker.relay(queue: pair.other)
            _ = try await bench.broker.relayed(relay ?? Relay(queue: "", ends: []), queue: pair.other)
            try await bench.expectState(last, .blocked)
            try bench.expect(try await bench.broker.ask(queue: bench.queue).names, [], "at once")
            for pause in [10, 60, 300, 300] {
                try await bench.advance(.seconds(pause - 1))
                try bench.expect(try await bench.broker.ask(queue: bench.queue).names, [], "before \(pause) s")
                try await bench.advance(.seconds(1))
                try bench.expect(try bench.beat(here).sweepDue, true, "it is time to ask")
                try bench.expect(try await bench.broker.ask(queue: bench.queue).names, [name], "after \(pause) s")
            }
            try await bench.advance(.seconds(300))
            try await pair.answer()
            try await bench.expectState(last, .ready)
            let inputs = try await bench.broker.inputs(of: last, queue: bench.queue)
            try bench.expect(inputs.map(\.result), [Array("17".utf8)], "the result")
        },
        ConformanceCheck("An end that one enqueue learns is reported to all other dependents") { bench in
            let pair = try RemotePair(bench)
            let first = try await pair.running()
            let last = try await pair.dependent(on: first.id)
            _ = try await pair.there.complete(first, pair.worker)
            let lost = try await bench.broker.relay(queue: pair.other)
            _ = try await bench.broker.relayed(lost ?? Relay(queue: "", ends: []), queue: pair.other)
            try await bench.expectState(last, .blocked)
            try await bench.expectState(try await pair.dependent(on: first.id), .ready)
            try await bench.expectState(last, .ready)
        },
        ConformanceCheck("A reused id of another queue is a new operation, whose end counts") { bench in
            let pair = try RemotePair(bench)
            let first = try await pair.running()
            let before = try await pair.dependent(on: first.id)
            _ = try await pair.there.complete(first, pair.worker)
            try await pair.relay()
            try await bench.expectState(before, .ready)
            _ = try await bench.broker.remove([first.id], by: "ann", queue: pair.other)
            let again = NewOperation(id: first.id, envelope: BrokerBench.envelope())
            _ = try await bench.broker.enqueue([again], queue: pair.other)
            let last = try await pair.dependent(on: first.id)
            try await bench.expectState(last, .blocked)
            _ = try await pair.there.complete(try await pair.there.claimOne(pair.worker), pair.worker, result: "2")
            try await pair.relay()
            try await bench.expectState(last, .ready)
            let late = RemoteState(first.id, .finished, sequence: 1, result: Array("1".utf8))
            try await bench.broker.resolve([late], of: pair.other, queue: bench.queue)
            let next = try await pair.dependent(on: first.id)
            let inputs = try await bench.broker.inputs(of: next, queue: bench.queue)
            try bench.expect(inputs.map(\.result), [Array("2".utf8)], "the result is that of the new one")
        },
        ConformanceCheck("A remote dependency that is unknown for 10 minutes counts as removed") { bench in
            let pair = try RemotePair(bench)
            let first = try await pair.running()
            let last = try await pair.dependent(on: first.id)
            let unknown = RemoteState(first.id, .unknown, sequence: 0)
            try await bench.broker.resolve([unknown], of: pair.other, queue: bench.queue)
            try await bench.advance(.seconds(599))
            try await bench.broker.resolve([unknown], of: pair.other, queue: bench.queue)
            try await bench.expectState(last, .blocked)
            try await bench.advance(.seconds(1))
            try await bench.broker.resolve([unknown], of: pair.other, queue: bench.queue)
            try await bench.expectState(last, .cancelled)
        },
        ConformanceCheck("A remote dependency that was known again in between does not count as removed") { bench in
            let pair = try RemotePair(bench)
            let first = try await pair.running()
            let last = try await pair.dependent(on: first.id)
            let unknown = RemoteState(first.id, .unknown, sequence: 0)
            try await bench.broker.resolve([unknown], of: pair.other, queue: bench.queue)
            let said = try await bench.broker.link([first.id], in: pair.other, from: bench.queue)
            try await bench.broker.resolve(said, of: pair.other, queue: bench.queue)
            try await bench.advance(.seconds(700))
            try await bench.broker.resolve([unknown], of: pair.other, queue: bench.queue)
            try await bench.expectState(last, .blocked)
        },
        ConformanceCheck("A remote operation without dependents is forgotten and no longer asked for") { bench in
            let pair = try RemotePair(bench)
            let first = try await pair.running()
            let last = try await pair.dependent(on: first.id)
            _ = try await bench.broker.remove([last], by: "ann", queue: bench.queue)
            try await bench.advance(.seconds(10))
            try bench.expect(try await bench.broker.ask(queue: bench.queue), RemoteQuestions(), "nothing to ask")
            try await bench.advance(.seconds(7200))
            try bench.expect(try bench.beat(try bench.worker()).sweepDue, false, "nothing to look at")
        },
        ConformanceCheck("A relayed end notifies 100 dependents at once, and sweeps notify the rest") { bench in
            let pair = try RemotePair(bench)
            let here = try bench.worker()
            let first = try await pair.running()
            for _ in 0..<150 { _ = try await pair.dependent(on: first.id) }
            _ = try await pair.there.complete(first, pair.worker)
            try await pair.relay()
            try bench.expect(try await bench.snapshot().counts[.ready] ?? 0, 100, "with the message")
            try await bench.pass(10, beating: here)
            let asked = try await bench.broker.ask(queue: bench.queue).names
            try bench.expect(
                asked,
                [DependencyName(first.id, queue: pair.other)],
                "asked for, while some have not heard"
            )
            try bench.expect(try bench.beat(here).sweepDue, true, "a sweep is due")
            while try await bench.broker.sweep(queue: bench.queue).more {}
            try bench.expect(try await bench.snapshot().counts[.ready] ?? 0, 150, "after sweeps")
            let edges = try await bench.broker.edges(.dependents, of: first.id, queue: pair.other)
            try bench.expect(edges.count, 150, "the edges")
            try bench.expect(Set(edges.map(\.queue)), [bench.queue], "where they are")
        },
    ]
}

/// The bench's queue, and another queue with its dependencies.
private struct RemotePair {
    let bench: BrokerBench
    let other = BrokerBench.otherQueue
    /// A worker of the other queue.
    let worker: WorkerID
    let there: BrokerBench

    init(_ bench: BrokerBench) throws {
        self.bench = bench
        there = BrokerBench(bench.broker, queue: other) { try await bench.advance($0) }
        worker = try there.worker()
    }

    /// Enqueues an operation in the other queue and claims it there.
    func running() async throws -> ClaimedOperation { try await there.running(worker) }

    /// Enqueues an operation that depends on one in the other queue.
    ///
    /// - Parameter said: an earlier answer of the other queue; nil = the queue is asked now.
    func enqueue(
        after id: OperationID,
        _ policy: DependencyFailurePolicy = .cancel,
        said: [RemoteState]? = nil
    ) async throws -> (id: OperationID, outcome: EnqueueOutcome?) {
        let dependency = OperationDependency(id, queue: other, onFailure: policy)
        var links = OperationLinks(after: [dependency])
        if let said {
            links?.said[dependency.name] = said.first
        } else {
            links?.said[dependency.name] = try await bench.broker.link([id], in: other, from: bench.queue).first
        }
        let operation = NewOperation(envelope: BrokerBench.envelope(), links: links)
        return (operation.id, try await bench.broker.enqueue([operation], queue: bench.queue).first)
    }

    func dependent(on id: OperationID, _ policy: DependencyFailurePolicy = .cancel) async throws -> OperationID {
        let (dependent, outcome) = try await enqueue(after: id, policy)
        try bench.expect(outcome, .created, "the outcome of enqueue")
        return dependent
    }

    /// Relays the ends of the other queue.
    func relay() async throws {
        while let relay = try await bench.broker.relay(queue: other) {
            try bench.expect(relay.queue, bench.queue, "where it goes")
            try await bench.broker.resolve(relay.ends, of: other, queue: bench.queue)
            _ = try await bench.broker.relayed(relay, queue: other)
        }
    }

    /// Asks the other queue about the dependencies that are due to be asked for.
    func answer() async throws {
        let names = try await bench.broker.ask(queue: bench.queue).names
        let said = try await bench.broker.link(names.map(\.id), in: other, from: bench.queue)
        try await bench.broker.resolve(said, of: other, queue: bench.queue)
    }
}
