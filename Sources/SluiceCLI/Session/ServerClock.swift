import Foundation
import Synchronization

/// The clock of Redis: this machine's, and how far that of Redis is ahead of it. A job that is due in five minutes is so by Redis' clock, whatever
/// this machine believes.
package final class ServerClock: Sendable {
    private let ahead = Mutex<Int64>(0)

    package init() {}

    /// Takes what Redis has said right now, in milliseconds since 1970.
    package func set(_ time: Int64) { ahead.withLock { $0 = time - Self.localNow } }

    package var now: Int64 { Self.localNow + ahead.withLock { $0 } }

    /// Milliseconds since 1970 by this machine's clock. In debug builds `SLUICE_CLOCK_AHEAD` sets it ahead by so many milliseconds, for tests.
    private static var localNow: Int64 {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        #if DEBUG
            return now + (ProcessInfo.processInfo.environment["SLUICE_CLOCK_AHEAD"].flatMap { Int64($0) } ?? 0)
        #else
            return now
        #endif
    }
}
