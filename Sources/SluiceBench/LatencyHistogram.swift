import Histogram
import Operations

/// The durations of a series, in microseconds.
struct LatencyHistogram {
    /// One minute; longer durations count as one minute.
    private static let longest: UInt64 = 60_000_000
    private var histogram = Histogram<UInt64>(
        highestTrackableValue: longest,
        numberOfSignificantValueDigits: .three
    )

    mutating func record(nanoseconds: UInt64) {
        histogram.record(min(max(nanoseconds / 1000, 1), Self.longest))
    }

    func milliseconds(at percentile: Double) -> Double { Double(histogram.valueAtPercentile(percentile)) / 1000 }

    /// Returns median, 99th and 99.9th percentile and the longest duration, each as a measurement.
    func measurements(
        _ name: String,
        p50: Measurement.Bound? = nil,
        p99: Measurement.Bound? = nil,
        longest: Measurement.Bound? = nil
    ) -> [Measurement] {
        [(50.0, p50), (99, p99), (99.9, nil), (100, longest)].map { percentile, bound in
            Measurement(
                .latency,
                name,
                at: [("percentile", percentile)],
                milliseconds(at: percentile),
                .milliseconds,
                bounds: bound.map { [$0] } ?? []
            )
        }
    }
}
