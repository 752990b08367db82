import Operations

/// A queue server in memory: the same states, fences, leases and outcomes as the scripts in Redis, for tests without a server.
///
/// Every call is one step under a lock. Time is the machine's, or a `ManualClock`'s; durations that a caller waits (`waitForWakeUp`,
/// `awaitEnd`) are real in both cases.
package final class InMemoryBroker: Broker {
    let time: ServerTime
    private let retention: [OperationState: (ageMilliseconds: Int64, count: Int)]
    let state = Guarded(State())

    /// - Parameters:
    ///   - time: where leases, due times and stamps come from.
    ///   - retention: how long, and how many, ended operations are kept, by state.
    package init(
        time: ServerTime = .real,
        retention: [OperationState: (ageMilliseconds: Int64, count: Int)] = Defaults.retention
    ) {
        self.time = time
        self.retention = retention
    }

    struct State {
        var queues: [String: QueueModel] = [:]
        var listeners = Listeners()
    }

    /// One script call: the model changes, then everybody hears of it, in this order for all callers.
    func run<Result>(_ queue: String, _ body: (inout QueueModel) -> Result) -> Result {
        state.withLock { state in
            var model = state.queues.removeValue(forKey: queue) ?? newModel(queue)
            model.now = time.milliseconds
            let result = body(&model)
            model.trimEnded()
            state.listeners.notify(of: &model)
            state.queues[queue] = model
            return result
        }
    }

    /// Reads without making the queue known.
    func read<Result>(_ queue: String, _ body: (QueueModel) -> Result) -> Result {
        state.withLock { state in
            var model = state.queues[queue] ?? newModel(queue)
            model.now = time.milliseconds
            return body(model)
        }
    }

    private func newModel(_ queue: String) -> QueueModel {
        var model = QueueModel(queue: queue)
        model.retention = retention
        return model
    }
}

// MARK: - Producers and workers

extension InMemoryBroker {
    package func enqueue(_ operations: [NewOperation], queue: String) async throws -> [EnqueueOutcome] {
        run(queue) { $0.enqueue(operations) }
    }

    package func claim(_ request: ClaimRequest, queue: String) async throws -> Claim {
        run(queue) { $0.claim(request) }
    }

    package func complete(
        _ completions: [Completion],
        isRepeat: Bool,
        worker: WorkerID,
        thenClaim: ClaimRequest?,
        queue: String
    ) async throws -> (outcomes: [SettleOutcome], claim: Claim?) {
        run(queue) { model in
            let outcomes = completions.map { model.complete($0, worker: worker.description) }
            return (outcomes, isRepeat ? nil : thenClaim.map { model.claim($0) })
        }
    }

    package func fail(_ failures: [Failure], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        run(queue) { model in failures.map { model.fail($0, worker: worker.description) } }
    }

    package func giveBack(_ returns: [Return], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        run(queue) { $0.giveBack(returns, worker: worker.description) }
    }

    package func report(_ reports: [Report], number: Int, worker: WorkerID, queue: String) async throws -> [Bool] {
        run(queue) { model in
            let isRepeat = model.isRepeated(report: number, worker: worker.description)
            return reports.map { model.report($0, worker: worker.description, isRepeat: isRepeat) }
        }
    }

    package func beat(_ beat: Beat, queue: String) throws -> BeatReply {
        run(queue) { $0.beat(beat) }
    }

    package func requestedCancels(of fences: [Int64], worker: WorkerID, queue: String) async throws -> RequestedCancels
    {
        read(queue) { $0.requestedCancels(of: fences, worker: worker.description) }
    }

    package func reconcile(
        known: [Int64],
        worker: WorkerID,
        epoch: Int,
        queue: String
    ) async throws -> Reconciliation {
        run(queue) { $0.reconcile(known: known, worker: worker.description, epoch: epoch) }
    }

    package func sweep(queue: String) async throws -> SweepReply {
        run(queue) { $0.sweep() }
    }

    package func abandon(worker: WorkerID, queue: String) async throws -> SweepReply {
        run(queue) { $0.abandon(worker: worker.description) }
    }

    package func retire(worker: WorkerID, queue: String) async throws {
        run(queue) { $0.retire(worker: worker.description) }
    }

    package func wake(queue: String) async throws {
        run(queue) { $0.wake() }
    }
}

// MARK: - Reading and changes

extension InMemoryBroker {
    package func queues() async throws -> [String] {
        state.withLock { $0.queues.keys.sorted() }
    }

    package func snapshot(queue: String, executingRows: Int) async throws -> QueueSnapshot {
        read(queue) { $0.snapshot(executingRows: executingRows) }
    }

    package func lostWorkers(queue: String, limit: Int) async throws -> [LostWorker] {
        read(queue) { $0.lostWorkers(limit: limit) }
    }

    package func details(_ ids: [OperationID], queue: String) async throws -> [OperationDetail?] {
        read(queue) { model in ids.map { model.detail($0) } }
    }

    package func page(state: OperationState, queue: String, cursor: String?, limit: Int) async throws -> OperationPage {
        read(queue) { $0.page(state: state, cursor: cursor, limit: limit) }
    }

    package func backlog(aheadOf id: OperationID, queue: String, limit: Int) async throws -> Backlog? {
        read(queue) { $0.backlog(aheadOf: id, limit: limit) }
    }

    package func log(
        _ id: OperationID,
        queue: String,
        from line: Int,
        limit: Int
    ) async throws -> (first: Int, lines: [LogLine]) {
        read(queue) { $0.log(id, from: line, limit: limit) }
    }

    package func cancel(
        _ ids: [OperationID],
        request: CancelRequest,
        queue: String
    ) async throws -> [CancelOutcome] {
        run(queue) { model in ids.map { model.cancel($0, request: request) } }
    }

    package func cancelQueue(
        _ queue: String,
        request: CancelRequest
    ) async throws -> (waiting: Int, executing: Int) {
        run(queue) { $0.cancelAll(request) }
    }

    package func retry(_ ids: [OperationID], queue: String) async throws -> [ChangeOutcome] {
        run(queue) { model in ids.map { model.retry($0) } }
    }

    package func remove(_ ids: [OperationID], queue: String) async throws -> [ChangeOutcome] {
        run(queue) { model in ids.map { model.remove($0) } }
    }

    package func steer(_ order: WorkerOrder, worker: String, by: String, queue: String) async throws -> Bool {
        run(queue) { $0.steer(order, worker: worker, by: by) }
    }

    package func setPaused(_ paused: Bool, forMilliseconds: Int64?, queue: String) async throws {
        run(queue) { $0.setPaused(paused, forMilliseconds: forMilliseconds) }
    }
}
