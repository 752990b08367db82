import Operations
import Testing

@Suite(.timeLimit(.minutes(60)))
struct FiguresTests {
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
        var figures = Figures()
        #expect(figures.packed == [0x80])
        #expect(Figures(packed: [0x80]) == figures && Figures(packed: [0x90]) == figures)
        (figures.enqueued, figures.started, figures.finished) = (0, 127, 128)
        (figures.failed, figures.retried, figures.cancelled) = (255, 65_536, 5_000_000_000)
        #expect(Figures(packed: figures.packed) == figures)
        for power in 0..<50 { figures.run.add(microseconds: 1 << power) }
        #expect(Figures(packed: figures.packed) == figures)
        for _ in 0..<300 { figures.wait.add(microseconds: 7000) }
        #expect(Figures(packed: figures.packed) == figures)
        #expect(Figures(packed: figures.packed.dropLast()) == nil)
        #expect(Figures(packed: Array("other".utf8)) == nil)
        // Positions outside of the array
        #expect(Figures(packed: [0x81, 0, 1]) == nil && Figures(packed: [0x81, 125, 1]) == nil)
        #expect(Figures(packed: []) == nil)
    }

    @Test("Statistics can be unpacked from an array, the form that a script writes")
    func array() throws {
        let figures = try #require(Figures(packed: [0x93, 7, 0xcc, 200, 5]))
        #expect((figures.enqueued, figures.started, figures.finished, figures.failed) == (7, 200, 5, 0))
    }

    @Test("Adding statistics adds every counter and histogram")
    func sums() {
        var one = Figures()
        (one.started, one.finished, one.retried) = (3, 1, 2)
        one.run.add(microseconds: 1500)
        var both = one
        both.add(one)
        both.add(Figures())
        #expect((both.started, both.ended, both.run.count, both.run.microseconds) == (6, 6, 2, 3000))
        #expect(both.errorRate == 4.0 / 6)
        #expect(Figures().errorRate == nil)
    }
}
