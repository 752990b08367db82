@testable import Operations
import Testing

@Suite(.timeLimit(.minutes(60)))
struct SpreadTests {
    @Test("Operations are evenly apart, whatever their calls")
    func even() {
        let spread = Spread(.seconds(10), count: 4)
        #expect(spread.delays(3) == [0, 2_500, 5_000])
        #expect(spread.delays(0) == [])
        #expect(spread.delays(1) == [7_500])
    }

    @Test("Operations that were not expected are about evenly apart, too", arguments: [1, 10, 1_000, 5_000])
    func unexpected(number: Int) {
        for count in [0, 1, 7] {
            let delays = Spread(.seconds(1_000), count: count).delays(max(1, count) + number).dropFirst(max(1, count))
            let gaps = zip(delays.sorted(), delays.sorted().dropFirst() + [1_000_000]).map { $1 - $0 }
            #expect(delays.allSatisfy { (0..<1_000_000).contains($0) })
            #expect((gaps.max() ?? 0) <= 3 * 1_000_000 / Int64(number))
        }
    }

    @Test("A long time over many operations has exact delays")
    func long() {
        let years: Duration = .seconds(100 * 365 * 86_400)
        let spread = Spread(years, count: 5_000_000)
        let last = spread.delays(5_000_000).last
        #expect(last == years.wholeMilliseconds / 5_000_000 * 4_999_999)
    }
}
