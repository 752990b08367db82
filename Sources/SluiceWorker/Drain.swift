import Logging
import Operations
import Synchronization

/// Somebody asked the worker to stop; asking again can only make it faster.
final class StopRequest: Sendable {
    enum Kind: Int, Comparable, Sendable {
        case none, drain, abandon
        static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    private let kind = Mutex(Kind.none)
    /// Raised with every request.
    let signal = Signal()

    var current: Kind { kind.withLock { $0 } }

    func request(_ wanted: Kind) {
        kind.withLock { $0 = max($0, wanted) }
        signal.raise()
    }

    /// Waits for the first request.
    func wait() async {
        while current == .none, !Task.isCancelled { await signal.wait() }
    }
}

/// How a worker stops.
///
/// 1. Nothing is claimed or started any more; what has not started goes back to the front of its lane.
/// 2. What runs may end, until the drain time-out.
/// 3. Then bodies are cancelled, and go back untried: neither attempt nor delivery changes.
/// 4. Those that do not listen are given back while they run: their later writes are refused.
/// 5. The outbox is sent, the leases are given up. What could not be sent is logged; a sweeper will find it.
struct Drain: Sendable {
    /// With `abandon`, everything together stays below two seconds.
    private static let bodiesWhenAbandoned: Duration = .milliseconds(700)
    private static let flush: Duration = .milliseconds(500)
    let core: WorkerCore
    let stopping: StopRequest

    func run() async {
        let unclaimed = core.change { queue, _ -> [String] in
            queue.phase = .draining
            for index in queue.members.indices { queue.returnWaiting(index) }
            return queue.members.filter(\.hasWork).map(\.share.name)
        }
        core.logger.info("draining", metadata: ["running": "\(core.queue.withLock { $0.busySlots })"])
        await passOn(unclaimed)
        await untilCalm(.now + core.configuration.drainTimeout, unless: .abandon)
        stopBodies()
        let isAbandoned = stopping.current == .abandon
        await untilCalm(
            .now + (isAbandoned ? Self.bodiesWhenAbandoned : core.configuration.cancelGrace),
            unless: .abandon
        )
        if stopping.current == .abandon, !isAbandoned { await untilCalm(.now + Self.bodiesWhenAbandoned) }
        returnRunning()
        await untilCalm(.now + Self.flush)
        core.change { queue, _ in queue.phase = .stopped }
        logRest()
    }

    /// Gives up the leases of queues in which nothing is left. A beat still under way would renew them.
    func retire(after heartbeat: Heartbeat) async {
        await within(Self.flush) { await heartbeat.stop() }
        let names = core.queue.withLock { $0.members.filter(\.held.isEmpty).map(\.share.name) }
        await within(Self.flush) {
            for name in names { try? await core.broker.retire(worker: core.id, queue: name) }
        }
    }

    /// There may be work that this worker was called for and will not do: somebody else should look.
    private func passOn(_ names: [String]) async {
        await within(Self.flush) {
            for name in names { try? await core.broker.ring(queue: name) }
        }
    }

    private func stopBodies() {
        for operation in running { operation.stop(.giveBack) }
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
        core.queue.withLock { $0.members.flatMap { Array($0.held.values) } }.filter { !$0.hasEnded && !$0.isSettled }
    }

    /// Waits until the worker holds nothing, the deadline has passed, or more haste is asked for.
    private func untilCalm(_ deadline: ContinuousClock.Instant, unless haste: StopRequest.Kind? = nil) async {
        let requests = Task { [core, stopping] in
            while !Task.isCancelled {
                await stopping.signal.wait()
                core.calm.raise()
            }
        }
        while ContinuousClock.now < deadline, !core.queue.withLock({ $0.holdsNothing }) {
            if let haste, stopping.current >= haste { break }
            await core.calm.wait(until: deadline)
        }
        requests.cancel()
        await requests.value
    }

    private func logRest() {
        for operation in core.queue.withLock({ $0.members.flatMap { Array($0.held.values) } }) {
            core.logger.warning(
                "its end could not be stored before the worker stopped; another worker will run it",
                metadata: operation.metadata()
            )
        }
    }

    private func within(_ limit: Duration, _ body: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask(operation: body)
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
