import Foundation
import Synchronization

/// The clock of Redis: this machine's clock plus the measured difference. Due times follow the clock of Redis, so a
/// wrong clock of this machine must not matter.
package final class ServerClock: Sendable {
    private let ahead = Mutex<Int64>(0)

    package init() {}

    /// Stores the time that Redis has just returned, in milliseconds since 1970.
    package func set(_ time: Int64) { ahead.withLock { $0 = time - Self.localNow } }

    package var now: Int64 { Self.localNow + ahead.withLock { $0 } }

    /// Milliseconds since 1970 by this machine's clock. In debug builds, `SLUICE_CLOCK_AHEAD` adds a number of
    /// milliseconds for tests.
    private static var localNow: Int64 {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        #if DEBUG
            return now + (ProcessInfo.processInfo.environment["SLUICE_CLOCK_AHEAD"].flatMap { Int64($0) } ?? 0)
        #else
            return now
        #endif
    }
}
