import Operations
import SluiceMonitor
@testable import SluiceOperator
import Testing

@Suite(.timeLimit(.minutes(60)))
struct RecentStatisticsTests {
    private static let minute = StatisticsQuery.Unit.minute.milliseconds
    private static let start: Int64 = 28_333_333 * minute

    private func row(_ minute: Int64, enqueued: Int64 = 0, finished: Int64 = 0, failed: Int64 = 0)
        -> StatisticsReply.Row
    {
        var statistics = Statistics()
        (statistics.enqueued, statistics.finished, statistics.failed) = (enqueued, finished, failed)
        return StatisticsReply.Row(start: Self.start + minute * Self.minute, name: nil, statistics: statistics)
    }

    private func recent(_ rows: [StatisticsReply.Row], seconds: Int64 = 30, minutes: Int = 5) -> RecentStatistics {
        let time = Self.start + 4 * Self.minute + seconds * 1000
        return RecentStatistics(queue: "q", StatisticsReply(time: time, rows: rows), minutes: minutes)
    }

    @Test("Minutes have fixed places, and rates cover the time since the first minute with activity")
    func rates() {
        let recent = recent([row(2, enqueued: 75, finished: 300), row(4, finished: 150, failed: 75)])
        #expect(recent.minutes.map(\.finished) == [0, 0, 300, 0, 150])
        #expect(recent.seconds == 150)
        #expect(recent.outPerSecond == 3.5 && recent.inPerSecond == 0.5 && recent.errorsPerSecond == 0.5)
    }

    @Test("The drain time follows from the surplus of ended over enqueued operations")
    func drains() {
        let shrinking = recent([row(3, enqueued: 90, finished: 180)])
        #expect(shrinking.drain(waiting: 500) == .seconds(500))
        #expect(shrinking.drain(waiting: 0) == .empty)
        #expect(recent([row(3, enqueued: 90, finished: 90)]).drain(waiting: 1) == .grows)
        #expect(recent([]).drain(waiting: 1) == .stalled)
    }

    @Test("A rate of errors is marked from 1 %, and red from 5 %")
    func marks() {
        let rates: [Double?] = [nil, 0, 0.0099, 0.01, 0.049, 0.05, 1]
        let roles = rates.map(StatisticsText.role(ofErrors:))
        #expect(roles == [.plain, .plain, .plain, .warning, .warning, .dead, .dead])
    }

    @Test("A finished burst does not count as growth")
    func burst() {
        let burst = recent([row(2, enqueued: 4500, finished: 150), row(3, finished: 150), row(4, finished: 75)])
        #expect(burst.outPerSecond == 2.5)
        #expect(burst.drain(waiting: 4125) == .seconds(1650))
        #expect(recent([row(2, enqueued: 90)]).drain(waiting: 90) == .stalled)
    }

    @Test("Rates of a minute that has just begun are limited by the heartbeat interval")
    func young() {
        #expect(recent([row(4, finished: 20)], seconds: 1).outPerSecond == 2)
    }
}
