import Operations

extension BrokerConformance {
    /// An untracked operation is not looked for when it is enqueued, so it may carry the id of a recorded one. What would make a
    /// record of it drops it instead, counts it as removed, and leaves the other's alone.
    static let reusing: [ConformanceCheck] = [
        reuse("A failure") { bench, worker, _ in
            let operation = try await bench.claimOne(worker)
            try bench.expect(try await bench.fail(operation, worker, .dead), .stale, "the outcome")
        },
        reuse("A retry") { bench, worker, _ in
            let operation = try await bench.claimOne(worker)
            let outcome = try await bench.fail(operation, worker, .retry(afterMilliseconds: 10))
            try bench.expect(outcome, .stale, "the outcome")
        },
        reuse("Giving back for later") { bench, worker, _ in
            let operation = try await bench.claimOne(worker)
            let outcome = try await bench.giveBack(operation, worker, .later(milliseconds: 10))
            try bench.expect(outcome, .stale, "the outcome")
        },
        reuse("A cancel of its queue") { bench, worker, _ in
            let operation = try await bench.claimOne(worker)
            _ = try await bench.cancelQueue()
            try bench.expect(try await bench.giveBack(operation, worker), .stale, "the outcome")
        },
        reuse("A cancel of its queue and the loss of its worker") { bench, worker, other in
            _ = try await bench.claimOne(worker)
            _ = try await bench.cancelQueue()
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
        },
        reuse("The loss of its second worker") { bench, worker, other in
            _ = try await bench.claimOne(worker)
            try await bench.lapse(allBut: other)
            try bench.expect(try await bench.sweepAll(), SweepReply(recovered: 1), "the first sweep")
            try bench.beat(worker)
            _ = try await bench.claimOne(worker)
            try await bench.lapse(allBut: other)
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the second sweep")
        },
        reuse("Its expiry", expires: 1000) { bench, worker, other in
            try await bench.pass(2, beating: other)
            try bench.beat(worker)
            try bench.expect(try await bench.claim(worker).operations.count, 0, "claimed operations")
        },
    ]

    private static func reuse(
        _ what: String,
        expires: Int64 = 0,
        _ act: @escaping @Sendable (BrokerBench, WorkerID, WorkerID) async throws -> Void
    ) -> ConformanceCheck {
        ConformanceCheck("\(what) of an untracked operation under a recorded one's id does not touch that record") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let first = try await bench.running(worker)
            _ = try await bench.complete(first, worker, result: "1")
            let before = try await bench.existing(first.id)
            let second = NewOperation(
                id: first.id,
                tracked: false,
                expiresMilliseconds: expires,
                envelope: BrokerBench.envelope("other")
            )
            try bench.expect(try await bench.broker.enqueue([second], queue: bench.queue), [.created], "the enqueue")
            try await act(bench, worker, other)
            let after = try await bench.existing(first.id)
            try bench.expect("\(after)", "\(before)", "the record")
            let snapshot = try await bench.snapshot()
            try bench.expect(snapshot.totals["removed"], 1, "removed operations")
            try bench.expect(snapshot.executing.count, 0, "executing operations")
            try bench.expect(snapshot.counts[.ready], 0, "ready operations")
        }
    }
}
