import Logging
import Operations
import Synchronization

/// Somebody asked the worker to stop; asking again can only make it faster.
final class StopRequest: Sendable {
    enum Kind: Int, Comparable, Sendable {
        case none, drain, abandon
        static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    private struct State {
        var kind = Kind.none
        var abandonedAt: ContinuousClock.Instant?
        var isReplaced = false
        var isByOperator = false
    }

    private let state = Mutex(State())
    /// Raised with every request.
    let signal = Signal()

    var current: Kind { state.withLock { $0.kind } }
    /// When everything was asked to be given back at once.
    var abandonedAt: ContinuousClock.Instant? { state.withLock { $0.abandonedAt } }

    func request(_ wanted: Kind) {
        state.withLock { state in
            state.kind = max(state.kind, wanted)
            if wanted == .abandon { state.abandonedAt = state.abandonedAt ?? .now }
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

    /// Drains this worker for good, as an operator has asked.
    func stopByOperator() {
        // Each queue of the worker says so.
        state.withLock { if $0.kind == .none { $0.isByOperator = true } }
        request(.drain)
    }

    var isByOperator: Bool { state.withLock { $0.isByOperator } }

    var isReplaced: Bool { state.withLock { $0.isReplaced } }

    /// Waits for the first request.
    func wait() async {
        while current == .none, !Task.isCancelled { await signal.wait() }
    }
}

/// How a worker stops.
///
/// 1. Nothing is claimed or started any more; what has not started goes back to the front of its lane. A claim that waits at a wake-up token is
///    called back, and what it brings goes back too.
/// 2. What runs may end, until the drain time-out.
/// 3. Then bodies are cancelled, and go back untried: neither attempt nor delivery changes.
/// 4. Those that do not listen are given back while they run: their later writes are refused.
/// 5. The outbox is sent, the leases are given up. What could not be sent is logged; a sweeper will find it.
struct Drain: Sendable {
    private typealias Instant = ContinuousClock.Instant

    /// How long each step before and after the bodies may take, and how long the outbox is sent. Redis may be slow; where it is away, the worker
    /// ends all the same.
    private static let step: Duration = .seconds(2)
    private static let flush: Duration = .seconds(3)
    /// With `abandon`, everything together stays below two seconds: bodies may end until the first instant after the request,
    /// the outbox is sent until the second; then there are three steps that take this long at most.
    private static let abandonedBodies: Duration = .milliseconds(600)
    private static let abandonedFlush: Duration = .milliseconds(1000)
    private static let abandonedStep: Duration = .milliseconds(200)
    let core: WorkerCore
    let stopping: StopRequest

    /// Stops everything that runs, and sends what there is to send.
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
        await wait(until: .now + core.configuration.drainTimeout, orAbandoned: true) { core.holdsNothing }
        for operation in running { operation.stop(.giveBack) }
        await wait(until: .now + core.configuration.cancelGrace, orAbandoned: true) { running.isEmpty }
        if let at = stopping.abandonedAt { await wait(until: at + Self.abandonedBodies) { running.isEmpty } }
        returnRunning()
        await wait(until: .now + Self.flush, abandoned: Self.abandonedFlush) { core.holdsNothing }
        core.change { queue, _ in queue.phase = .stopped }
        logRest()
    }

    /// Answers that are still to come may bring operations. Redis may be away, so this is short.
    private func untilNothingMoreComes() async {
        await wait(until: .now + Self.step, abandoned: Self.abandonedStep) {
            !core.queue.withLock { $0.mayBeGivenMore }
        }
    }

    /// Ends the loops and the heartbeat, and then gives up the leases of queues in which nothing is left: a beat still under way
    /// would bring them back. A call that hangs is left behind.
    func finish(_ loops: Task<Void, Never>, _ heartbeat: Heartbeat) async {
        loops.cancel()
        await withinStep { await loops.value }
        guard await withinStep({ await heartbeat.stop() }) else {
            return core.logger.warning("the heartbeat did not stop in time: the leases expire by themselves")
        }
        let free = core.queue.withLock { queue in
            queue.members.enumerated().filter(\.element.lease.held.isEmpty).map { ($0.offset, $0.element.share.name) }
        }
        let figures = Dictionary(uniqueKeysWithValues: free.map { ($1, core.figures.takeAll($0)) })
        await withinStep(forEach: free.map(\.1)) { name in
            try? await core.broker.retire(worker: core.id, figures: figures[name] ?? [], queue: name)
        }
    }

    /// There may be work that this worker was called for and will not do: somebody else should look.
    private func passOn(_ names: [String]) async {
        await withinStep(forEach: names) { try? await core.broker.wake(queue: $0) }
    }

    /// Does something for each queue, for all of them at once: there may be a thousand.
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
            core.logger.warning("given back while it still runs: it did not listen", metadata: operation.metadata())
        }
        core.change { queue, _ in
            for operation in deaf { queue.settle(operation, .returned(.front)) }
        }
    }

    private var running: [HeldOperation] {
        core.queue.withLock { $0.members.flatMap { Array($0.lease.held.values) } }.filter {
            !$0.hasEnded && !$0.isSettled
        }
    }

    /// Waits until the condition holds, the deadline has passed, or everything is to be given back now.
    private func wait(until deadline: Instant, orAbandoned: Bool = false, _ condition: () -> Bool) async {
        let requests = Task { [core, stopping] in
            while !Task.isCancelled {
                await stopping.signal.wait()
                core.calm.raise()
            }
        }
        while Instant.now < deadline, !condition(), !(orAbandoned && stopping.current == .abandon) {
            await core.calm.wait(until: deadline)
        }
        requests.cancel()
        await requests.value
    }

    /// Waits until the condition holds or the deadline has passed; after an abandon, or when one comes, no longer than so long after it.
    private func wait(until deadline: Instant, abandoned: Duration, _ condition: () -> Bool) async {
        if stopping.current != .abandon { await wait(until: deadline, orAbandoned: true, condition) }
        if let at = stopping.abandonedAt { await wait(until: at + abandoned, condition) }
    }

    private func logRest() {
        for operation in core.queue.withLock({ $0.members.flatMap { Array($0.lease.held.values) } }) {
            core.logger.warning(
                "its end could not be stored before the worker stopped; another worker will run it",
                metadata: operation.metadata()
            )
        }
    }

    /// Waits for the body's end, but no longer than a step, which is shorter after an abandon.
    ///
    /// - Returns: whether it has ended.
    @discardableResult
    private func withinStep(_ body: @escaping @Sendable () async -> Void) async -> Bool {
        let hasEnded = Atomic<Bool>(false)
        let task = Task {
            await body()
            hasEnded.store(true, ordering: .releasing)
            core.calm.raise()
        }
        if stopping.current != .abandon {
            await wait(until: .now + Self.step, orAbandoned: true) { hasEnded.load(ordering: .acquiring) }
        }
        if stopping.current == .abandon {
            await wait(until: .now + Self.abandonedStep) { hasEnded.load(ordering: .acquiring) }
        }
        task.cancel()
        return hasEnded.load(ordering: .acquiring)
    }
}

extension WorkerCore {
    fileprivate var holdsNothing: Bool { queue.withLock { $0.holdsNothing } }
}
