/// How long things took: numbers by fixed ranges of time, each √2 times as long as the one before, and the sum.
///
/// A percentile lies in the range that holds it, so it is wrong by a factor of √2 at most. The mean is exact.
package struct DurationHistogram: Sendable, Equatable {
    /// The first range is below 1 ms, the last one is 2²⁸ ms (3.1 days) and more.
    package static let bucketCount = 58
    /// How many durations fell into each range; empty = none at all.
    package private(set) var counts: [Int64]
    /// All durations together, in microseconds.
    package var microseconds: Int64

    /// A histogram without durations.
    package init() { (counts, microseconds) = ([], 0) }

    /// - Parameter counts: numbers by range; ranges beyond the last are left out, missing ones are 0.
    package init(counts: some Sequence<Int64>, microseconds: Int64) {
        let counts = Array(counts.prefix(Self.bucketCount))
        let isEmpty = counts.allSatisfy { $0 == 0 }
        self.counts = isEmpty ? [] : counts + [Int64](repeating: 0, count: Self.bucketCount - counts.count)
        self.microseconds = microseconds
    }

    /// Counts one duration. One below zero counts as zero.
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

    /// How many durations were counted.
    package var count: Int64 { counts.reduce(0, &+) }

    /// The mean in milliseconds; nil = nothing was counted.
    package var meanMilliseconds: Double? {
        let count = count
        return count > 0 ? Double(microseconds) / 1000 / Double(count) : nil
    }

    /// The duration in milliseconds that this part of all durations does not exceed, by its place in its range.
    ///
    /// - Parameter part: 0.5 = the median.
    /// - Returns: nil = nothing was counted. In the last range, its lower bound.
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

    /// The range that a duration falls into.
    package static func bucket(ofMicroseconds duration: Int64) -> Int {
        guard duration >= 1000 else { return 0 }
        let milliseconds = Double(duration) / 1000
        // A range is half an octave, so it is an octave of the square.
        return min(bucketCount - 1, Int((milliseconds * milliseconds).exponent) + 1)
    }

    /// Where a range begins, in milliseconds.
    package static func lowerBound(of bucket: Int) -> Double {
        bucket == 0 ? 0 : (bucket % 2 == 1 ? 1 : 2.0.squareRoot()) * Double(1 << ((bucket - 1) / 2))
    }

    private static func value(in bucket: Int, at part: Double) -> Double {
        let lower = lowerBound(of: bucket)
        guard bucket < bucketCount - 1 else { return lower }
        return lower + (lowerBound(of: bucket + 1) - lower) * part
    }
}
