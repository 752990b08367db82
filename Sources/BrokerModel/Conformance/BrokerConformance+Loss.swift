import Operations

extension BrokerConformance {
    /// Complete runs over an `UnreliableBroker`, which loses calls and answers.
    static let losing: [ConformanceCheck] = (1...4).map { (seed: UInt64) in
        ConformanceCheck(
            "Every attempt runs exactly once, even if a third of all calls or answers is lost (seed \(seed))"
        ) { bench in
            try await runLossy(bench.broker, seed: seed, bench)
        }
    }

    private static func runLossy(_ base: some Broker, seed: UInt64, _ bench: BrokerBench) async throws {
        let unreliable = UnreliableBroker(base, seed: seed, callLoss: 0.15, replyLoss: 0.2)
        let ids = try await enqueueSomehow(60, on: unreliable, bench)
        var worker = LossyWorker(broker: unreliable, queue: bench.queue)
        for _ in 0..<2000 where worker.finished.count < ids.count { try await worker.turn() }
        try bench.expect(worker.finished, Set(ids), "the finished operations")
        try bench.expect(unreliable.lossCount > 50, "many answers were lost: \(unreliable.lossCount)")
        for id in ids {
            // Every third operation fails once.
            let attempts = id.low % 3 == 0 ? 2 : 1
            try bench.expect(worker.runs[id], Array(1...attempts), "the attempts of \(id)")
            let detail = try await bench.existing(id)
            try bench.expect(detail.state, .finished, "the state")
            try bench.expect(detail.record.header.delivery, 1, "the delivery")
        }
        let totals = try await bench.snapshot().totals
        try bench.expect(totals["enqueued"], Int64(ids.count), "the total of enqueued ones")
        try bench.expect(totals["finished"], Int64(ids.count), "the total of finished ones")
    }

    /// Repeats each enqueue until its answer arrives.
    private static func enqueueSomehow(
        _ count: Int,
        on broker: UnreliableBroker<some Broker>,
        _ bench: BrokerBench
    ) async throws -> [OperationID] {
        var ids: [OperationID] = []
        for start in stride(from: 0, to: count, by: 10) {
            let operations = (start..<start + 10).map { _ in NewOperation(envelope: BrokerBench.envelope()) }
            while true {
                guard let outcomes = try await known({ try await broker.enqueue(operations, queue: bench.queue) })
                else { continue }
                try bench.expect(outcomes.count, operations.count, "outcomes")
                break
            }
            ids += operations.map(\.id)
        }
        return ids
    }

    /// Returns the answer, or nil if it was lost.
    fileprivate static func known<Answer>(_ call: () async throws -> Answer) async throws -> Answer? {
        do {
            return try await call()
        } catch let error as OperationsError where error.code == .outcomeUnknown {
            return nil
        }
    }
}

/// The smallest correct worker. Each write is repeated until its answer arrives, and a claim whose answer was lost
/// leads to a reconciliation.
private struct LossyWorker {
    let broker: any WorkerBroker
    let queue: String
    let id = WorkerID()
    var epoch = 0
    /// Ended runs, and whether their end was already sent.
    var outbox: [Int64: (operation: ClaimedOperation, isSent: Bool)] = [:]
    var mustReconcile = false
    var runs: [OperationID: [Int]] = [:]
    var finished: Set<OperationID> = []

    mutating func turn() async throws {
        let beat = Beat(worker: id, epoch: epoch, leaseMilliseconds: 15_000, intervalMilliseconds: 5000, info: [])
        _ = try await BrokerConformance.known { try broker.beat(beat, queue: queue) }
        if mustReconcile { try await reconcile() }
        if !mustReconcile { try await claim() }
        for (fence, ended) in outbox { try await settle(fence, ended.operation, isRepeat: ended.isSent) }
    }

    private mutating func claim() async throws {
        let request = ClaimRequest(worker: id, epoch: epoch, capacity: 5)
        if let claim = try await BrokerConformance.known({ try await broker.claim(request, queue: queue) }) {
            run(claim.operations)
        } else {
            epoch += 1
            mustReconcile = true
        }
    }

    private mutating func reconcile() async throws {
        let known = outbox.keys.sorted()
        let reply = try await BrokerConformance.known {
            try await broker.reconcile(known: known, worker: id, epoch: epoch, queue: queue)
        }
        guard let reply else { return }
        run(reply.found)
        mustReconcile = reply.more
    }

    private mutating func run(_ operations: [ClaimedOperation]) {
        for operation in operations {
            runs[operation.id, default: []].append(operation.attempt)
            outbox[operation.fence] = (operation, false)
        }
    }

    private mutating func settle(_ fence: Int64, _ operation: ClaimedOperation, isRepeat: Bool) async throws {
        let fails = operation.id.low % 3 == 0 && operation.attempt == 1
        outbox[fence]?.isSent = true
        let outcome = try await BrokerConformance.known {
            fails ? try await fail(operation) : try await complete(operation, isRepeat: isRepeat)
        }
        guard let outcome else { return }
        outbox[fence] = nil
        if outcome == .done(.finished) || outcome == .already && !fails { finished.insert(operation.id) }
    }

    private func complete(_ operation: ClaimedOperation, isRepeat: Bool) async throws -> SettleOutcome {
        let completion = Completion(fence: operation.fence, id: operation.id, tracked: true)
        return try await broker.complete(
            [completion],
            isRepeat: isRepeat,
            worker: id,
            thenClaim: nil,
            queue: queue
        ).outcomes[0]
    }

    private func fail(_ operation: ClaimedOperation) async throws -> SettleOutcome {
        let failure = Failure(
            fence: operation.fence,
            id: operation.id,
            disposition: .retry(afterMilliseconds: 0),
            error: Array("{}".utf8)
        )
        return try await broker.fail([failure], worker: id, queue: queue)[0]
    }
}
