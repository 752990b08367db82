import Foundation
import Operations

/// A server clock that only moves when a test says so.
public final class ManualClock: Sendable {
    private let milliseconds: Guarded<Int64>

    /// Makes a clock that is at rest.
    ///
    /// - Parameter milliseconds: the first instant, in milliseconds since 1970.
    public init(milliseconds: Int64 = 1_700_000_000_000) {
        self.milliseconds = Guarded(milliseconds)
    }

    /// Milliseconds since 1970.
    public var now: Int64 { milliseconds.withLock { $0 } }

    /// Moves the clock.
    ///
    /// - Parameter duration: rounded to milliseconds; a negative one moves the clock back.
    public func advance(by duration: Duration) {
        milliseconds.withLock { $0 += duration.wholeMilliseconds }
    }
}

/// Where a model takes the server's time from.
package enum ServerTime: Sendable {
    /// The machine's clock.
    case real
    case manual(ManualClock)

    package var milliseconds: Int64 {
        switch self {
        case .real: Int64(Date().timeIntervalSince1970 * 1000)
        case .manual(let clock): clock.now
        }
    }
}
