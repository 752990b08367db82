import Foundation
import Logging
import Operations
import Synchronization

/// Reads the data that earlier runs of an operation have stored, by id and queue; nil = the operation does not exist.
package typealias StoredReader = @Sendable (OperationID, String) async throws -> StoredByRuns?

/// The shared state of a worker's loops: the local queue behind a lock, and the signals by which the loops wake each
/// other.
///
/// A method changes the queue's value under the lock, and acts on the outcome afterwards, without the lock.
final class WorkerCore: Sendable {
    typealias Instant = ContinuousClock.Instant

    let id: WorkerID
    let broker: any WorkerBroker
    let registry: OperationRegistry
    let configuration: WorkerConfiguration
    /// Verifies and decrypts claimed operations; nil = no keys.
    let seal: (any EnvelopeSeal)?
    let logger: Logger
    /// Reads the data that earlier runs of an operation have stored.
    let stored: StoredReader?
    let queue: Mutex<LocalQueue>
    let reporter: Reporter
    /// Counters that the heartbeats report.
    let counters = WorkerCounters()
    /// Counts for the statistics over time.
    let statistics = StatisticsBook()

    /// Raised when the wait for wake-up tokens has to be renewed, for example for another queue.
    let wakeUp = Signal()
    /// Raised when the next alarm has become earlier.
    let alarm = Signal()
    /// Raised with every change while the worker is quiet or drains; the drain waits for it.
    let calm = Signal()
    /// Raised with every change during a burst; the end of a burst waits for it.
    let pause = Signal()
    /// Names of claimed operations that cannot run here.
    let unhandledNameLog = UnhandledNameLog()
    /// Asks the heartbeat's thread for an extra heartbeat.
    let beatNow = BeatRequest()
    /// Queues in which a sweep is due.
    let sweeps = SweepRequests()
    /// Queues whose ends have to be relayed to other queues.
    let relays = SweepRequests()
    /// When this worker looks for due schedules.
    let schedules = ScheduleWatch()
    /// The standing cancels that this worker has read.
    let standing = StandingWatch()
    /// When the worker's loops last made progress.
    let liveness = Liveness()
    /// Ends operations that run for too long.
    let deadlines = DeadlineWatch()
    /// Measures whether tasks get a thread.
    let pool = PoolProbe()
    /// Code around each run and each enqueue of a schedule.
    let middleware: MiddlewareChain
    /// Middleware that counts what happens to this worker.
    let observers: [any RuntimeObserving]
    /// The client with which bodies enqueue.
    let producer: (any BodyClient)?
    /// Ends the process.
    let exitNow: @Sendable (Int32) -> Void
    /// The requests to stop the worker.
    let stopping = StopRequest()

    /// True if some operations have an outage grace shorter than a lease.
    let hasShortGraces: Bool

    init(
        id: WorkerID = WorkerID(),
        broker: any WorkerBroker,
        registry: OperationRegistry,
        configuration: WorkerConfiguration,
        seal: (any EnvelopeSeal)? = nil,
        middleware: MiddlewareChain = MiddlewareChain(),
        logger: Logger,
        stored: StoredReader? = nil,
        producer: (any BodyClient)? = nil,
        exitNow: @escaping @Sendable (Int32) -> Void = { _exit($0) }
    ) {
        self.id = id
        self.exitNow = exitNow
        self.seal = seal
        self.middleware = middleware
        observers = middleware.observers
        self.stored = stored
        self.producer = producer
        self.broker = broker
        self.registry = registry
        self.configuration = configuration
        hasShortGraces = !configuration.outageGrace.short(below: configuration.lease).isEmpty
        var logger = logger
        logger[metadataKey: "worker"] = "\(id)"
        self.logger = logger
        queue = Mutex(LocalQueue(slots: configuration.slots, lifetime: configuration.maxOperations))
        reporter = Reporter(broker: broker, worker: id, observers: observers, logger: logger)
    }

    /// How much longer than the grace the worker waits. A body may enforce the grace itself: it kills a program at the
    /// end of the grace, and has to collect it.
    private static let graceMargin: Duration = .seconds(1)

    /// Names of the queues, in the order of their indexes.
    var queueNames: [String] { queue.withLock { $0.members.map(\.share.name) } }

    func index(of name: String) -> Int? { queue.withLock { $0.indexes[name] } }

    /// Returns claimed operations as this worker holds them. Called without the lock, which every ending body needs.
    func hold(_ claimed: [ClaimedOperation], _ index: Int) -> [HeldOperation] {
        if claimed.isEmpty { return [] }
        let context = context(index)
        return claimed.map { HeldOperation($0, queue: index, context: context) }
    }

    private func context(_ index: Int) -> QueueContext {
        let name = queue.withLock { $0.members[index].share.name }
        return QueueContext(
            name: name,
            logger: logger,
            operationLogLevel: configuration.operationLogLevel,
            leaseIsValid: { [self] in queue.withLock { $0.members[index].lease.isValid(.now) } },
            reportsWaiting: { [reporter] in reporter.reportsWaiting($0) },
            stored: { [stored] in try await stored?($0, name) },
            remember: { [broker, id] in try await broker.remember($0, worker: id, queue: name) },
            producer: producer.map { ($0, id) },
            inputs: { [broker] in try await broker.inputs(of: $0, queue: name) },
            slotWish: { [self] sliceIsOver in queue.withLock { $0.slotWish(sliceIsOver: sliceIsOver) } },
            toldToEnd: { [deadlines, configuration] in
                deadlines.set($0, .grace, at: .now + configuration.cancelGrace + Self.graceMargin)
            }
        )
    }

    // MARK: Changing

    /// Changes the queue, then starts operations that may start and wakes the loops that have something to do.
    func change<Result: Sendable>(_ body: (inout LocalQueue, Instant) -> Result) -> Result {
        let now = Instant.now
        let (result, effects) = queue.withLock { queue in
            let result = body(&queue, now)
            var effects = Effects()
            queue.fill(now)
            effects.executorTasks = queue.line.callTasks()
            let outlook = queue.outlook(now)
            effects.wakes = outlook.callers.map { queue.members[$0].signal }
            effects.wakeUp = outlook.needsWakeUp
            effects.alarm = outlook.alarm.map { next in queue.alarmSet.map { next < $0 } ?? true } ?? false
            effects.calm = queue.phase != .running
            effects.pause = configuration.burst != .none
            return (result, effects)
        }
        act(effects)
        return result
    }

    private struct Effects {
        var executorTasks = 0
        var own: Signal?
        var wakes: [Signal] = []
        var wakeUp = false
        var alarm = false
        var calm = false
        var pause = false
    }

    private func act(_ effects: Effects) {
        startExecutorTasks(effects.executorTasks)
        effects.own?.raise()
        for signal in effects.wakes { signal.raise() }
        if effects.wakeUp { wakeUp.raise() }
        if effects.alarm { alarm.raise() }
        if effects.calm { calm.raise() }
        if effects.pause { pause.raise() }
    }

    // MARK: Recycling

    /// Stops the worker as the first SIGTERM does, and logs the reason. Does nothing if the worker is stopping already.
    func recycle(_ reason: String, _ facts: Logger.Metadata) {
        guard stopping.current == .none else { return }
        logger.notice("recycling: the limit of \(reason) is reached", metadata: facts)
        stopping.request(.drain)
    }

    // MARK: Cancels

    /// Handles a cancel request: asks a running operation to end, and ends a waiting one.
    func cancel(_ request: FencedCancel, _ index: Int) {
        if let id = request.forced { return fence(request, id, index) }
        let found = queue.withLock { $0.find(request, index) }
        guard let operation = found, operation.cancel(request.cancellation) else { return }
        if change({ queue, _ in queue.settleWaiting(operation) }) { return }
        operation.write(.cancelAcknowledged)
        reporter.hurry(operation)
    }

    /// Handles a forced cancel, which has ended an operation in Redis and made its fence invalid. The slot becomes free
    /// at once, even if the body still runs.
    private func fence(_ request: FencedCancel, _ id: OperationID, _ index: Int) {
        let (found, hasStopped) = queue.withLock { $0.fence(request, index) }
        let name = queue.withLock { $0.members[index].share.name }
        if hasStopped {
            reporter.send(Report(fence: request.fence, id: id, content: .cancelStopped), ofForced: name)
        }
        guard let operation = found else { return }
        logger.warning(
            "fenced: a forced cancel has ended the operation; nothing more of it is stored",
            metadata: operation.metadata([
                "reason": "\(request.cancellation.reason)", "by": "\(request.cancellation.by ?? "")",
            ])
        )
        guard !hasStopped else { return change { _, _ in } }
        reporter.send(Report(fence: request.fence, id: id, content: .cancelAcknowledged), ofForced: name)
        operation.force(request.cancellation)
        let settlement = Settlement.failed(.cancelled, error: [])
        guard let (_, run) = operation.giveUp(settlement) else {
            if !operation.hasSlot { fencedBodyReturned(operation) }
            return
        }
        counters.stuck.wrappingAdd(1, ordering: .relaxed)
        counters.count(settlement)
        statistics.ended(operation.queue, run, settlement)
        let startedAt = run?.startedAt ?? .now
        _ = end(operation, settlement, reportsAreBusy: false, startedAt: startedAt, taskMayRunUntil: nil)
    }

    /// Notes that a body has returned. If a forced cancel has ended its operation, reports that the body has stopped.
    ///
    /// - Returns: true if the operation was no longer held.
    @discardableResult
    func fencedBodyReturned(_ operation: HeldOperation) -> Bool {
        guard queue.withLock({ $0.members[operation.queue].lease.fencedBodyReturned(operation) }) else { return false }
        reportStop(operation)
        return true
    }

    /// Reports that the body of an operation that is no longer held has stopped.
    private func reportStop(_ operation: HeldOperation) {
        let report = Report(fence: operation.fence, id: operation.id, content: .cancelStopped)
        reporter.send(report, ofForced: operation.queueName)
    }

    /// Cancels every operation that was claimed up to a fence.
    func cancelThrough(_ fence: Int64, _ request: OperationCancellation?, _ index: Int) {
        guard fence > 0, let request else { return }
        let fences = queue.withLock { $0.members[index].lease.held.keys.filter { $0 <= fence } }
        for fence in fences { cancel(FencedCancel(fence: fence, request), index) }
    }

    /// Stops an operation that another worker owns now.
    func lose(_ operation: HeldOperation) {
        operation.lose(observers, logger)
    }

    // MARK: Running

    /// An operation, and the start of its time on an executor task.
    struct Turn: Sendable {
        let operation: HeldOperation
        /// When the previous operation ended. The time between the two, such as a wait for the lock, counts as part of
        /// this operation.
        let startedAt: Instant
    }

    /// Starts executor tasks, always with the priority of the loops. The system counts threads per priority: if bodies
    /// hold all of them, the loops must not claim.
    ///
    /// The tasks are detached, because a body must not see task-local values of the service that runs the worker: with
    /// its shutdown, a wait in a body would end.
    private func startExecutorTasks(_ count: Int) {
        for _ in 0..<count {
            let executorTask = ExecutorTask()
            let executor = Executor(core: self)
            executorTask.attach(Task.detached(priority: .medium) { await executor.run(in: executorTask) })
        }
    }

    /// Returns the first operation for a new executor task.
    ///
    /// - Returns: nil if other executor tasks have taken all operations.
    func firstTurn() -> Turn? {
        let (operation, executorTasks) = queue.withLock { ($0.line.popForNewTask(), $0.line.callTasks()) }
        startExecutorTasks(executorTasks)
        return operation.map { Turn(operation: $0, startedAt: .now) }
    }

    /// Handles the end of an operation.
    ///
    /// - Parameter taskMayRunUntil: until when its executor task may take another operation; nil = the executor task is
    ///   still in the body.
    /// - Returns: the next operation for the executor task; nil = the executor task ends.
    func end(
        _ operation: HeldOperation,
        _ settlement: Settlement,
        reportsAreBusy: Bool,
        startedAt: Instant,
        taskMayRunUntil: Instant?
    ) -> Turn? {
        let now = Instant.now
        let (next, effects, isSpent, wasFenced) = queue.withLock { queue -> (HeldOperation?, Effects, Bool, Bool) in
            let wasFenced = queue.end(operation, reportsAreBusy ? nil : settlement, ranFor: now - startedAt, now)
            let isSpent = queue.age(by: settlement)
            let claiming = queue.fill(now)
            var effects = Effects()
            // Ends and claims may wait for the call in flight: its answer triggers the next step.
            if queue.hasCall(operation.queue, now) { effects.own = queue.members[operation.queue].signal }
            for index in claiming where index != operation.queue && queue.hasCall(index, now) {
                effects.wakes.append(queue.members[index].signal)
            }
            effects.calm = queue.phase != .running
            let next = taskMayRunUntil.flatMap { queue.line.popForTask(mayGoOn: now < $0) }
            effects.executorTasks = queue.line.callTasks()
            return (next, effects, isSpent, wasFenced)
        }
        if wasFenced { reportStop(operation) }
        if isSpent, let limit = configuration.maxOperations {
            recycle("operations that ended here", ["ended": "\(limit)", "limit": "\(limit)"])
        }
        if reportsAreBusy {
            reporter.finish(operation) { [self] in settle(operation, settlement) }
        }
        act(effects)
        return next.map { Turn(operation: $0, startedAt: now) }
    }

    /// Notes that a body that was given up on has ended, and its executor task with it.
    func taskEnds() { queue.withLock { $0.line.taskEnds() } }

    /// Settles an ended operation after its reports have arrived.
    private func settle(_ operation: HeldOperation, _ settlement: Settlement) {
        change { queue, now in queue.endReported(operation, settlement, now) }
    }

    private func signal(_ index: Int) -> Signal { queue.withLock { $0.members[index].signal } }
}
