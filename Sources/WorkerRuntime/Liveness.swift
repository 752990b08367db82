import Operations
import Synchronization

/// Whether a worker does its work, as seen from outside.
public struct WorkerHealth: Sendable, Equatable {
    /// True if the worker would claim an operation that is ready in one of its queues.
    public var isReady: Bool
    /// The reason, in a few words.
    public var reason: String

    package init(isReady: Bool, reason: String) {
        self.isReady = isReady
        self.reason = reason
    }
}

/// The times at which the loops of a worker last made progress. Only answers of Redis count: a live process with
/// healthy connections may still claim nothing.
final class Liveness: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The age at which a sign of life no longer counts.
    static let patience: Duration = .seconds(10)
    /// The age of the last answer at which `health()` requests a heartbeat. With a long lease, the next regular
    /// heartbeat may come too late here.
    static let freshness: Duration = .seconds(4)

    struct State: Sendable {
        var claimedAt: Instant?
        var answeredAt: Instant?
        /// True if the worker waits for the wake-up tokens of its queues.
        var isListening = false
    }

    private let state = Mutex(State())

    var current: State { state.withLock { $0 } }

    /// Notes that a claim was answered, even without operations.
    func claimed() { state.withLock { $0.claimedAt = .now } }

    /// Notes that Redis has answered a heartbeat, or listed its queues.
    func answered() { state.withLock { $0.answeredAt = .now } }

    func listens(_ isListening: Bool) { state.withLock { $0.isListening = isListening } }
}

extension Liveness.State {
    /// Returns the health at an instant.
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
    /// Whether the worker is ready now. Ask repeatedly: each call keeps the answer of Redis, on which the health rests,
    /// fresh.
    package func health() -> WorkerHealth {
        let (state, now) = (core.liveness.current, ContinuousClock.now)
        if state.answeredAt.map({ now - $0 > Liveness.freshness }) ?? true { core.beatNow.request() }
        let blocked = core.pool.blockedFor()
        return core.queue.withLock { state.health(of: $0, at: now, blocked: blocked) }
    }
}
