import Synchronization

/// Counts open streams, so that they stay below a limit.
final class StreamCount: Sendable {
    /// The place of one stream. It is free again when the response is gone, also if its head could not be sent.
    final class Place: Sendable {
        private let count: StreamCount

        fileprivate init(_ count: StreamCount) { self.count = count }

        deinit { count.open.withLock { $0 -= 1 } }
    }

    private let limit: Int
    private let open = Mutex(0)

    init(limit: Int) { self.limit = limit }

    /// - Returns: nil if too many streams are open.
    func begin() -> Place? {
        let isFree = open.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
        return isFree ? Place(self) : nil
    }
}
