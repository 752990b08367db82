import Operations

extension BrokerConformance {
    /// Untracked operations under the id of a recorded one, which is possible because their enqueue looks for no
    /// record. A step that would create a record drops the operation instead and counts it as removed. The existing
    /// record stays as it is.
    static let reusing: [ConformanceCheck] = [
        reuse("a failure") { bench, worker, _ in
            let operation = try await bench.claimOne(worker)
            try bench.expect(try await bench.fail(operation, worker, .dead), .stale, "the outcome")
        },
        reuse("a retry") { bench, worker, _ in
            let operation = try await bench.claimOne(worker)
            let outcome = try await bench.fail(operation, worker, .retry(afterMilliseconds: 10))
            try bench.expect(outcome, .stale, "the outcome")
        },
        reuse("giving back for later") { bench, worker, _ in
            let operation = try await bench.claimOne(worker)
            let outcome = try await bench.giveBack(operation, worker, .later(milliseconds: 10))
            try bench.expect(outcome, .stale, "the outcome")
        },
        reuse("a cancel of its queue") { bench, worker, _ in
            let operation = try await bench.claimOne(worker)
            _ = try await bench.cancelQueue()
            try bench.expect(try await bench.giveBack(operation, worker), .stale, "the outcome")
        },
        reuse("a cancel of its queue and the loss of its worker") { bench, worker, other in
            _ = try await bench.claimOne(worker)
            _ = try await bench.cancelQueue()
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
        },
        reuse("the loss of its second worker") { bench, worker, other in
            _ = try await bench.claimOne(worker)
            try await bench.lapse(allBut: other)
            try bench.expect(try await bench.sweepAll(), SweepReply(recovered: 1), "the first sweep")
            try bench.beat(worker)
            _ = try await bench.claimOne(worker)
            try await bench.lapse(allBut: other)
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the second sweep")
        },
        reuse("its expiry", expires: 1000) { bench, worker, other in
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
        ConformanceCheck("An untracked operation with a recorded id leaves that record alone: \(what)") {
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
            var after = try await bench.existing(first.id)
            // The worker may have gone meanwhile.
            after.ranOn = before.ranOn
            try bench.expect("\(after)", "\(before)", "the record")
            let snapshot = try await bench.snapshot()
            try bench.expect(snapshot.totals["removed"], 1, "removed operations")
            try bench.expect(snapshot.executing.count, 0, "executing operations")
            try bench.expect(snapshot.counts[.ready], 0, "ready operations")
        }
    }
}
