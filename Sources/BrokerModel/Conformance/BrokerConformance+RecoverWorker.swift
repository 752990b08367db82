import Operations

extension BrokerConformance {
    static let recovering: [ConformanceCheck] = [
        ConformanceCheck("An ended worker's operations are recovered at once, despite its lease or an outage") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let held = [try await bench.running(worker), try await bench.running(worker, tracked: false)]
            try await bench.advance(.seconds(60))
            for beating in [other, worker] { try bench.beat(beating) }
            try bench.expect(try await bench.recover(worker), SweepReply(recovered: 2), "the reply to a recovery")
            let again = try await bench.claim(other, 9).operations
            try bench.expect(again.map(\.id), held.map(\.id), "the operations, in their order")
            try bench.expect(again.map(\.header.delivery), [2, 2], "the deliveries")
            try bench.expect(again.map(\.attempt), [1, 1], "the attempts")
            try bench.expect(try await bench.snapshot().workers.map(\.worker), [other.description], "the workers")
            try bench.expect(try await bench.recover(worker), SweepReply(), "recovered again")
        },
        ConformanceCheck("A worker whose operations were recovered can neither settle nor claim operations") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let claimed = try await bench.running(worker)
            _ = try await bench.recover(worker)
            try bench.expect(try await bench.complete(claimed, worker), .stale, "a completion under the old fence")
            try bench.expect(try await bench.claim(worker).status, .noLease, "a claim")
            let again = try await bench.claimOne(other)
            try bench.expect(again.id == claimed.id && again.fence > claimed.fence, "it has a higher fence")
            try bench.expect(try await bench.complete(again, other), .done(.finished), "the completion")
        },
        ConformanceCheck("Recovering one ended worker changes nothing for others; an unknown worker changes nothing") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let kept = try await bench.running(other)
            try bench.expect(
                try await bench.recover(WorkerID("unknown")),
                SweepReply(),
                "the reply for an unknown worker"
            )
            try bench.expect(try await bench.recover(worker), SweepReply(), "one that holds nothing")
            try bench.expect(try await bench.snapshot().workers.map(\.worker), [other.description], "the workers")
            try bench.expect(try await bench.complete(kept, other), .done(.finished), "the completion")
        },
        ConformanceCheck("An operation with a requested cancel ends as cancelled when its ended worker is recovered") {
            bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.cancel(claimed.id)
            try bench.expect(try await bench.recover(worker), SweepReply(), "the reply to a recovery")
            try await bench.expectState(claimed.id, .cancelled)
        },
        ConformanceCheck("An ended worker with many operations is recovered in steps and claims nothing between them") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let ids = try await bench.enqueue(250, tracked: false)
            _ = try await bench.claim(worker, 250)
            let first = try await bench.recover(worker)
            try bench.expect(first, SweepReply(recovered: 200, more: true), "the first step")
            try bench.expect(try await bench.claim(worker).status, .noLease, "a claim between")
            try bench.expect(try await bench.recover(worker), SweepReply(recovered: 50), "the second step")
            let again = try await bench.claim(other, 300).operations
            try bench.expect(Set(again.map(\.id)), Set(ids), "the operations")
        },
    ]
}

extension BrokerBench {
    fileprivate func recover(_ worker: WorkerID) async throws -> SweepReply {
        try await broker.recoverWorker(worker: worker, queue: queue)
    }
}
