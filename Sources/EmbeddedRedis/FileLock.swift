import Foundation

/// An advisory lock on a file (flock). The system releases it with its last descriptor, so no lock outlives a crash.
final class FileLock {
    let descriptor: CInt

    /// - Returns: nil if another process holds the lock.
    /// - Throws: ``EmbeddedRedisError`` if the file cannot be opened.
    static func take(_ path: String) throws(EmbeddedRedisError) -> FileLock? {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw EmbeddedRedisError(.folder, "cannot open \(path): \(lastSystemError())")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
        return FileLock(descriptor: descriptor)
    }

    private init(descriptor: CInt) { self.descriptor = descriptor }

    /// Releases the lock. A process that inherited the descriptor keeps it.
    func release() { close(descriptor) }
}

/// Short pauses until a condition holds or the time is over. Each pause blocks the thread.
struct Patience {
    private let end: ContinuousClock.Instant
    private var pause: useconds_t = 2_000

    init(_ duration: Duration) { end = .now + duration }

    /// - Returns: false when the time is over.
    mutating func wait() -> Bool {
        guard ContinuousClock.now < end else { return false }
        usleep(pause)
        pause = min(pause * 2, 50_000)
        return true
    }
}
