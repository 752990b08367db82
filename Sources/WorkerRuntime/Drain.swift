import Logging
import Operations
import Synchronization

/// The requests to stop the worker. A further request can only make the stop faster.
final class StopRequest: Sendable {
    enum Kind: Int, Comparable, Sendable {
        case none, drain, stopNow
        static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    private struct State {
        var kind = Kind.none
        var stopNowAt: ContinuousClock.Instant?
        var isReplaced = false
        var isByOperator = false
    }

    private let state = Mutex(State())
    /// Raised with every request.
    let signal = Signal()

    var current: Kind { state.withLock { $0.kind } }
    /// The time of the first request to give everything back at once.
    var stopNowAt: ContinuousClock.Instant? { state.withLock { $0.stopNowAt } }

    func request(_ wanted: Kind) {
        state.withLock { state in
            state.kind = max(state.kind, wanted)
            if wanted == .stopNow { state.stopNowAt = state.stopNowAt ?? .now }
        }
        signal.raise()
    }

    /// Drains this worker so that a new process can replace it. Does nothing if a stop was requested before.
    ///
    /// - Returns: whether this call requested the drain.
    func replace() -> Bool {
        let isFirst = state.withLock { state in
            guard state.kind == .none else { return false }
            state.isReplaced = true
            return true
        }
        if isFirst { request(.drain) }
        return isFirst
    }

    /// Drains this worker for good, at an operator's request.
    func stopByOperator() {
        // Each queue of the worker reports the operator's request; only the first report counts.
        state.withLock { if $0.kind == .none { $0.isByOperator = true } }
        request(.drain)
    }

    var isByOperator: Bool { state.withLock { $0.isByOperator } }

    var isReplaced: Bool { state.withLock { $0.isReplaced } }

    /// Waits for the first request to stop.
    func wait() async {
        while current == .none, !Task.isCancelled { await signal.wait() }
    }
}

/// The longest times of a drain. Redis may be slow, and the worker ends even if Redis is away.
///
/// With `stopNow`, all steps together take less than two seconds. Bodies may end until `stopNowBodies` after the
/// request, and the outbox is sent until `stopNowFlush` after it. Three steps of at most `stopNowStep` each follow.
struct DrainTimes: Sendable {
    /// For each step before and after the bodies.
    var step: Duration = .seconds(2)
    /// For sending the outbox.
    var flush: Duration = .seconds(3)
    var stopNowBodies: Duration = .milliseconds(600)
    var stopNowFlush: Duration = .milliseconds(1000)
    var stopNowStep: Duration = .milliseconds(200)
}

/// Stops a worker.
///
/// 1. Stops claims and starts. Operations that have not started go back to the front of their lanes. A claim that waits
///    for a wake-up token is called back, and operations that it still brings go back as well.
/// 2. Waits for running operations, at most the drain timeout.
/// 3. Cancels bodies that still run, whose operations go back untried: neither attempt nor delivery changes.
/// 4. Gives back operations whose bodies ignore the cancel. Redis refuses the later writes of these bodies.
/// 5. Sends the outbox and gives up the leases. Logs the operations whose ends could not be sent; a sweep recovers
///    them.
struct Drain: Sendable {
    private typealias Instant = ContinuousClock.Instant

    let core: WorkerCore
    let stopping: StopRequest

    private var times: DrainTimes { core.configuration.drainTimes }

    /// Stops everything that runs, and sends the outbox.
    func run() async {
        let unclaimed = core.change { queue, _ -> [String] in
            queue.phase = .draining
            for index in queue.members.indices { queue.returnWaiting(index) }
            return queue.members.filter { $0.supply.state == .ready }.map(\.share.name)
        }
        core.logger.info("draining", metadata: ["running": "\(core.queue.withLock { $0.slots.running })"])
        core.wakeUp.raise()
        await passOn(unclaimed)
        await untilNothingMoreComes()
        await wait(until: .now + core.configuration.drainTimeout, orStopNow: true) { core.holdsNothing }
        for operation in running { operation.stop(.giveBack) }
        await wait(until: .now + core.configuration.cancelGrace, orStopNow: true) { running.isEmpty }
        if let at = stopping.stopNowAt { await wait(until: at + times.stopNowBodies) { running.isEmpty } }
        returnRunning()
        await wait(until: .now + times.flush, ifNow: times.stopNowFlush) { core.holdsNothing }
        core.change { queue, _ in queue.phase = .stopped }
        logRest()
    }

    /// Waits for answers that may still bring operations. The wait is short, because Redis may be away.
    private func untilNothingMoreComes() async {
        await wait(until: .now + times.step, ifNow: times.stopNowStep) {
            !core.queue.withLock { $0.mayBeGivenMore }
        }
    }

    /// Ends the loops and the heartbeat, and then gives up the leases of queues in which the worker holds nothing. The
    /// order matters: a heartbeat in flight would renew the leases. The drain does not wait for a call that hangs.
    func finish(_ loops: Task<Void, Never>, _ heartbeat: Heartbeat) async {
        loops.cancel()
        await withinStep { await loops.value }
        guard await withinStep({ await heartbeat.stop() }) else {
            return core.logger.warning("the heartbeat did not stop in time: the leases expire by themselves")
        }
        let free = core.queue.withLock { queue in
            queue.members.enumerated().filter(\.element.lease.held.isEmpty).map { ($0.offset, $0.element.share.name) }
        }
        let statistics = Dictionary(uniqueKeysWithValues: free.map { ($1, core.statistics.takeAll($0)) })
        await withinStep(forEach: free.map(\.1)) { name in
            try? await core.broker.retire(worker: core.id, statistics: statistics[name] ?? [], queue: name)
        }
    }

    /// Wakes other workers in queues that may have work, because this worker was woken for it and stops.
    private func passOn(_ names: [String]) async {
        await withinStep(forEach: names) { try? await core.broker.wake(queue: $0) }
    }

    /// Makes a call for each queue, for all of them at once: a worker may have a thousand queues.
    private func withinStep(forEach names: [String], _ body: @escaping @Sendable (String) async -> Void) async {
        await withinStep {
            await withTaskGroup(of: Void.self) { group in
                for name in names { group.addTask { await body(name) } }
            }
        }
    }

    private func returnRunning() {
        let deaf = running
        for operation in deaf {
            core.logger.warning(
                "given back while its body still runs: the body ignored the request to end",
                metadata: operation.metadata()
            )
        }
        // A body that returns later must not report another end.
        for operation in deaf { operation.takeEndHook()?(.returned(.front)) }
        core.change { queue, _ in
            for operation in deaf { queue.settle(operation, .returned(.front)) }
        }
    }

    private var running: [HeldOperation] {
        core.queue.withLock { $0.members.flatMap { Array($0.lease.held.values) } }.filter {
            !$0.hasEnded && !$0.isSettled
        }
    }

    /// Waits until the condition holds, the deadline has passed, or everything has to be given back now.
    private func wait(until deadline: Instant, orStopNow: Bool = false, _ condition: () -> Bool) async {
        let requests = Task { [core, stopping] in
            while !Task.isCancelled {
                await stopping.signal.wait()
                core.calm.raise()
            }
        }
        while Instant.now < deadline, !condition(), !(orStopNow && stopping.current == .stopNow) {
            await core.calm.wait(until: deadline)
        }
        requests.cancel()
        await requests.value
    }

    /// Waits until the condition holds or the deadline has passed. After a `stopNow`, also one that comes meanwhile,
    /// the wait ends this long after the request.
    private func wait(until deadline: Instant, ifNow: Duration, _ condition: () -> Bool) async {
        if stopping.current != .stopNow { await wait(until: deadline, orStopNow: true, condition) }
        if let at = stopping.stopNowAt { await wait(until: at + ifNow, condition) }
    }

    private func logRest() {
        for operation in core.queue.withLock({ $0.members.flatMap { Array($0.lease.held.values) } }) {
            core.logger.warning(
                "the worker stopped before Redis stored the end of this operation; another worker will run it again",
                metadata: operation.metadata()
            )
        }
    }

    /// Waits for the end of the body, at most one step; steps are shorter after a `stopNow`.
    ///
    /// - Returns: true if the body has ended.
    @discardableResult
    private func withinStep(_ body: @escaping @Sendable () async -> Void) async -> Bool {
        let hasEnded = Atomic<Bool>(false)
        let task = Task {
            await body()
            hasEnded.store(true, ordering: .releasing)
            core.calm.raise()
        }
        if stopping.current != .stopNow {
            await wait(until: .now + times.step, orStopNow: true) { hasEnded.load(ordering: .acquiring) }
        }
        if stopping.current == .stopNow {
            await wait(until: .now + times.stopNowStep) { hasEnded.load(ordering: .acquiring) }
        }
        task.cancel()
        return hasEnded.load(ordering: .acquiring)
    }
}

extension WorkerCore {
    fileprivate var holdsNothing: Bool { queue.withLock { $0.holdsNothing } }
}
