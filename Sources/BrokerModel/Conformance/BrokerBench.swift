import Operations

/// A fresh broker with one queue, and a clock that the check moves.
package struct BrokerBench: Sendable {
    package let broker: any Broker
    package let queue: String
    private let advanceClock: @Sendable (Duration) async throws -> Void

    /// - Parameters:
    ///   - broker: a broker whose queue is unused.
    ///   - queue: the queue of the checks.
    ///   - advance: moves the broker's server time.
    package init(
        _ broker: any Broker,
        queue: String = "bench",
        advance: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.broker = broker
        self.queue = queue
        advanceClock = advance
    }
}

// MARK: - Time and workers

extension BrokerBench {
    /// The second queue, for checks that need two.
    package static let otherQueue = "elsewhere"
    static let lease: Int64 = 15_000
    static let interval: Int64 = 5000

    /// Moves the clock without any heartbeat.
    func advance(_ duration: Duration) async throws { try await advanceClock(duration) }

    /// Moves the clock by `seconds`, while `worker` sends a heartbeat each second.
    func pass(_ seconds: Int, beating worker: WorkerID) async throws {
        for _ in 0..<seconds {
            try await advanceClock(.seconds(1))
            try beat(worker)
        }
    }

    /// Makes a worker that has a lease.
    func worker() throws -> WorkerID {
        let worker = WorkerID()
        try beat(worker)
        return worker
    }

    @discardableResult
    func beat(
        _ worker: WorkerID,
        epoch: Int = 0,
        lease: Int64 = lease,
        interval: Int64 = interval,
        info: [UInt8] = Array("{}".utf8),
        statistics: StatisticsDelta? = nil,
        build: String? = nil
    ) throws -> BeatReply {
        let beat = Beat(
            worker: worker,
            epoch: epoch,
            leaseMilliseconds: lease,
            intervalMilliseconds: interval,
            info: info,
            statistics: statistics,
            build: build
        )
        return try broker.beat(beat, queue: queue)
    }

    /// Lets the leases of all workers but one lapse. The survivor keeps sending heartbeats, so the pause is no outage.
    func lapse(allBut survivor: WorkerID) async throws { try await pass(17, beating: survivor) }
}

// MARK: - Operations

extension BrokerBench {
    static func envelope(_ text: String = "check") -> [UInt8] { OperationEnvelope(name: text).encoded() }

    /// Enqueues `count` operations in one call and returns their ids.
    @discardableResult
    func enqueue(
        _ count: Int = 1,
        tracked: Bool = true,
        priority: OperationPriority = .normal,
        delay: Int64 = 0,
        expires: Int64 = 0,
        key: String? = nil
    ) async throws -> [OperationID] {
        let operations = (0..<count).map { _ in
            NewOperation(
                tracked: tracked,
                priority: priority,
                delayMilliseconds: delay,
                expiresMilliseconds: expires,
                envelope: Self.envelope(),
                links: OperationLinks(limitKey: key)
            )
        }
        let outcomes = try await broker.enqueue(operations, queue: queue)
        try expect(outcomes, [EnqueueOutcome](repeating: .created, count: count), "the outcomes of enqueue")
        return operations.map(\.id)
    }

    /// Enqueues `count` untracked operations of 100 KiB each, one a call.
    func enqueueUntracked(large count: Int) async throws {
        let arguments = Array("\"\(String(repeating: "x", count: 100 << 10))\"".utf8)
        for _ in 0..<count {
            let envelope = OperationEnvelope(name: "check", arguments: arguments).encoded()
            let outcomes = try await broker.enqueue([NewOperation(tracked: false, envelope: envelope)], queue: queue)
            try expect(outcomes, [.created], "the outcome of enqueue")
        }
    }

    func claim(_ worker: WorkerID, _ capacity: Int = 1, epoch: Int = 0, onlyIfIdle: Bool = false) async throws -> Claim
    {
        let request = ClaimRequest(worker: worker, epoch: epoch, capacity: capacity, onlyIfIdle: onlyIfIdle)
        return try await broker.claim(request, queue: queue)
    }

    /// Enqueues one operation and claims it.
    func running(_ worker: WorkerID, tracked: Bool = true) async throws -> ClaimedOperation {
        try await enqueue(tracked: tracked)
        return try await claimOne(worker)
    }

    func claimOne(_ worker: WorkerID) async throws -> ClaimedOperation {
        let claim = try await claim(worker)
        guard let operation = claim.operations.first else {
            throw ConformanceViolation(description: "expected to claim an operation, got \(claim)")
        }
        return operation
    }

    func complete(_ operation: ClaimedOperation, _ worker: WorkerID, result: String = "") async throws -> SettleOutcome
    {
        let completion = Completion(
            fence: operation.fence,
            id: operation.id,
            tracked: operation.header.tracked,
            result: Array(result.utf8)
        )
        let reply = try await broker.complete(
            [completion],
            isRepeat: false,
            worker: worker,
            thenClaim: nil,
            queue: queue
        )
        return try only(reply.outcomes)
    }

    func fail(
        _ operation: ClaimedOperation,
        _ worker: WorkerID,
        _ disposition: Failure.Disposition,
        error: String = "{}"
    ) async throws -> SettleOutcome {
        let failure = Failure(
            fence: operation.fence,
            id: operation.id,
            disposition: disposition,
            error: Array(error.utf8)
        )
        return try only(try await broker.fail([failure], worker: worker, queue: queue))
    }

    func giveBack(
        _ operation: ClaimedOperation,
        _ worker: WorkerID,
        _ place: Return.Place = .front
    ) async throws -> SettleOutcome {
        let given = Return(fence: operation.fence, id: operation.id, place: place)
        return try only(try await broker.giveBack([given], worker: worker, queue: queue))
    }

    /// Claims the one operation that its worker lost, 10 s later: before its last delivery it waits up to 10 s.
    func claimAfterLoss(_ worker: WorkerID) async throws -> ClaimedOperation {
        try await pass(10, beating: worker)
        return try await claimOne(worker)
    }

    func report(_ operation: ClaimedOperation, _ worker: WorkerID, _ content: Report.Content) async throws -> Bool {
        let report = Report(fence: operation.fence, id: operation.id, content: content)
        return try only(try await broker.report([report], number: 0, worker: worker, queue: queue))
    }

    func cancel(_ id: OperationID, storesIntent: Bool = false) async throws -> CancelOutcome {
        let request = CancelRequest(reason: "no need", by: "tester", storesIntent: storesIntent)
        return try only(try await broker.cancel([id], request: request, queue: queue))
    }

    func cancelQueue(reason: String = "all of it") async throws -> (waiting: Int, executing: Int) {
        try await broker.cancelQueue(queue, request: CancelRequest(reason: reason, by: "tester"))
    }

    func force(_ id: OperationID, reason: String = "no need", by: String = "tester") async throws -> CancelOutcome {
        let request = CancelRequest(reason: reason, by: by, isForced: true)
        return try only(try await broker.cancel([id], request: request, queue: queue))
    }

    func requestedCancels(_ fences: [Int64], _ worker: WorkerID) async throws -> RequestedCancels {
        try await broker.requestedCancels(of: fences, worker: worker, queue: queue)
    }

    func sweepAll() async throws -> SweepReply {
        var sum = SweepReply()
        repeat {
            let reply = try await broker.sweep(queue: queue)
            sum.recovered += reply.recovered
            sum.dead += reply.dead
            sum.cleared += reply.cleared
            sum.more = reply.more
        } while sum.more
        return sum
    }
}

// MARK: - Looking

extension BrokerBench {
    func detail(_ id: OperationID) async throws -> OperationDetail? {
        try only(try await broker.details([id], queue: queue))
    }

    func existing(_ id: OperationID) async throws -> OperationDetail {
        guard let detail = try await detail(id) else {
            throw ConformanceViolation(description: "expected a record of \(id) in queue \(queue), got none")
        }
        return detail
    }

    func snapshot() async throws -> QueueSnapshot { try await broker.snapshot(queue: queue, executingRows: 200) }

    func only<Element>(_ list: [Element]) throws -> Element {
        guard let first = list.first, list.count == 1 else {
            throw ConformanceViolation(description: "expected one answer, got \(list)")
        }
        return first
    }

    func expect<Value: Equatable>(
        _ actual: Value,
        _ expected: Value,
        _ what: String,
        file: String = #fileID,
        line: Int = #line
    ) throws {
        if actual == expected { return }
        throw ConformanceViolation(description: "\(what): expected \(expected), got \(actual) (\(file):\(line))")
    }

    func expect(_ condition: Bool, _ sentence: String, file: String = #fileID, line: Int = #line) throws {
        if !condition { throw ConformanceViolation(description: "expected: \(sentence) (\(file):\(line))") }
    }

    func expectState(
        _ id: OperationID,
        _ state: OperationState?,
        file: String = #fileID,
        line: Int = #line
    ) async throws {
        try expect(try await detail(id)?.state, state, "the state of \(id)", file: file, line: line)
    }
}
