import Synchronization

/// Counts open streams, so that they stay below a limit.
final class StreamCount: Sendable {
    private let limit: Int
    private let open = Mutex(0)

    init(limit: Int) { self.limit = limit }

    /// - Returns: false if too many streams are open.
    func begin() -> Bool {
        open.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    func end() { open.withLock { $0 -= 1 } }
}
