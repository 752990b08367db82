import Foundation
import Operations

/// A server clock that moves only when a test moves it.
public final class ManualClock: Sendable {
    private let milliseconds: Guarded<Int64>

    /// Creates a frozen clock.
    ///
    /// - Parameter milliseconds: the clock's first instant, in milliseconds since 1970.
    public init(milliseconds: Int64 = 1_700_000_000_000) {
        self.milliseconds = Guarded(milliseconds)
    }

    /// The current time, in milliseconds since 1970.
    public var now: Int64 { milliseconds.withLock { $0 } }

    /// Moves the clock.
    ///
    /// - Parameter duration: the distance, rounded up to whole milliseconds; a negative duration moves the clock back.
    public func advance(by duration: Duration) {
        milliseconds.withLock { $0 += duration.wholeMilliseconds }
    }
}

/// The source of a model's server time.
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
