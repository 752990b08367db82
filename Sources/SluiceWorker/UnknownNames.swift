import Operations
import Synchronization

/// Names of operations that were handed out here and are not registered. A queue may be full of them, and each comes again after a
/// while: one line a minute tells as much as one for every operation.
final class UnknownNames: Sendable {
    typealias Instant = ContinuousClock.Instant

    private static let pause: Duration = .seconds(60)
    /// Anybody may make up names: more than these count as one.
    static let most = 100
    private static let others = ""

    private struct Entry {
        var saidAt: Instant
        var unsaid = 0
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// Takes note of an operation.
    ///
    /// - Returns: how many there have been of this name since it was last said, with this one; nil = say nothing now.
    func note(_ name: String, _ now: Instant) -> Int? {
        entries.withLock { entries in
            let key = entries[name] == nil && entries.count >= Self.most ? Self.others : name
            let unsaid = (entries[key]?.unsaid ?? 0) + 1
            guard entries[key].map({ now - $0.saidAt >= Self.pause }) ?? true else {
                entries[key]?.unsaid = unsaid
                return nil
            }
            entries[key] = Entry(saidAt: now)
            return unsaid
        }
    }
}
