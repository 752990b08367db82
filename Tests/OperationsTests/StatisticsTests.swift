import Operations
import Testing

@Suite(.timeLimit(.minutes(60)))
struct StatisticsTests {
    @Test("Each range of a histogram is √2 times as long as the one before, from 1 ms to 3 days")
    func buckets() {
        for bucket in 1..<DurationHistogram.bucketCount {
            let lower = DurationHistogram.lowerBound(of: bucket)
            #expect(DurationHistogram.bucket(ofMicroseconds: Int64((lower * 1000).rounded(.up))) == bucket)
            #expect(DurationHistogram.bucket(ofMicroseconds: Int64((lower * 1000).rounded(.up)) - 1) == bucket - 1)
        }
        #expect(DurationHistogram.bucket(ofMicroseconds: 0) == 0)
        #expect(DurationHistogram.bucket(ofMicroseconds: .max) == DurationHistogram.bucketCount - 1)
    }

    @Test("A percentile lies in the range of the true one", arguments: [0.01, 0.5, 0.9, 0.95, 0.99, 1])
    func percentiles(part: Double) throws {
        var histogram = DurationHistogram()
        // From 100 µs to 1,000 s, evenly over the powers of ten.
        let durations = (0..<7001).map { step -> Int64 in
            var value = 100.0
            for _ in 0..<(step / 1000) { value *= 10 }
            return Int64(value * (1 + Double(step % 1000) * 0.009))
        }
        for duration in durations { histogram.add(microseconds: duration) }
        let rank = Int((part * Double(durations.count)).rounded(.up))
        let bucket = DurationHistogram.bucket(ofMicroseconds: durations[max(1, rank) - 1])
        let value = try #require(histogram.percentile(part))
        #expect(value >= DurationHistogram.lowerBound(of: bucket))
        #expect(value <= DurationHistogram.lowerBound(of: bucket + 1))
        #expect(histogram.count == 7001)
        #expect(histogram.microseconds == durations.reduce(0, +))
    }

    @Test("An empty histogram has no percentiles; a duration over 3 days counts as the last lower bound")
    func extremes() {
        var histogram = DurationHistogram()
        #expect(histogram.percentile(0.5) == nil)
        #expect(histogram.meanMilliseconds == nil)
        histogram.add(microseconds: 1_000_000_000_000)
        #expect(histogram.percentile(0.5) == Double(1 << 28))
        histogram.add(microseconds: -5)
        #expect(histogram.percentile(0.25) == 0.5)
    }

    @Test("Packing and unpacking statistics gives equal values")
    func packed() throws {
        var statistics = Statistics()
        #expect(statistics.packed == [0x80])
        #expect(Statistics(packed: [0x80]) == statistics && Statistics(packed: [0x90]) == statistics)
        (statistics.enqueued, statistics.started, statistics.finished) = (0, 127, 128)
        (statistics.failed, statistics.retried, statistics.cancelled) = (255, 65_536, 5_000_000_000)
        #expect(Statistics(packed: statistics.packed) == statistics)
        for power in 0..<50 { statistics.run.add(microseconds: 1 << power) }
        #expect(Statistics(packed: statistics.packed) == statistics)
        for _ in 0..<300 { statistics.wait.add(microseconds: 7000) }
        #expect(Statistics(packed: statistics.packed) == statistics)
        #expect(Statistics(packed: statistics.packed.dropLast()) == nil)
        #expect(Statistics(packed: Array("other".utf8)) == nil)
        // Positions outside of the array
        #expect(Statistics(packed: [0x81, 0, 1]) == nil && Statistics(packed: [0x81, 125, 1]) == nil)
        #expect(Statistics(packed: []) == nil)
    }

    @Test("Statistics can be unpacked from an array, the form that a script writes")
    func array() throws {
        let statistics = try #require(Statistics(packed: [0x93, 7, 0xcc, 200, 5]))
        #expect((statistics.enqueued, statistics.started, statistics.finished, statistics.failed) == (7, 200, 5, 0))
    }

    @Test("Adding statistics adds every counter and histogram")
    func sums() {
        var one = Statistics()
        (one.started, one.finished, one.retried) = (3, 1, 2)
        one.run.add(microseconds: 1500)
        var both = one
        both.add(one)
        both.add(Statistics())
        #expect((both.started, both.ended, both.run.count, both.run.microseconds) == (6, 6, 2, 3000))
        #expect(both.errorRate == 4.0 / 6)
        #expect(Statistics().errorRate == nil)
    }
}
