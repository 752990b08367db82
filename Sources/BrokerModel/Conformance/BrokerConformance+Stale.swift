import Operations

extension BrokerConformance {
    /// Every write of a worker, combined with every way in which its fence can become stale.
    static let staleWrites: [ConformanceCheck] = StaleSituation.allCases.flatMap { situation in
        situation.kinds.flatMap { tracked in
            StaleWrite.allCases.map { write in staleCheck(situation, tracked: tracked, write) }
        }
    }

    private static func staleCheck(
        _ situation: StaleSituation,
        tracked: Bool,
        _ write: StaleWrite
    ) -> ConformanceCheck {
        let kind = tracked ? "" : " (untracked)"
        let rule = "A late \(write.rawValue) is refused and changes nothing if \(situation.rawValue)\(kind)"
        return ConformanceCheck(rule) { bench in
            let (worker, stale) = try await situation.arrange(on: bench, tracked: tracked)
            let before = try await StaleWorld(bench, stale.id)
            try await write.attempt(stale, by: worker, on: bench)
            let after = try await StaleWorld(bench, stale.id)
            try bench.expect(after.text, before.text, "the queue after a late write")
        }
    }
}

/// The state that a late write must not change.
private struct StaleWorld {
    let text: String

    init(_ bench: BrokerBench, _ id: OperationID) async throws {
        let snapshot = try await bench.snapshot()
        let detail = try await bench.detail(id)
        let counts = OperationState.allCases.map { "\($0)=\(snapshot.counts[$0] ?? 0)" }
        let totals = snapshot.totals.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        text = "\(counts) \(totals) \(snapshot.eventSequence) \(snapshot.executing) \(String(describing: detail))"
    }
}

private enum StaleSituation: String, CaseIterable {
    case waits = "the operation was recovered and waits"
    case runsElsewhere = "the operation was recovered and runs elsewhere"
    case runsHereAgain = "the operation was recovered and runs in the same worker again"
    case finishedElsewhere = "the operation was recovered and has finished elsewhere"
    case deadElsewhere = "the operation was recovered and has died elsewhere"
    case cancelled = "the operation was recovered and cancelled"
    case sweptToDeath = "the operation was lost too often and is dead"
    case sweptCancelled = "its cancel was requested before the worker was lost"
    case removed = "the operation was recovered, cancelled and removed"
    case otherWorker = "the fence is another worker's"
    case unknownFence = "the fence was never used"

    /// The values of `tracked` to check. A broker trusts writes of untracked operations until their worker was swept.
    var kinds: [Bool] {
        switch self {
        case .waits, .runsElsewhere, .runsHereAgain, .finishedElsewhere, .deadElsewhere, .sweptToDeath, .sweptCancelled:
            [true, false]
        case .cancelled, .removed, .otherWorker, .unknownFence: [true]
        }
    }

    /// Returns a worker and a claimed operation that the worker does not hold.
    func arrange(on bench: BrokerBench, tracked: Bool) async throws -> (WorkerID, ClaimedOperation) {
        let (worker, other) = (try bench.worker(), try bench.worker())
        var stale = try await bench.running(worker, tracked: tracked)
        switch self {
        case .otherWorker: return (other, stale)
        case .unknownFence:
            stale.fence += 1000
            return (worker, stale)
        case .sweptCancelled: _ = try await bench.cancel(stale.id)
        case .sweptToDeath:
            for _ in 1..<SluiceDefaults.maxDeliveries {
                try await lose(worker, keeping: other, on: bench)
                stale = try await bench.claimAfterLoss(worker)
            }
        default: break
        }
        try await lose(worker, keeping: other, on: bench)
        try await proceed(with: stale.id, worker: worker, other: other, on: bench)
        return (worker, stale)
    }

    private func lose(_ worker: WorkerID, keeping other: WorkerID, on bench: BrokerBench) async throws {
        try await bench.lapse(allBut: other)
        _ = try await bench.sweepAll()
        try bench.beat(worker)
    }

    private func proceed(
        with id: OperationID,
        worker: WorkerID,
        other: WorkerID,
        on bench: BrokerBench
    ) async throws {
        switch self {
        case .runsElsewhere: _ = try await bench.claimOne(other)
        case .runsHereAgain: _ = try await bench.claimOne(worker)
        case .finishedElsewhere: _ = try await bench.complete(try await bench.claimOne(other), other)
        case .deadElsewhere: _ = try await bench.fail(try await bench.claimOne(other), other, .dead)
        case .cancelled, .removed:
            _ = try await bench.cancel(id)
            if self == .removed { _ = try await bench.broker.remove([id], by: "tester", queue: bench.queue) }
        case .waits, .sweptToDeath, .sweptCancelled, .otherWorker, .unknownFence: break
        }
    }
}

private enum StaleWrite: String, CaseIterable {
    case completion, retry, death
    case cancelledEnd = "end as cancelled"
    case givingBack = "giving back to the front"
    case postponing = "giving back for later"
    case progress
    case logLine = "log line"
    case checkpoint
    case acknowledgement = "acknowledgement of a cancel"

    func attempt(_ stale: ClaimedOperation, by worker: WorkerID, on bench: BrokerBench) async throws {
        let what = "the outcome of the late write"
        switch self {
        case .completion: try bench.expect(try await bench.complete(stale, worker, result: "9"), .stale, what)
        case .retry:
            try bench.expect(try await bench.fail(stale, worker, .retry(afterMilliseconds: 0)), .stale, what)
        case .death: try bench.expect(try await bench.fail(stale, worker, .dead), .stale, what)
        case .cancelledEnd: try bench.expect(try await bench.fail(stale, worker, .cancelled), .stale, what)
        case .givingBack: try bench.expect(try await bench.giveBack(stale, worker), .stale, what)
        case .postponing:
            try bench.expect(try await bench.giveBack(stale, worker, .later(milliseconds: 0)), .stale, what)
        case .progress: try await refuse(.progress(fraction: 0.5, message: "late"), stale, worker, bench)
        case .logLine: try await refuse(.log(line: Array("late".utf8)), stale, worker, bench)
        case .checkpoint: try await refuse(.checkpoint([1]), stale, worker, bench)
        case .acknowledgement: try await refuse(.cancelAcknowledged, stale, worker, bench)
        }
    }

    private func refuse(
        _ content: Report.Content,
        _ stale: ClaimedOperation,
        _ worker: WorkerID,
        _ bench: BrokerBench
    ) async throws {
        try bench.expect(try await bench.report(stale, worker, content), false, "whether the report was taken")
        let log = try await bench.broker.log(stale.id, queue: bench.queue, from: 0, limit: 10)
        try bench.expect(log.lines.count, 0, "log lines")
    }
}
