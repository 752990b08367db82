import Operations

/// The durations of a series. All are kept, so the percentiles are exact.
struct Latencies {
    private var nanoseconds: [UInt64] = []

    mutating func record(nanoseconds time: UInt64) { nanoseconds.append(time) }

    /// Returns the shortest duration that at least this part of the series does not exceed; zero for an empty series.
    func milliseconds(at percentile: Double) -> Double { Self.milliseconds(nanoseconds.sorted(), percentile) }

    private static func milliseconds(_ sorted: [UInt64], _ percentile: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        let rank = Int((percentile / 100 * Double(sorted.count)).rounded(.up))
        return Double(sorted[min(max(rank, 1), sorted.count) - 1]) / 1_000_000
    }

    /// Returns median, 99th and 99.9th percentile and the longest duration, each as a measurement.
    func measurements(
        _ name: String,
        p50: Measurement.Bound? = nil,
        p99: Measurement.Bound? = nil,
        longest: Measurement.Bound? = nil
    ) -> [Measurement] {
        let sorted = nanoseconds.sorted()
        return [(50.0, p50), (99, p99), (99.9, nil), (100, longest)].map { percentile, bound in
            Measurement(
                .latency,
                name,
                at: [("percentile", percentile)],
                Self.milliseconds(sorted, percentile),
                .milliseconds,
                bounds: bound.map { [$0] } ?? []
            )
        }
    }
}
