import Operations
import Synchronization

/// Names of operations that were handed out here and are not registered. A queue may be full of them, and each comes again after a
/// while: a line a minute tells as much as one for every operation.
final class UnknownNames: Sendable {
    typealias Instant = ContinuousClock.Instant

    static let pause: Duration = .seconds(60)
    /// Anybody may make up names: more than these at a time, and those that no operation can have, are counted as one.
    static let most = 100

    /// What is to be said: how many operations there were since the last time, of a name or of all others.
    struct Notice: Equatable {
        var name: String?
        var count: Int
    }

    private struct Entry {
        var saidAt: Instant
        var unsaid = 0

        /// - Returns: how many have not been said, with this one; nil = it is too early to say so.
        static func count(_ entry: inout Entry?, _ now: Instant) -> Int? {
            let unsaid = (entry?.unsaid ?? 0) + 1
            if let saidAt = entry?.saidAt, now - saidAt < UnknownNames.pause {
                entry?.unsaid = unsaid
                return nil
            }
            entry = Entry(saidAt: now)
            return unsaid
        }
    }

    private let state = Mutex((named: [String: Entry](), others: Entry?.none))

    /// Takes note of an operation.
    ///
    /// - Returns: what to say of it; nil = nothing now.
    func note(_ name: String, _ now: Instant) -> Notice? {
        state.withLock { state in
            guard NameRule.allows(name) else { return Self.countOther(&state.others, now) }
            if state.named[name] == nil, state.named.count >= Self.most {
                state.named = state.named.filter { now - $0.value.saidAt < Self.pause }
                if state.named.count >= Self.most { return Self.countOther(&state.others, now) }
            }
            return Entry.count(&state.named[name], now).map { Notice(name: name, count: $0) }
        }
    }

    private static func countOther(_ others: inout Entry?, _ now: Instant) -> Notice? {
        Entry.count(&others, now).map { Notice(name: nil, count: $0) }
    }
}
