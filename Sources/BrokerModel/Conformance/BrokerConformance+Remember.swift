import Operations

/// Results of effects that an operation runs only once.
extension BrokerConformance {
    static let remembering: [ConformanceCheck] = [
        ConformanceCheck("The first result of a label stays through attempts, deliveries and a retry") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            var claimed = try await bench.running(worker)
            try bench.expect(try await bench.remember(claimed, worker, "charge", "1"), .stored, "the first")
            let again = try await bench.remember(claimed, worker, "charge", "2")
            try bench.expect(again, .replayed(Array("1".utf8)), "the second")
            _ = try await bench.fail(claimed, worker, .retry(afterMilliseconds: 0))
            claimed = try await bench.claimOne(worker)
            let later = try await bench.remember(claimed, worker, "charge", "3")
            try bench.expect(later, .replayed(Array("1".utf8)), "in the second attempt")
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
            claimed = try await bench.claimAfterLoss(other)
            try bench.expect(try await bench.remember(claimed, other, "mail", "4"), .stored, "another label")
            _ = try await bench.fail(claimed, other, .dead)
            _ = try await bench.broker.retry([claimed.id], by: "ann", queue: bench.queue)
            let stored = try await bench.existing(claimed.id).stored.once
            try bench.expect(stored, ["charge": Array("1".utf8), "mail": Array("4".utf8)], "the results")
        },
        ConformanceCheck("A result with a stale fence, of another worker or of an untracked operation is refused") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let claimed = try await bench.running(worker)
            try bench.expect(try await bench.remember(claimed, other, "a", "1"), .stale, "of another worker")
            let untracked = try await bench.running(worker, tracked: false)
            try bench.expect(try await bench.remember(untracked, worker, "a", "1"), .stale, "of an untracked one")
            _ = try await bench.complete(untracked, worker)
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
            _ = try await bench.claimAfterLoss(other)
            try bench.expect(try await bench.remember(claimed, worker, "a", "1"), .stale, "of a lost run")
            try bench.expect(try await bench.existing(claimed.id).stored.once, [:], "the results")
        },
        ConformanceCheck("Results of effects have at most 64 labels and, with their labels, 64 KiB") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            for number in 1...64 {
                try bench.expect(
                    try await bench.remember(claimed, worker, "l\(number)", "1"),
                    .stored,
                    "label \(number)"
                )
            }
            try bench.expect(try await bench.remember(claimed, worker, "l65", "1"), .tooManyLabels, "label 65")
            try bench.expect(
                try await bench.remember(claimed, worker, "l64", "2"),
                .replayed(Array("1".utf8)),
                "a label that is there"
            )
            let large = try await bench.running(worker)
            let text = String(repeating: "7", count: SluiceDefaults.onceBytes - 1)
            try bench.expect(try await bench.remember(large, worker, "ab", text), .tooManyBytes, "one byte too many")
            try bench.expect(try await bench.remember(large, worker, "a", text), .stored, "as many as may be")
            try bench.expect(try await bench.remember(large, worker, "b", ""), .tooManyBytes, "one more")
        },
        ConformanceCheck("Results of effects are removed with their operation") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.remember(claimed, worker, "charge", "1")
            _ = try await bench.complete(claimed, worker)
            _ = try await bench.broker.remove([claimed.id], by: "ann", queue: bench.queue)
            try bench.expect(try await bench.broker.details([claimed.id], queue: bench.queue), [nil], "the operation")
        },
    ]
}

extension BrokerBench {
    fileprivate func remember(
        _ operation: ClaimedOperation,
        _ worker: WorkerID,
        _ label: String,
        _ result: String
    ) async throws -> OnceResults.Stored {
        let effect = EffectResult(
            fence: operation.fence,
            id: operation.id,
            label: label,
            result: Array(result.utf8)
        )
        return try await broker.remember(effect, worker: worker, queue: queue)
    }
}
