import Foundation
import Logging
import Operations
import ServiceLifecycle
import Synchronization

/// A worker, which claims operations from its queues and runs them until it is stopped.
///
/// `run()` does everything in one group of loops and two threads, for the heartbeat and for deadlines. A graceful
/// shutdown (the first SIGTERM) stops claims and gives back operations that have not started. Running operations may
/// end within the drain timeout; the rest is given back. `stopNow()` (the second SIGTERM) gives everything back now.
package final class WorkerService: Service {
    let core: WorkerCore
    private let isRunning = Atomic<Bool>(false)
    private var stopping: StopRequest { core.stopping }
    /// Lists the queues of the namespace, for `QueueSelection.all` and for ends that have to be relayed to other
    /// queues.
    private let discover: (@Sendable () async throws -> [String])?
    /// True if nothing runs in the worker's queues, on any worker; asked before a burst ends.
    private let idleProbe: (@Sendable () async throws -> Bool)?

    /// The id of this incarnation of the worker.
    package var id: WorkerID { core.id }

    /// - Parameters:
    ///   - id: the id of this incarnation; never use it a second time.
    ///   - broker: the source of operations.
    ///   - registry: the operations that the worker can run.
    ///   - configuration: checked when the worker starts.
    ///   - seal: verifies and decrypts operations; nil = no keys.
    ///   - middleware: code around each run and each enqueue of a schedule.
    ///   - logger: the caller's logger.
    ///   - discover: lists the queues of the namespace; needed for `QueueSelection.all`.
    ///   - idleProbe: true if nothing executes in the worker's queues, on any worker; asked before a burst ends.
    ///   - stored: reads the data that earlier runs have stored; without it, operations see only the data of their own
    ///     run.
    ///   - producer: the client with which bodies enqueue; without it they cannot enqueue.
    ///   - exitNow: ends the process with a status, if a stuck operation leaves no other way.
    package init(
        id: WorkerID = WorkerID(),
        broker: any WorkerBroker,
        registry: OperationRegistry,
        configuration: WorkerConfiguration = WorkerConfiguration(),
        seal: (any EnvelopeSeal)? = nil,
        middleware: MiddlewareChain = MiddlewareChain(),
        logger: Logger,
        discover: (@Sendable () async throws -> [String])? = nil,
        idleProbe: (@Sendable () async throws -> Bool)? = nil,
        stored: StoredReader? = nil,
        producer: (any BodyClient)? = nil,
        exitNow: @escaping @Sendable (Int32) -> Void = { _exit($0) }
    ) {
        core = WorkerCore(
            id: id,
            broker: broker,
            registry: registry,
            configuration: configuration,
            seal: seal,
            middleware: middleware,
            logger: logger,
            stored: stored,
            producer: producer,
            exitNow: exitNow
        )
        self.discover = discover
        self.idleProbe = idleProbe
    }

    /// Works until the worker is stopped, its task is cancelled (as `stopNow()`), or its burst is over. Bodies run at
    /// `TaskPriority.medium`, whatever the priority of the caller.
    ///
    /// - Throws: `WorkerError` or `OperationsError` if the configuration or a registration is invalid, or the worker
    ///   was run
    ///   before. An unreachable broker is no error: the worker waits for it.
    package func run() async throws {
        try core.configuration.validate()
        try core.registry.validate()
        if case .all = core.configuration.queues, discover == nil {
            throw WorkerError(.invalidConfiguration, "a worker for all queues needs a way to list them")
        }
        guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else {
            throw WorkerError(.alreadyRun, "a worker can run only once: make another one")
        }
        // Not a child task: a cancel must not cut off the calls that give operations back.
        // The priority is explicit because the system counts threads per priority, and bodies run at this one.
        let work = Task(priority: .medium) { await self.work() }
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await work.value
            } onGracefulShutdown: {
                self.stop()
            }
        } onCancel: {
            self.stopNow()
        }
    }

    /// Begins a graceful shutdown; `run()` returns when it is over. Callable from any thread.
    package func stop() { stopping.request(.drain) }

    /// Begins a graceful shutdown of a process that is only this worker. The drain should be over after the drain
    /// timeout, the cancel grace and two seconds. If bodies that never yield still hold every thread then, the process
    /// exits with status 75, because no other code of the process can end it.
    package func stopProcess() {
        stop()
        core.endIfBlocked()
    }

    /// Gives everything back now; `run()` returns within two seconds, even if bodies ignore the cancel. Such bodies run
    /// until the process exits, and Redis refuses their writes. Callable from any thread.
    package func stopNow() { stopping.request(.stopNow) }

    /// True once a stuck operation has stopped the worker under `StuckPolicy.replace`. After `run()` the process should
    /// end with a status other than 0, and be started again.
    package var needsReplacement: Bool { stopping.isReplaced }

    /// True if an operator has stopped the worker; do not start it again.
    package var isStoppedByOperator: Bool { stopping.isByOperator }

    // MARK: Working

    private func work() async {
        core.deadlines.start { [core] operation, step in core.deadlinePassed(operation, step) }
        defer { core.deadlines.stop() }
        let heartbeat = Heartbeat(core)
        let loops = Task(priority: .medium) { await self.runLoops(heartbeat) }
        let drain = Drain(core: core, stopping: stopping)
        await stopping.wait()
        await drain.run()
        await drain.finish(loops, heartbeat)
    }

    /// Runs all loops of a worker until it is stopped, as one task group.
    private func runLoops(_ heartbeat: Heartbeat) async {
        let core = core
        let queues = AsyncStream<[String]>.makeStream()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await WakeUpLoop(core: core).run() }
            group.addTask { await AlarmLoop(core: core).run() }
            group.addTask { await Sweeper(core: core).run() }
            group.addTask { await ScheduleLoop(core: core).run() }
            group.addTask { [discover] in await RelayLoop(core: core, discover: discover).run() }
            group.addTask { await core.reporter.run() }
            group.addTask { await self.watchBurst() }
            group.addTask { await self.findQueues { queues.continuation.yield($0) } }
            group.addTask { await self.serve(queues.stream, heartbeat) }
        }
    }

    /// Starts the loops of queues as they become known.
    private func serve(_ found: AsyncStream<[String]>, _ heartbeat: Heartbeat) async {
        let core = core
        await withTaskGroup(of: Void.self) { group in
            var isBeating = false
            for await names in found {
                for name in names {
                    guard let index = core.index(of: name) else { continue }
                    group.addTask { await QueueLoop(core: core, index: index, name: name).run() }
                }
                group.addTask { await CancelListener(core: core, queues: names).run() }
                if isBeating { core.beatNow.request() } else { heartbeat.start() }
                isBeating = true
            }
        }
    }

    /// The longest time between two looks for new queues.
    private static let discovery: Duration = .seconds(2)

    /// Finds the queues to serve: once if they are named, repeatedly if the worker serves all queues.
    private func findQueues(_ add: @Sendable ([String]) -> Void) async {
        if case .named(let shares) = core.configuration.queues {
            core.queue.withLock { queue in shares.forEach { queue.add($0) } }
            return add(shares.map(\.name))
        }
        var refusal = RefusalNotes(core.logger, "new queues are not found", over: "new queues are found again")
        while !Task.isCancelled {
            let known = Set(core.queueNames)
            var found: [String]?
            do {
                found = try await discover?()
                core.liveness.answered()
                refusal.isOver()
            } catch { refusal.note(error) }
            let new = (found ?? []).filter { !known.contains($0) }
            if !new.isEmpty {
                core.queue.withLock { queue in new.forEach { queue.add(QueueShare($0)) } }
                // A claim that waits for the only queue so far ignores the slots of the new queues.
                core.wakeUp.raise()
                add(new)
            }
            // Without a queue no heartbeat runs, so this lookup also shows that Redis is reachable.
            try? await Task.sleep(for: min(core.configuration.lease, Self.discovery, Liveness.freshness))
        }
    }

    // MARK: Burst

    private func watchBurst() async {
        let burst = core.configuration.burst
        if burst == .none { return }
        var pause = Duration.milliseconds(50)
        var startsBefore: Int?
        while !Task.isCancelled {
            let (isOver, starts) = core.queue.withLock { queue in
                let isOver = !queue.members.isEmpty && queue.members.allSatisfy { $0.isExhausted(burst, .now) }
                return (isOver, queue.share.startCount)
            }
            guard isOver else {
                await core.pause.wait()
                pause = .milliseconds(50)
                continue
            }
            if await nothingRunsElsewhere() {
                if starts == startsBefore { return stop() }
                startsBefore = starts
                await deliverEnds()
                continue
            }
            // No wake-up comes when an operation of another worker ends, so this is checked again, ever less often.
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(1))
        }
    }

    /// Relays ends that may let other operations start, in these queues or others, and looks at all queues once more.
    private func deliverEnds() async {
        // An end can end other operations without a run: the last member of a group ends the group.
        var hasRelayed = true
        while hasRelayed, !Task.isCancelled {
            hasRelayed = false
            for name in core.queueNames {
                while !Task.isCancelled, (try? await core.broker.sweep(queue: name))?.more == true {}
                let relayed = await core.broker.relayEnds(of: name)
                hasRelayed = hasRelayed || relayed.count > 0
            }
        }
        core.change { queue, _ in
            for index in queue.walk() { queue.members[index].supply.wake() }
        }
    }

    private func nothingRunsElsewhere() async -> Bool {
        guard let idleProbe else { return true }
        return (try? await idleProbe()) ?? false
    }
}
