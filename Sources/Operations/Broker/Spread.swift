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
    ///   - count: the expected number of operations. Further ones, such as the members of a group, fall between these.
    package init(_ duration: Duration, count: Int) {
        milliseconds = max(0, duration.wholeMilliseconds)
        self.count = Int64(max(1, count))
    }

    /// The delays of the next operations, in milliseconds from now.
    package func delays(_ number: Int) -> [Int64] {
        next.withLock { next in
            defer { next += Int64(number) }
            return (next..<next + Int64(number)).map { $0 < count ? place($0) : placeBetween($0 - count) }
        }
    }

    private func place(_ index: Int64) -> Int64 {
        let (high, low) = milliseconds.multipliedFullWidth(by: index)
        return count.dividingFullWidth((high, low)).quotient
    }

    /// A place for an operation that was not expected. Multiples of the golden ratio, modulo 1, are about evenly apart,
    /// however many there are.
    private func placeBetween(_ index: Int64) -> Int64 {
        let fraction = UInt64(bitPattern: index + 1) &* 0x9E37_79B9_7F4A_7C15
        return Int64(fraction.multipliedFullWidth(by: UInt64(milliseconds)).high)
    }
}
