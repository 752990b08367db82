import Operations

/// Bounds that keep a call to Redis short, whatever the size and number of the operations.
extension BrokerConformance {
    static let bounding: [ConformanceCheck] = [
        ConformanceCheck("A claim of large operations stops near 256 KiB; the rest stays ready in order") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueueLarge(40, bytes: 100_000)
            let first = try await bench.claim(worker, 40)
            try bench.expect(first.operations.count < 40 && first.more, "not all were claimed at once")
            var claimed = first.operations
            for _ in 1...40 where claimed.count < 40 { claimed += try await bench.claim(worker, 40).operations }
            try bench.expect(claimed.map(\.id), ids, "the operations, in order")
            try bench.expect(claimed.allSatisfy { $0.envelope.count >= 100_000 }, "their envelopes are whole")
        },
        ConformanceCheck("A claim takes only one large operation behind many small ones") { bench in
            let worker = try bench.worker()
            try await bench.enqueue(32, tracked: false)
            _ = try await bench.enqueueLarge(6, bytes: 900_000)
            let claimed = try await bench.claim(worker, 100).operations
            try bench.expect(claimed.count, 33, "claimed: all small ones and one large one")
        },
        ConformanceCheck("An old backlog of large operations leaves four fifths of the claims to urgent ones") {
            bench in
            let worker = try bench.worker()
            _ = try await bench.enqueueLarge(20, bytes: 100_000, priority: .veryLow)
            try await bench.advance(.seconds(600))
            let urgent = try await bench.enqueue(8, priority: .veryHigh)
            try bench.beat(worker)
            let first = try await bench.claim(worker, 100).operations.map(\.id)
            try bench.expect(Array(first[..<4]), Array(urgent[..<4]), "the first four")
            try bench.expect(Array(first[5..<9]), Array(urgent[4...]), "the next four after one large one")
        },
        ConformanceCheck("Reconciling finds large operations over several calls") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueueLarge(20, bytes: 200_000)
            for _ in 1...20 { _ = try await bench.claim(worker, 1) }
            var found: [ClaimedOperation] = []
            var turns = 0
            var more = true
            while more {
                let reply = try await bench.broker.reconcile(
                    known: found.map(\.fence),
                    worker: worker,
                    epoch: 0,
                    queue: bench.queue
                )
                found += reply.found
                more = reply.more
                turns += 1
            }
            try bench.expect(found.map(\.id), ids, "the operations")
            try bench.expect(turns > 2, "they were found in \(turns) turns")
        },
        ConformanceCheck("A claim expires only a few large operations at a time") { bench in
            let worker = try bench.worker()
            let expired = try await bench.enqueueLarge(12, bytes: 100_000, expires: 1000)
            let fresh = try await bench.enqueue()
            try await bench.advance(.seconds(2))
            let first = try await bench.claim(worker, 40)
            try bench.expect(first.operations.isEmpty && first.more, "the first claim ends early: \(first)")
            var claims = 1
            var claimed: [OperationID] = []
            while claimed.isEmpty, claims < 9 {
                claimed = try await bench.claim(worker, 40).operations.map(\.id)
                claims += 1
            }
            try bench.expect(claimed, fresh, "what is claimed at last, after \(claims) claims")
            for id in expired { try await bench.expectState(id, .expired) }
        },
        ConformanceCheck("Large operations recovered into an empty queue are claimed one by one") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let ids = try await bench.enqueueLarge(6, bytes: 900_000)
            for id in ids { try bench.expect(try await bench.claim(worker).operations.map(\.id), [id], "claimed") }
            try bench.expect(try await bench.claim(other, 40).operations.count, 0, "claimed while all of them run")
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
            var again: [OperationID] = []
            for _ in ids {
                let claimed = try await bench.claim(other, 40).operations.map(\.id)
                try bench.expect(claimed.count, 1, "how many were claimed again")
                again += claimed
            }
            try bench.expect(again.sorted(), ids.sorted(), "claimed again")
        },
        ConformanceCheck("Large operations that an operator retries into an empty queue are claimed one by one") {
            bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueueLarge(6, bytes: 900_000)
            for _ in 1...6 { _ = try await bench.fail(try await bench.claimOne(worker), worker, .dead) }
            // The queue is empty and nothing runs, so this claim forgets the size of the largest element.
            try bench.expect(try await bench.claim(worker, 40).operations.count, 0, "claimed")
            let outcomes = try await bench.broker.retry(ids, by: "tester", queue: bench.queue)
            try bench.expect(outcomes, [ChangeOutcome](repeating: .done, count: 6), "the outcomes")
            for id in ids {
                try bench.expect(try await bench.claim(worker, 40).operations.map(\.id), [id], "claimed again")
            }
        },
    ]
}

extension BrokerBench {
    /// Enqueues large operations, one a call: tracked and untracked ones alternate.
    func enqueueLarge(
        _ count: Int,
        bytes: Int,
        priority: OperationPriority = .normal,
        expires: Int64 = 0
    ) async throws -> [OperationID] {
        let padding = String(repeating: "x", count: bytes)
        let operations = (0..<count).map { number in
            NewOperation(
                tracked: number % 2 == 0,
                priority: priority,
                expiresMilliseconds: expires,
                envelope: Array("{\"name\":\"large\",\"args\":\"\(padding)\"}".utf8)
            )
        }
        for operation in operations { _ = try await broker.enqueue([operation], queue: queue) }
        return operations.map(\.id)
    }
}
