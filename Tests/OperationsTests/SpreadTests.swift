@testable import Operations
import Testing

@Suite(.timeLimit(.minutes(60)))
struct SpreadTests {
    @Test("Operations are evenly apart, whatever their calls; further ones begin at the start again")
    func even() {
        let spread = Spread(.seconds(10), count: 4)
        #expect(spread.delays(3) == [0, 2_500, 5_000])
        #expect(spread.delays(3) == [7_500, 0, 2_500])
        #expect(spread.delays(0) == [])
        #expect(Spread(.seconds(1), count: 0).delays(2) == [0, 0])
    }

    @Test("A long time over many operations has exact delays")
    func long() {
        let years: Duration = .seconds(100 * 365 * 86_400)
        let spread = Spread(years, count: 5_000_000)
        let last = spread.delays(5_000_000).last
        #expect(last == years.wholeMilliseconds / 5_000_000 * 4_999_999)
    }
}
