import Operations
import Synchronization

/// Names of claimed operations that are not registered here. A queue may be full of such operations, and each comes
/// again after a while. One log line per name and minute is therefore enough.
final class UnhandledNameLog: Sendable {
    typealias Instant = ContinuousClock.Instant

    static let pause: Duration = .seconds(60)
    /// The maximum number of names at a time. Any client may invent names: further names, and those that no operation
    /// can have, count as one.
    static let most = 100

    /// A log line to write: the number of operations since the last line, for one name or for all others.
    struct Notice: Equatable {
        var name: String?
        var count: Int
    }

    private struct Entry {
        var saidAt: Instant
        var unsaid = 0

        /// - Returns: the number of operations without a log line, this one included; nil = too early for a line.
        static func count(_ entry: inout Entry?, _ now: Instant) -> Int? {
            let unsaid = (entry?.unsaid ?? 0) + 1
            if let saidAt = entry?.saidAt, now - saidAt < UnhandledNameLog.pause {
                entry?.unsaid = unsaid
                return nil
            }
            entry = Entry(saidAt: now)
            return unsaid
        }
    }

    private let state = Mutex((named: [String: Entry](), others: Entry?.none))

    /// Counts an operation with an unhandled name.
    ///
    /// - Returns: the log line to write; nil = none now.
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
