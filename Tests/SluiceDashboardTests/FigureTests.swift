import Foundation
import Operations
import Selectors
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Pages of statistics in the dashboard", .timeLimit(.minutes(60)))
struct FigureTests {
    /// Stores the statistics of ended runs.
    private func store(_ runs: [String: [Int64]], failed: Int64 = 0, in desk: Desk, queue: String = "mail") throws {
        let entries = runs.map { name, milliseconds in
            var statistics = Statistics()
            (statistics.finished, statistics.failed) = (Int64(milliseconds.count) - failed, failed)
            statistics.started = Int64(milliseconds.count)
            for time in milliseconds {
                statistics.run.add(microseconds: time * 1000)
                statistics.wait.add(microseconds: time * 10_000)
            }
            return StatisticsDelta.Entry(name: name, statistics: statistics)
        }
        try store(entries, in: desk, queue: queue)
    }

    /// Stores statistics as a worker would with a heartbeat.
    private func store(_ entries: [StatisticsDelta.Entry], in desk: Desk, queue: String = "mail") throws {
        let worker = WorkerID()
        let info = WorkerInfo(
            host: "h1",
            pid: 7,
            name: "w<1>",
            slots: 4,
            queues: [queue],
            handles: entries.compactMap(\.name),
            version: "9.9",
            startedAt: Int64(Date.now.timeIntervalSince1970 * 1000)
        )
        let beat = Beat(
            worker: worker,
            epoch: 0,
            leaseMilliseconds: 3_600_000,
            intervalMilliseconds: 5_000,
            info: Array(try JSONEncoder().encode(info)),
            statistics: StatisticsDelta(number: 1, entries: entries)
        )
        _ = try desk.broker.beat(beat, queue: queue)
    }

    private static let hostile = "a/b?c#d%41<b>&\"'"

    @Test("Names are listed with their numbers, and each leads to a page of its own, with any characters")
    func names() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        try store([Self.hostile: [40, 50, 60], "Send": [1]], failed: 1, in: desk)
        let list = try await desk("/performance")
        #expect(list.status == 200 && list.text.contains("a/b?c#d%41&lt;b&gt;&amp;&quot;&#39;"))
        let path = try #require(list.text.firstMatch(of: /href="([^"]*name=a[^"]*)"/)?.1)
        let page = try await desk(String(path).replacing("&amp;", with: "&"))
        #expect(page.status == 200 && page.text.contains("<h1>a/b?c#d%41&lt;b&gt;&amp;&quot;&#39;</h1>"))
        for title in ["Run time, each hour", "Wait, each hour", "Run times", "Failed attempts, each hour"] {
            #expect(page.text.contains("<h2>\(title)</h2>"), "\(title)")
        }
        #expect(page.text.contains("1 worker started, sluice 9.9"))
        #expect(page.text.contains("45.2ms–64ms: 2") || page.text.contains("–64ms: 2"))
        #expect(!page.text.contains("%41<b>"))
    }

    @Test("The columns of the list sort it, and the address has the whole view")
    func sorting() async throws {
        let desk = Desk()
        try await desk.enqueue("x")
        try store(["Often": [1, 1, 1, 1], "Long": [90_000]], in: desk)
        func order(_ path: String) async throws -> [String] {
            try await desk(path).text.matches(of: /name=(Often|Long)&amp;/).map { String($0.1) }
        }
        #expect(try await order("/performance?sort=count") == ["Often", "Long"])
        #expect(try await order("/performance?sort=total") == ["Long", "Often"])
        let page = try await desk("/performance?span=7d&sort=count&queue=mail").text
        #expect(page.contains("/performance?span=7d&amp;sort=run&amp;queue=mail"))
        #expect(page.contains("top names --since 7d --sort count -q mail --limit 100"))
        #expect(page.contains("<option value=\"mail\" selected>"))
    }

    @Test("What got slower compares with the time before, and 30 days have none")
    func slower() async throws {
        let desk = Desk()
        try await desk.enqueue("x")
        try store(["Send": [1]], in: desk)
        let page = try await desk("/performance?view=slower")
        #expect(page.status == 200 && page.text.contains("top names --since 24h --compare 24h --sort change"))
        #expect(try await desk("/performance?view=slower&span=30d").status == 400)
        #expect(try await !desk("/performance?span=30d").text.contains("What got slower"))
    }

    @Test(
        "A wrong span, sort, queue or name is refused with a page that says so",
        arguments: [
            "/performance?span=99999999d", "/performance?sort=size", "/performance?sort=change",
            "/performance/name", "/performance/name?name=x&span=1", "/performance?queue=none",
        ]
    )
    func wrong(_ path: String) async throws {
        let desk = Desk()
        try await desk.enqueue("x")
        let answer = try await desk(path)
        #expect([400, 404].contains(answer.status) && answer.text.contains("<main"), "\(path)")
    }

    @Test("Until a run has ended, a name has no charts of how many runs took how long", arguments: [false, true])
    func running(hasEnded: Bool) async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        var statistics = Statistics()
        statistics.started = 1
        statistics.wait.add(microseconds: 40_000)
        if hasEnded { statistics.run.add(microseconds: 40_000) }
        try store([.init(name: "Send", statistics: statistics)], in: desk)
        let page = try await desk("/performance/name?name=Send&queue=mail").text
        #expect(page.contains("id=\"wait\"") && page.contains("id=\"run\""))
        for chart in ["histogram", "heat"] { #expect(page.contains("id=\"\(chart)\"") == hasEnded, "\(chart)") }
    }

    @Test("A name that never ran has a page without charts")
    func unknownName() async throws {
        let desk = Desk()
        try await desk.enqueue("x")
        let page = try await desk("/performance/name?name=nothing")
        #expect(page.status == 200 && page.text.contains("Nothing with this name ran"))
    }

    @Test("Periods without events are empty, and many minutes are put together")
    func series() {
        let minute: Int64 = 60_000
        let time = 1000 * minute
        var one = Statistics()
        one.finished = 1
        let rows = [997, 999, 1000].map { StatisticsReply.Row(start: $0 * minute, name: nil, statistics: one) }
        let reply = StatisticsReply(time: time, rows: rows)
        let short = StatisticsSeries([reply], StatisticsQuery(.minute, count: 5))
        #expect(short.periods.map(\.statistics.finished) == [0, 1, 0, 1, 1] && short.length == minute)
        let long = StatisticsSeries([reply, reply], StatisticsQuery(.minute, count: 361))
        #expect(long.length == 5 * minute && long.periods.last?.start == 1000 * minute)
        #expect(long.sum.finished == 6 && long.periods.suffix(2).map(\.statistics.finished) == [4, 2])
        #expect(StatisticsSeries([], StatisticsQuery(.day, count: 7), .name("x")).sum.isEmpty)
    }

    @Test("Requests that ask at the same time share one read, and a failed read is not kept")
    func cache() async throws {
        let cache = ReadCache()
        let reads = Counter()
        async let first = cache.value("a", age: .seconds(600)) { await reads.next() }
        async let second = cache.value("a", age: .seconds(600)) { await reads.next() }
        #expect(try await [first, second] == [1, 1])
        await #expect(throws: CancellationError.self) {
            try await cache.value("b", age: .seconds(600)) { () throws -> Int in throw CancellationError() }
        }
        #expect(try await cache.value("b", age: .seconds(600)) { await reads.next() } == 2)
        #expect(try await cache.value("b", age: .zero) { await reads.next() } == 2)
    }
}

private actor Counter {
    private var number = 0

    func next() -> Int {
        number += 1
        return number
    }
}
