import Operations
import Synchronization

/// Whether a worker does its work, for those who watch it from outside.
public struct WorkerHealth: Sendable, Equatable {
    /// Operations that are ready in its queues would be claimed.
    public var isReady: Bool
    /// Why, in a few words.
    public var reason: String

    package init(isReady: Bool, reason: String) {
        self.isReady = isReady
        self.reason = reason
    }
}

/// When the loops of a worker last turned. A process that lives, and whose connections look well, may claim nothing all the same:
/// so what counts is what Redis has answered.
final class Liveness: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Older signs of life do not count.
    static let patience: Duration = .seconds(10)
    /// A heartbeat is asked for when the last answer is older than this: one in time for a long lease may be too late here.
    static let freshness: Duration = .seconds(4)

    struct State: Sendable {
        var claimedAt: Instant?
        var answeredAt: Instant?
        /// The worker is blocked on the wake-up tokens of its queues.
        var isListening = false
    }

    private let state = Mutex(State())

    var current: State { state.withLock { $0 } }

    /// A claim was answered, also with nothing.
    func claimed() { state.withLock { $0.claimedAt = .now } }

    /// Redis has answered a heartbeat, or named its queues.
    func answered() { state.withLock { $0.answeredAt = .now } }

    func listens(_ isListening: Bool) { state.withLock { $0.isListening = isListening } }
}

extension Liveness.State {
    /// The verdict at an instant.
    ///
    /// - Parameter blocked: how long tasks have been waiting for a thread.
    func health(of queue: LocalQueue, at now: Liveness.Instant, blocked: Duration = .zero) -> WorkerHealth {
        func isOld(_ instant: Liveness.Instant) -> Bool { now - instant > Liveness.patience }
        if queue.phase != .running, queue.phase != .quiet { return WorkerHealth(isReady: false, reason: "draining") }
        guard let answeredAt else { return WorkerHealth(isReady: false, reason: "Redis has not answered yet") }
        if isOld(answeredAt) {
            return WorkerHealth(isReady: false, reason: "Redis has not answered for \(seconds(since: answeredAt, now))")
        }
        if blocked > Liveness.patience {
            let reason = "operations that never yield have held every thread for \(blocked.components.seconds) s"
            return WorkerHealth(isReady: false, reason: reason)
        }
        if queue.phase == .quiet { return WorkerHealth(isReady: true, reason: "quiet, as an operator has set it") }
        if queue.members.isEmpty { return WorkerHealth(isReady: true, reason: "there is no queue yet") }
        if isListening { return WorkerHealth(isReady: true, reason: "waiting for operations") }
        if let claimedAt, !isOld(claimedAt) { return WorkerHealth(isReady: true, reason: "claiming operations") }
        if queue.slots.running >= queue.slots.count {
            return WorkerHealth(isReady: true, reason: "all \(queue.slots.count) slots are busy")
        }
        guard let claimedAt else { return WorkerHealth(isReady: false, reason: "no claim was answered yet") }
        return WorkerHealth(isReady: false, reason: "no claim was answered for \(seconds(since: claimedAt, now))")
    }

    private func seconds(since instant: Liveness.Instant, _ now: Liveness.Instant) -> String {
        "\((now - instant).components.seconds) s"
    }
}

extension WorkerService {
    /// Whether it is ready now. Ask from time to time: that keeps the answer of Redis, on which it rests, fresh.
    package func health() -> WorkerHealth {
        let (state, now) = (core.liveness.current, ContinuousClock.now)
        if state.answeredAt.map({ now - $0 > Liveness.freshness }) ?? true { core.beatNow.request() }
        let blocked = core.pool.blockedFor()
        return core.queue.withLock { state.health(of: $0, at: now, blocked: blocked) }
    }
}
