/// Counts of durations in fixed ranges of time, each √2 times as long as the previous one, and their sum.
///
/// A percentile lies in the range that holds it, so it is wrong by a factor of √2 at most. The mean is exact.
package struct DurationHistogram: Sendable, Equatable {
    /// The number of ranges. The first is below 1 ms; the last is 2²⁸ ms (3.1 days) and more.
    package static let bucketCount = 58
    /// The number of durations in each range; empty = no durations.
    package private(set) var counts: [Int64]
    /// The sum of all durations, in microseconds.
    package var microseconds: Int64

    /// Makes a histogram without durations.
    package init() { (counts, microseconds) = ([], 0) }

    /// - Parameter counts: the number of durations by range; ranges beyond the last are ignored, missing ones are 0.
    package init(counts: some Sequence<Int64>, microseconds: Int64) {
        let counts = Array(counts.prefix(Self.bucketCount))
        let isEmpty = counts.allSatisfy { $0 == 0 }
        self.counts = isEmpty ? [] : counts + [Int64](repeating: 0, count: Self.bucketCount - counts.count)
        self.microseconds = microseconds
    }

    /// Counts one duration. A negative one counts as zero.
    package mutating func add(microseconds duration: Int64) {
        if counts.isEmpty { counts = [Int64](repeating: 0, count: Self.bucketCount) }
        let duration = max(0, duration)
        counts[Self.bucket(ofMicroseconds: duration)] += 1
        microseconds &+= duration
    }

    package mutating func add(_ other: DurationHistogram) {
        microseconds &+= other.microseconds
        guard !other.counts.isEmpty else { return }
        if counts.isEmpty { counts = [Int64](repeating: 0, count: Self.bucketCount) }
        for index in counts.indices { counts[index] &+= other.counts[index] }
    }

    /// The number of durations.
    package var count: Int64 { counts.reduce(0, &+) }

    /// The mean in milliseconds; nil = no durations.
    package var meanMilliseconds: Double? {
        let count = count
        return count > 0 ? Double(microseconds) / 1000 / Double(count) : nil
    }

    /// Returns the duration in milliseconds that this part of all durations does not exceed, interpolated within its
    /// range.
    ///
    /// - Parameter part: 0 to 1; 0.5 = the median.
    /// - Returns: nil = no durations. In the last range, its lower bound.
    package func percentile(_ part: Double) -> Double? {
        let count = count
        guard count > 0 else { return nil }
        let rank = max(1, min(Double(count), (part * Double(count)).rounded(.up)))
        var before: Int64 = 0
        for (index, inRange) in counts.enumerated() where inRange > 0 {
            if Double(before + inRange) >= rank {
                return Self.value(in: index, at: (rank - Double(before) - 0.5) / Double(inRange))
            }
            before += inRange
        }
        return nil
    }

    /// Returns the range of a duration.
    package static func bucket(ofMicroseconds duration: Int64) -> Int {
        guard duration >= 1000 else { return 0 }
        let milliseconds = Double(duration) / 1000
        // A range is half an octave, so it is one octave of the square.
        return min(bucketCount - 1, Int((milliseconds * milliseconds).exponent) + 1)
    }

    /// Returns the beginning of a range, in milliseconds.
    package static func lowerBound(of bucket: Int) -> Double {
        bucket == 0 ? 0 : (bucket % 2 == 1 ? 1 : 2.0.squareRoot()) * Double(1 << ((bucket - 1) / 2))
    }

    private static func value(in bucket: Int, at part: Double) -> Double {
        let lower = lowerBound(of: bucket)
        guard bucket < bucketCount - 1 else { return lower }
        return lower + (lowerBound(of: bucket + 1) - lower) * part
    }
}
