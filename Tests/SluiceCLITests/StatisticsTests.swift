import Operations
import Selectors
@testable import SluiceOperator
import Testing

@testable import SluiceCLI

@Suite("Statistics over time", .timeLimit(.minutes(60)))
struct StatisticsTests {
    private static let hour = Duration.seconds(3600)

    @Test("Statistics come from the smallest unit that is kept long enough, beginning with a whole unit")
    func spans() throws {
        #expect(try StatisticsSpan(since: .seconds(90), from: .minute).query == StatisticsQuery(.minute, count: 3))
        #expect(try StatisticsSpan(since: Self.hour * 24, from: .minute).query == StatisticsQuery(.minute, count: 1440))
        #expect(try StatisticsSpan(since: Self.hour * 25, from: .minute).query == StatisticsQuery(.hour, count: 26))
        #expect(try StatisticsSpan(since: Self.hour, from: .hour).query == StatisticsQuery(.hour, count: 2))
        #expect(try StatisticsSpan(since: Self.hour * 49, from: .hour).query == StatisticsQuery(.day, count: 4))
        #expect(throws: QueryError.self) { try StatisticsSpan(since: Self.hour * 721, from: .hour) }
        let query = try StatisticsSpan(since: .seconds(90), from: .minute).query
        #expect(query.times(at: 600_000_000 + 5000).from == 600_000_000 - 120_000)
        #expect(query.times(at: 600_000_000 + 5000).to == 600_000_000 + 5000)
    }

    @Test(
        "An earlier span is as long, does not overlap, and is still kept",
        arguments: [
            (1, 24, StatisticsQuery.Unit.hour, 2, 24), (24, 24, .hour, 24, 24), (1, 1, .hour, 1, 1),
            (20, 28, .hour, 20, 28),
            (24, 168, .day, 2, 7), (168, 168, .day, 7, 7), (360, 360, .day, 15, 15), (30, 24 * 2, .day, 2, 2),
        ]
    )
    func comparisons(since: Int, earlier: Int, unit: StatisticsQuery.Unit, count: Int, skip: Int) throws {
        let span = try StatisticsSpan(since: Self.hour * since, comparedWith: Self.hour * earlier)
        #expect(span.query == StatisticsQuery(unit, count: count))
        #expect(span.before == StatisticsQuery(unit, count: count, skip: skip))
        #expect(count <= skip && count + skip <= unit.kept)
    }

    @Test("A comparison with an overlapping span, or with one that is not kept, is refused")
    func refusedComparisons() {
        #expect(throws: QueryError.self) { try StatisticsSpan(since: Self.hour * 2, comparedWith: Self.hour) }
        #expect(throws: QueryError.self) { try StatisticsSpan(since: Self.hour * 600, comparedWith: Self.hour * 600) }
    }

    private func reply(_ runs: [String?: (count: Int, milliseconds: Int64)]) -> StatisticsReply {
        StatisticsReply(
            time: 0,
            rows: runs.map { name, run in
                var statistics = Statistics()
                statistics.finished = Int64(run.count)
                for _ in 0..<run.count { statistics.run.add(microseconds: run.milliseconds * 1000) }
                return StatisticsReply.Row(start: 0, name: name, statistics: statistics)
            }
        )
    }

    private func merge(_ replies: [(String, StatisticsReply)], before: StatisticsReply? = nil) -> [NameStatisticsRow] {
        var merge = NameStatisticsRow.Merge(isCompared: before != nil)
        for (queue, reply) in replies { merge.add(reply, of: queue) }
        if let before { merge.addEarlier(before) }
        return merge.rows
    }

    @Test("A comparison lists the names that became slower first, and names with few runs later")
    func slower() {
        let now = reply(["same": (10, 50), "slower": (10, 90), "faster": (10, 10), "few": (2, 900), "new": (9, 9)])
        let before = reply(["same": (10, 50), "slower": (10, 60), "faster": (10, 40), "few": (10, 1), "gone": (9, 9)])
        let rows = NameStatisticsRow.sorted(
            merge([("mail", now)], before: before),
            by: .change
        )
        #expect(rows.map(\.label) == ["slower", "same", "faster", "few", "new"])
        #expect(rows.first?.change == 1.5)
        #expect(rows.map { $0.change.map(StatisticsText.change) } == ["+50%", "0%", "-75%", "+89900%", nil])
    }

    @Test("Statistics of all queues are added up by name, and further names share one row")
    func merged() {
        let replies = [("a", reply(["x": (2, 5), nil: (1, 5)])), ("b", reply(["x": (3, 5), nil: (1, 5)]))]
        let rows = NameStatisticsRow.sorted(merge(replies), by: .count)
        #expect(rows.map(\.label) == ["x", NameStatisticsRow.others])
        #expect(rows.map(\.statistics.finished) == [5, 2])
        #expect(rows[0].queues == ["a", "b"] && rows[0].before == nil)
    }

    @Test("Percentages have a decimal below 10, and times below a millisecond are shown as <1ms")
    func texts() {
        let percentages = [0, 0.0001, 0.034, 0.099, 0.123, 1].map(StatisticsText.percent)
        #expect(percentages == ["0%", "0.1%", "3.4%", "9.9%", "12%", "100%"])
        #expect([0.4, 12, 1500, 161_000].map(StatisticsText.time) == ["<1ms", "12ms", "1.5s", "2m41s"])
    }
}
