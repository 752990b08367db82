import Operations

/// A queue server in memory, for tests without Redis. States, fences, leases and outcomes are those of the Redis
/// scripts.
///
/// Every call is one step under a lock. Time comes from the machine or from a `ManualClock`. The waits of callers
/// (`waitForWakeUp`, `awaitEnd`) always take real time.
package final class InMemoryBroker: Broker {
    let time: ServerTime
    private let retention: [OperationState: (ageMilliseconds: Int64, count: Int)]
    let state = Guarded(State())

    /// - Parameters:
    ///   - time: the source of leases, due times and timestamps.
    ///   - retention: by state, how long and how many ended operations are kept.
    package init(
        time: ServerTime = .real,
        retention: [OperationState: (ageMilliseconds: Int64, count: Int)] = SluiceDefaults.retention
    ) {
        self.time = time
        self.retention = retention
    }

    struct State {
        var queues: [String: QueueModel] = [:]
        var listeners = Listeners()
        /// The changes of many operations, oldest first.
        var changes: [StoredChange] = []
    }

    /// Runs one script call: changes the model, then notifies all listeners, in the same order for all callers.
    func run<Result>(_ queue: String, _ body: (inout QueueModel) -> Result) -> Result {
        state.withLock { state in
            var model = state.queues.removeValue(forKey: queue) ?? newModel(queue)
            model.now = time.milliseconds
            let result = body(&model)
            model.goOn()
            model.trimEnded()
            model.announceRoom()
            model.announceStartable()
            model.announceKeys()
            model.leftToResolve = QueueModel.resolvedAtOnce
            model.edgesLeft = QueueModel.edgesAtOnce
            state.listeners.notify(of: &model)
            state.queues[queue] = model
            return result
        }
    }

    /// Reads a queue without creating it.
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
            model.noteLeaving()
            let outcomes = completions.map { model.complete($0, worker: worker.description) }
            model.goOn()
            guard !isRepeat, let thenClaim else { return (outcomes, nil) }
            let claim = model.claim(thenClaim)
            // The claim takes operations that have become startable, or reports that more are ready. No wake-up is
            // needed.
            if [.ok, .limited, .paused].contains(claim.status) { model.wasBlocked = false }
            return (outcomes, claim)
        }
    }

    package func fail(_ failures: [Failure], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        run(queue) { model in failures.map { model.fail($0, worker: worker.description) } }
    }

    package func giveBack(_ returns: [Return], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        run(queue) { $0.giveBack(returns, worker: worker.description) }
    }

    package func remember(
        _ result: EffectResult,
        worker: WorkerID,
        queue: String
    ) async throws -> OnceResults.Stored {
        run(queue) { $0.remember(result, worker: worker.description) }
    }

    package func report(_ reports: [Report], number: Int, worker: WorkerID, queue: String) async throws -> [Bool] {
        run(queue) { model in
            let isRepeat = model.isRepeated(report: number, worker: worker.description)
            return reports.map { model.report($0, worker: worker.description, isRepeat: isRepeat) }
        }
    }

    package func inputs(of id: OperationID, queue: String) async throws -> [DependencyInput] {
        read(queue) { $0.inputs(of: id) }.map { input in
            var input = input
            if input.state == .finished, input.result == nil, let other = input.name.queue {
                input.result = read(other) { $0.operations[input.name.id].map { $0.result ?? [] } }
            }
            return input
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

    package func recoverWorker(worker: WorkerID, queue: String) async throws -> SweepReply {
        run(queue) { $0.recoverWorker(worker: worker.description) }
    }

    package func retire(worker: WorkerID, statistics: [StatisticsDelta], queue: String) async throws {
        run(queue) { $0.retire(worker: worker.description, statistics: statistics) }
    }

    package func dueSchedules(queue: String) async throws -> SchedulePage { read(queue) { $0.dueSchedules } }

    package func fire(_ firing: ScheduleFiring, queue: String) async throws -> FiringReply {
        run(queue) { $0.fire(firing) }
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

    package func keyHolders(_ keys: [String], queue: String) async throws -> [OperationID?] {
        read(queue) { $0.keyHolders(keys) }
    }

    package func lostWorkers(queue: String, limit: Int) async throws -> [LostWorker] {
        read(queue) { $0.lostWorkers(limit: limit) }
    }

    package func builds(queue: String) async throws -> [BuildSight] {
        read(queue) { $0.buildsInOrder.reversed() }
    }

    package func storedEvents(
        queue: String,
        after cursor: String?,
        agoMilliseconds: Int64,
        limit: Int
    ) async throws -> StoredEvents {
        read(queue) { $0.storedEvents(after: cursor, agoMilliseconds: agoMilliseconds, limit: limit) }
    }

    package func statistics(_ query: StatisticsQuery, queue: String) async throws -> StatisticsReply {
        read(queue) { $0.statistics(query) }
    }

    package func details(_ ids: [OperationID], queue: String) async throws -> [OperationDetail?] {
        read(queue) { model in ids.map { model.detail($0) } }
    }

    package func page(
        state: OperationState,
        queue: String,
        cursor: String?,
        limit: Int,
        sought: SoughtText?
    ) async throws -> OperationPage {
        read(queue) { $0.page(state: state, cursor: cursor, limit: limit, sought: sought) }
    }

    package func limitKey(_ key: String, queue: String) async throws -> LimitKeyState {
        read(queue) { $0.limitKey(key) }
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
        // Ids without a record get a call of their own, once for all positions of an id.
        let tracked = run(queue) { model in
            let found = ids.map { model.operations[$0] != nil }
            return model.cancel(zip(ids, found).map { $1 ? $0 : nil }, request)
        }
        let missing = Array(Set(zip(ids, tracked).filter { $1 == nil }.map(\.0))).sorted()
        let answers = run(queue) { $0.cancel(missing, request) }
        let untracked = Dictionary(zip(missing, answers), uniquingKeysWith: { first, _ in first })
        return zip(ids, tracked).map { id, outcome in
            outcome ?? untracked[id].flatMap { $0 } ?? .unknown(intentStored: false)
        }
    }

    package func cancelQueue(
        _ queue: String,
        request: CancelRequest
    ) async throws -> (waiting: Int, executing: Int) {
        run(queue) { $0.cancelAll(request) }
    }

    package func retry(
        _ ids: [OperationID],
        delays: [Int64],
        by: String,
        queue: String
    ) async throws -> [ChangeOutcome] {
        run(queue) {
            var delays = delays[...]
            return $0.change(ids, .retry, by) { model, id in model.retry(id, delay: delays.popFirst() ?? 0) }
        }
    }

    package func edit(_ edits: [OperationEdit], by: String, queue: String) async throws -> [EditOutcome] {
        run(queue) { model in
            let outcomes = edits.map { model.edit($0) }
            let changed = outcomes.count { $0 == .done }
            if changed > 0 { model.effects.change = QueueChange(.edit, by: by, count: changed) }
            model.effects.subject = zip(edits, outcomes).first { $0.1 == .done }?.0.record.header.id
            return outcomes
        }
    }

    package func purge(_ queue: String, by: String, from progress: PurgeProgress?) async throws -> PurgeProgress {
        run(queue) { $0.purge(by: by, from: progress) }
    }

    package func hold(_ ids: [OperationID], by: String, reason: String, queue: String) async throws -> [ChangeOutcome] {
        run(queue) { $0.change(ids, .hold, by, reason) { model, id in model.hold(id, by: by, reason: reason) } }
    }

    package func release(_ ids: [OperationID], by: String, queue: String) async throws -> [ChangeOutcome] {
        // In reverse, so that the operations keep their order at the head of a lane.
        run(queue) { $0.change(ids.reversed(), .release, by) { model, id in model.release(id) } }.reversed()
    }

    package func remove(_ ids: [OperationID], by: String, queue: String) async throws -> [ChangeOutcome] {
        run(queue) { $0.change(ids, .remove, by) { model, id in model.remove(id) } }
    }

    package func setStandingCancel(_ new: NewStandingCancel, queue: String) async throws -> (id: Int64, endsAt: Int64)?
    {
        run(queue) { $0.setStanding(new) }
    }

    package func removeStandingCancels(
        _ ids: [Int64]?,
        by: String,
        queue: String
    ) async throws -> [Int64] {
        run(queue) { $0.removeStanding(ids, by: by) }
    }

    package func standingCancels(queue: String) async throws -> StandingCancels { read(queue) { $0.standingCancels } }

    package func control(_ command: WorkerCommand, worker: String, by: String, queue: String) async throws -> Bool {
        run(queue) { $0.control(command, worker: worker, by: by) }
    }

    package func schedules(queue: String, after id: String?) async throws -> SchedulePage {
        read(queue) { $0.schedules(after: id) }
    }

    package func schedule(_ id: String, queue: String) async throws -> SchedulePage {
        read(queue) { $0.schedule(id) }
    }

    package func setSchedule(_ change: ScheduleChange, by: String, queue: String) async throws -> ScheduleOutcome {
        run(queue) { $0.setSchedule(change, by: by) }
    }

    package func removeSchedule(_ id: String, by: String, queue: String) async throws -> Bool {
        run(queue) { $0.removeSchedule(id, by: by) }
    }

    package func setLimits(_ limits: [QueueLimit], by: String, queue: String) async throws -> QueueLimits {
        run(queue) { $0.setLimits(limits, by: by) }
    }

    package func noteEvent(_ change: QueueChange, of id: OperationID?, queue: String) async throws {
        run(queue) { ($0.effects.change, $0.effects.subject) = (change, id) }
    }

    package func setPaused(_ request: PauseRequest, queue: String) async throws {
        run(queue) { $0.setPaused(request) }
    }
}
