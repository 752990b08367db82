import Operations

/// What keeps a call to Redis short, however large and many the operations are.
extension BrokerConformance {
    static let bounding: [ConformanceCheck] = [
        ConformanceCheck("A claim of large operations stops near 256 KiB; the others stay ready, in order") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueueLarge(40, bytes: 100_000)
            let first = try await bench.claim(worker, 40)
            try bench.expect(first.operations.count < 40 && first.more, "not all were claimed at once")
            var claimed = first.operations
            for _ in 1...40 where claimed.count < 40 { claimed += try await bench.claim(worker, 40).operations }
            try bench.expect(claimed.map(\.id), ids, "the operations, in order")
            try bench.expect(claimed.allSatisfy { $0.envelope.count >= 100_000 }, "their envelopes are whole")
        },
        ConformanceCheck("Small ones before them do not let large ones through in a crowd") { bench in
            let worker = try bench.worker()
            try await bench.enqueue(32, tracked: false)
            _ = try await bench.enqueueLarge(6, bytes: 900_000)
            let claimed = try await bench.claim(worker, 100).operations
            try bench.expect(claimed.count, 33, "claimed: all small ones and one large one")
        },
        ConformanceCheck("An old backlog of large ones leaves urgent ones their four fifths") { bench in
            let worker = try bench.worker()
            _ = try await bench.enqueueLarge(20, bytes: 100_000, priority: .veryLow)
            try await bench.advance(.seconds(600))
            let urgent = try await bench.enqueue(8, priority: .veryHigh)
            try bench.beat(worker)
            let first = try await bench.claim(worker, 100).operations.map(\.id)
            try bench.expect(Array(first[..<4]), Array(urgent[..<4]), "the first four")
            try bench.expect(Array(first[5..<9]), Array(urgent[4...]), "the next four after one large one")
        },
        ConformanceCheck("Reconciling finds large operations in turns") { bench in
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
        ConformanceCheck("What a claim drops has been read, too: large expired ones end a few at a time") { bench in
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
        ConformanceCheck("Large ones that ran when the queue was empty come back one by one") { bench in
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
        ConformanceCheck("So do those that an operator retries") { bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueueLarge(6, bytes: 900_000)
            for _ in 1...6 { _ = try await bench.fail(try await bench.claimOne(worker), worker, .dead) }
            // The queue is empty, and nothing runs.
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
    /// Tracked and untracked in turn, one a call.
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
