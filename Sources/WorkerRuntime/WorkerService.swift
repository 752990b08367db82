import Foundation
import Logging
import Operations
import ServiceLifecycle
import Synchronization

/// A worker: claims operations from its queues and runs them, until it is stopped.
///
/// `run()` does everything in one group of loops and one thread. A graceful shutdown (the first SIGTERM) claims no more, gives back
/// what has not started, lets what runs end within the drain time-out, and gives the rest back. `abandon()` (the second
/// one) gives everything back now.
package final class WorkerService: Service {
    let core: WorkerCore
    private let isRunning = Atomic<Bool>(false)
    private var stopping: StopRequest { core.stopping }
    /// Lists the queues of the namespace, for `QueueSelection.all` and for the ends of operations that other queues have to hear of.
    private let discover: (@Sendable () async throws -> [String])?
    /// Says whether anything runs anywhere in the worker's queues, for the end of a burst.
    private let idleProbe: (@Sendable () async throws -> Bool)?

    /// This incarnation of the worker.
    package var id: WorkerID { core.id }

    /// - Parameters:
    ///   - id: of this incarnation: never to be used a second time.
    ///   - broker: where operations come from.
    ///   - registry: what can be run here.
    ///   - configuration: checked when the worker starts.
    ///   - seal: verifies and decrypts operations; nil = there are no keys.
    ///   - logger: the caller's.
    ///   - discover: lists the queues of the namespace; needed for `QueueSelection.all`.
    ///   - idleProbe: true if nothing executes anywhere in the worker's queues; asked before a burst ends.
    ///   - stored: reads what earlier runs have stored; without it operations see only what their own run has.
    ///   - producer: the client with which bodies enqueue; without it they cannot.
    ///   - exitNow: ends the process with a status, where a stuck operation leaves no other way.
    package init(
        id: WorkerID = WorkerID(),
        broker: any WorkerBroker,
        registry: OperationRegistry,
        configuration: WorkerConfiguration = WorkerConfiguration(),
        seal: (any EnvelopeSeal)? = nil,
        logger: Logger,
        discover: (@Sendable () async throws -> [String])? = nil,
        idleProbe: (@Sendable () async throws -> Bool)? = nil,
        stored: StoredReader? = nil,
        producer: (any Sendable)? = nil,
        exitNow: @escaping @Sendable (Int32) -> Void = { _exit($0) }
    ) {
        core = WorkerCore(
            id: id,
            broker: broker,
            registry: registry,
            configuration: configuration,
            seal: seal,
            logger: logger,
            stored: stored,
            producer: producer,
            exitNow: exitNow
        )
        self.discover = discover
        self.idleProbe = idleProbe
    }

    /// Works until it is stopped, its task is cancelled (which abandons), or its burst is over. Bodies run at `TaskPriority.medium`, whatever the
    /// priority of the caller.
    ///
    /// - Throws: `WorkerError` or `OperationsError` if the configuration is wrong, or it was run before. Not for an unreachable
    ///   broker: the worker waits for it.
    package func run() async throws {
        try core.configuration.validate()
        if case .all = core.configuration.queues, discover == nil {
            throw WorkerError(.invalidConfiguration, "a worker for all queues needs a way to list them")
        }
        guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else {
            throw WorkerError(.alreadyRun, "a worker can run only once: make another one")
        }
        // Not a child task: a cancel must not cut off the calls that give operations back.
        // The priority is said because threads are counted for each: bodies have this one, whatever the caller's.
        let work = Task(priority: .medium) { await self.work() }
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await work.value
            } onGracefulShutdown: {
                self.stop()
            }
        } onCancel: {
            self.abandon()
        }
    }

    /// Begins a graceful shutdown; `run()` returns when it is over. May be called from any thread.
    package func stop() { stopping.request(.drain) }

    /// The same for a process that is this worker and nothing else. If bodies that never yield hold every thread when the drain should be
    /// over (its time-out, the cancel grace and two seconds), the process exits with status 75: nothing in it could end it otherwise.
    package func stopProcess() {
        stop()
        core.endIfBlocked()
    }

    /// Gives everything back now; `run()` returns within two seconds, even if bodies do not listen. They go on until the process
    /// exits, and what they write is refused. May be called from any thread.
    package func abandon() { stopping.request(.abandon) }

    /// True once a stuck operation has made the worker stop, under `StuckPolicy.replace`: after `run()` the process should end with
    /// another status than 0, and be started again.
    package var needsReplacement: Bool { stopping.isReplaced }

    /// True if an operator has stopped the worker: it is not to be started again.
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

    /// Everything that a worker does until it is stopped, as one task group.
    private func runLoops(_ heartbeat: Heartbeat) async {
        let core = core
        let queues = AsyncStream<[String]>.makeStream()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await WakeUpLoop(core: core).run() }
            group.addTask { await AlarmLoop(core: core).run() }
            group.addTask { await Sweeper(core: core).run() }
            group.addTask { await Carrier(core: core).run() }
            group.addTask { await ScheduleLoop(core: core).run() }
            if let discover { group.addTask { await RelayLoop(core: core, discover: discover).run() } }
            group.addTask { await core.reporter.run() }
            group.addTask { await self.watchBurst() }
            group.addTask { await self.findQueues { queues.continuation.yield($0) } }
            group.addTask { await self.serve(queues.stream, heartbeat) }
        }
    }

    /// Begins to work on queues as they become known.
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

    /// Finds the queues to serve: once if they are named, from time to time if all are served.
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
                // A claim that waits for the only queue so far knows nothing of the slots of the others.
                core.wakeUp.raise()
                add(new)
            }
            // Without a queue no heartbeat runs, so this look also says that Redis is reachable.
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
            // No wake-up comes when another worker's operation ends: this is asked again, ever less often.
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(1))
        }
    }

    /// What has ended may let others start, here or in other queues: they hear of it, and all queues are asked once more.
    private func deliverEnds() async {
        // An end may be that of what ends others without a run, as the last member of a group does.
        var hasCarried = true
        while hasCarried, !Task.isCancelled {
            hasCarried = false
            for name in core.queueNames {
                while !Task.isCancelled, (try? await core.broker.sweep(queue: name))?.more == true {}
                let carried = await core.broker.carryEnds(of: name)
                hasCarried = hasCarried || carried.count > 0
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
