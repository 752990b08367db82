import Operations
import Synchronization

/// Measures whether tasks get a thread. Bodies that never yield may hold all threads: then nothing is claimed and no
/// end is sent, while the heartbeat continues.
final class PoolProbe: Sendable {
    typealias Instant = ContinuousClock.Instant

    private let askedAt = Mutex<Instant?>(nil)

    /// Returns how long a task has been waiting for a thread. Begins a new measurement if the last task got its thread.
    func blockedFor() -> Duration {
        let now = Instant.now
        let (since, isNew) = askedAt.withLock { askedAt -> (Instant, Bool) in
            if let askedAt { return (askedAt, false) }
            askedAt = now
            return (now, true)
        }
        // The priority of bodies, because the system counts threads per priority.
        if isNew { Task.detached(priority: .medium) { self.askedAt.withLock { $0 = nil } } }
        return now - since
    }
}
