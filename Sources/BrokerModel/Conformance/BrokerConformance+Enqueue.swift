import Operations

extension BrokerConformance {
    static let enqueueing: [ConformanceCheck] = [
        ConformanceCheck("An enqueued operation is ready and keeps every byte of its envelope") { bench in
            let bytes =
                Array(#"{"name":"n","args":[9007199254740993,{},[],"#.utf8) + [0, 0xff, 0x0a, 0x0d] + [0x5d, 0x7d]
            let operation = NewOperation(priority: .low, envelope: bytes)
            _ = try await bench.broker.enqueue([operation], queue: bench.queue)
            let record = try await bench.existing(operation.id).record
            try bench.expect(record.state, .ready, "the state")
            try bench.expect(record.envelope, bytes, "the stored envelope")
            let claimed = try await bench.claimOne(bench.worker())
            try bench.expect(claimed.envelope, bytes, "the claimed envelope")
            try bench.expect(claimed.header.priority, .low, "the priority")
        },
        ConformanceCheck("An untracked operation keeps every byte of its envelope") { bench in
            let bytes: [UInt8] = [0, 0xff, 0x0a, 0x0d, 0x20, 0x00]
            let operation = NewOperation(tracked: false, envelope: bytes)
            _ = try await bench.broker.enqueue([operation], queue: bench.queue)
            let claimed = try await bench.claimOne(bench.worker())
            try bench.expect(claimed.envelope, bytes, "the claimed envelope")
        },
        ConformanceCheck("A tracked id is created once; a second enqueue changes nothing") { bench in
            let id = OperationID()
            let first = NewOperation(id: id, envelope: BrokerBench.envelope("first"))
            let second = NewOperation(id: id, priority: .high, envelope: BrokerBench.envelope("second"))
            _ = try await bench.broker.enqueue([first], queue: bench.queue)
            let before = try await bench.existing(id)
            let outcomes = try await bench.broker.enqueue([second, second], queue: bench.queue)
            try bench.expect(outcomes, [.exists, .exists], "the outcomes")
            try bench.expect(try await bench.existing(id), before, "the operation")
            try bench.expect(try await bench.snapshot().counts[.ready], 1, "ready operations")
        },
        ConformanceCheck("Enqueuing a finished operation's id again does not run it again") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.complete(claimed, worker)
            let again = NewOperation(id: claimed.id, envelope: BrokerBench.envelope())
            try bench.expect(try await bench.broker.enqueue([again], queue: bench.queue), [.exists], "the outcome")
            try bench.expect(try await bench.claim(worker).operations.count, 0, "claimed operations")
        },
        ConformanceCheck("Sequence numbers grow in the order of enqueuing") { bench in
            let ids = try await bench.enqueue(3) + bench.enqueue(2)
            let sequences = try await bench.broker.details(ids, queue: bench.queue).compactMap {
                $0?.record.header.sequence
            }
            try bench.expect(sequences.count, 5, "records")
            try bench.expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 }, "\(sequences) grow")
        },
        ConformanceCheck("More operations than one call takes are enqueued in order, with progress for all") { bench in
            let operations = (0..<3 * SluiceDefaults.batch + 7).map { _ in
                NewOperation(envelope: BrokerBench.envelope())
            }
            var progress: [Int] = []
            let outcomes = try await bench.broker.enqueueAll(operations, queue: bench.queue) { progress.append($0) }
            try bench.expect(outcomes.count, operations.count, "outcomes")
            try bench.expect(outcomes.allSatisfy { $0 == .created }, "all are new")
            try bench.expect(progress, [250, 500, 750, 1000, 1250, 1500, 1507], "the progress")
            let worker = try bench.worker()
            var claimed: [OperationID] = []
            while case let next = try await bench.claim(worker, SluiceDefaults.batch).operations, !next.isEmpty {
                claimed += next.map(\.id)
            }
            try bench.expect(claimed, operations.map(\.id), "the order")
            let again = try await bench.broker.enqueueAll(operations, queue: bench.queue) { _ in }
            try bench.expect(again.allSatisfy { $0 == .exists }, "none is new the second time")
        },
        ConformanceCheck("An untracked operation has no record while it is on the fast path") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(tracked: false)
            try await bench.expectState(ids[0], nil)
            let claimed = try await bench.claimOne(worker)
            try await bench.expectState(ids[0], nil)
            try bench.expect(try await bench.complete(claimed, worker), .done(.finished), "the completion")
            try await bench.expectState(ids[0], nil)
        },
        ConformanceCheck("A delayed operation starts at its due time by the server's clock, not before") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(delay: 4000)
            try await bench.expectState(ids[0], .scheduled)
            try await bench.advance(.milliseconds(3999))
            let early = try await bench.claim(worker)
            try bench.expect(early.operations.count, 0, "operations claimed before their time")
            try bench.expect(early.nextDueMilliseconds, 1, "milliseconds until the next is due")
            try await bench.advance(.milliseconds(1))
            try bench.expect(try await bench.claim(worker).operations.map(\.id), ids, "operations claimed when due")
        },
        ConformanceCheck("A delayed operation is always tracked") { bench in
            let ids = try await bench.enqueue(tracked: false, delay: 1000)
            try await bench.expectState(ids[0], .scheduled)
        },
        ConformanceCheck("A due operation counts as ready since its due time") { bench in
            let worker = try bench.worker()
            try await bench.enqueue(delay: 1000)
            let due = try await bench.snapshot().time + 1000
            try await bench.advance(.seconds(9))
            try bench.expect(try await bench.claimOne(worker).header.readyAt, due, "ready at")
        },
        ConformanceCheck("An operation that did not start in time expires with a record and is never claimed") {
            bench in
            let worker = try bench.worker()
            let tracked = try await bench.enqueue(expires: 2000)
            let untracked = try await bench.enqueue(tracked: false, expires: 2000)
            let scheduled = try await bench.enqueue(delay: 60_000, expires: 2000)
            try await bench.advance(.milliseconds(2000))
            try bench.expect(try await bench.claim(worker, 9).operations.count, 0, "claimed operations")
            for id in tracked + untracked + scheduled { try await bench.expectState(id, .expired) }
            try bench.expect(try await bench.snapshot().totals["expired"], 3, "the total of expired ones")
        },
        ConformanceCheck("An operation that started in time does not expire afterwards") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(expires: 2000)
            let claimed = try await bench.claimOne(worker)
            try bench.expect(
                try await bench.fail(claimed, worker, .retry(afterMilliseconds: 5000)),
                .done(.retrying),
                "the failure"
            )
            try await bench.advance(.seconds(6))
            try bench.expect(try await bench.claim(worker).operations.map(\.id), ids, "claimed operations")
        },
        ConformanceCheck("An operation that was given back untried can still expire") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(expires: 2000)
            _ = try await bench.giveBack(try await bench.claimOne(worker), worker)
            try await bench.advance(.seconds(3))
            try bench.expect(try await bench.claim(worker).operations.count, 0, "claimed operations")
            try await bench.expectState(ids[0], .expired)
        },
    ]
}
