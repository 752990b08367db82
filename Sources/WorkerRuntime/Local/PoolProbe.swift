import Operations
import Synchronization

/// Whether tasks get a thread. Bodies that never yield may hold all of them: then nothing is claimed, and no end is sent, while
/// the heartbeat goes on.
final class PoolProbe: Sendable {
    typealias Instant = ContinuousClock.Instant

    private let askedAt = Mutex<Instant?>(nil)

    /// For how long a task has been waiting for a thread; asks anew if the last one got its thread.
    func blockedFor() -> Duration {
        let now = Instant.now
        let (since, isNew) = askedAt.withLock { askedAt -> (Instant, Bool) in
            if let askedAt { return (askedAt, false) }
            askedAt = now
            return (now, true)
        }
        // As bodies run: threads are counted for each priority.
        if isNew { Task.detached(priority: .medium) { self.askedAt.withLock { $0 = nil } } }
        return now - since
    }
}
