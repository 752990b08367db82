import Synchronization

/// Times that are evenly apart, for operations that run again together. A retry of many at once would repeat the load
/// under which they failed.
package final class Spread: Sendable {
    private let milliseconds: Int64
    private let count: Int64
    private let next = Mutex<Int64>(0)

    /// Spreads operations over a time.
    ///
    /// - Parameters:
    ///   - duration: the time from the first operation to the end of the last one's share.
    ///   - count: the expected number of operations. Further ones begin at the start again.
    package init(_ duration: Duration, count: Int) {
        milliseconds = max(0, duration.wholeMilliseconds)
        self.count = Int64(max(1, count))
    }

    /// The delays of the next operations, in milliseconds from now.
    package func delays(_ number: Int) -> [Int64] {
        next.withLock { next in
            defer { next += Int64(number) }
            return (next..<next + Int64(number)).map { index in
                let (high, low) = milliseconds.multipliedFullWidth(by: index % count)
                return count.dividingFullWidth((high, low)).quotient
            }
        }
    }
}
