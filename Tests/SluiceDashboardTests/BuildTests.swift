import Foundation
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Builds in the dashboard", .timeLimit(.minutes(60)))
struct BuildTests {
    private static let hour: Int64 = 3_600_000

    /// Registers a worker of a build in a queue, with a run of `Send`.
    private func register(_ build: String, in desk: Desk, queue: String = "mail") throws {
        let info = WorkerInfo(
            host: "h1",
            pid: 7,
            name: "w1",
            slots: 4,
            queues: [queue],
            handles: ["Send"],
            version: "9.9",
            build: build,
            startedAt: Int64(Date.now.timeIntervalSince1970 * 1000)
        )
        var statistics = Statistics()
        (statistics.started, statistics.finished) = (1, 1)
        statistics.run.add(microseconds: 9_000)
        let beat = Beat(
            worker: WorkerID(),
            epoch: 0,
            leaseMilliseconds: 3_600_000,
            intervalMilliseconds: 5_000,
            info: info.encoded(),
            statistics: StatisticsDelta(
                number: 1,
                entries: [StatisticsDelta.Entry(name: "Send", statistics: statistics)]
            ),
            build: build
        )
        _ = try desk.broker.beat(beat, queue: queue)
    }

    @Test(
        "The pages of a name, of a queue and of all names have a table of builds, and charts have their marks",
        arguments: ["/performance/name?name=Send", "/queues/show?queue=mail", "/performance"]
    )
    func marks(path: String) async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        for _ in 0..<3 { try register("2026.11.3 <b>", in: desk) }
        let page = try await desk(path).text
        #expect(page.contains("2026.11.3 &lt;b&gt;") && !page.contains("3 <b>"))
        #expect(page.contains(/Workers now"[^>]*>3</), "three live workers of the build")
        guard path != "/performance" else { return }
        #expect(page.contains("class=\"mark-labels\"") && page.contains("class=\"mark-line named\""))
    }

    @Test("A build leads to a comparison of the time after it with the time before, which says its command")
    func comparison() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        try register("a b&c", in: desk)
        let table = try await desk("/performance?queue=mail").text
        let path = try #require(table.firstMatch(of: /href="([^"]*build=[^"]*)"/)?.1).replacing("&amp;", with: "&")
        let page = try await desk(String(path))
        #expect(page.status == 200 && page.text.contains("Since a worker of build a b&amp;c first registered"))
        #expect(page.text.contains("top names --build") && page.text.contains("--sort change -q mail"))
        #expect(try await desk("/performance?view=slower&build=none").status == 404)
    }

    @Test("Without builds the pages have no table of them")
    func none() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        for path in ["/performance", "/queues/show?queue=mail"] {
            #expect(try await !desk(path).text.contains("<h2>Builds</h2>"))
        }
    }

    @Test(
        "The same build of several queues counts once, from its earliest time; texts that break the rule are left out"
    )
    func merge() {
        let builds = BuildSummary.merge(
            [
                ("mail", [BuildSight("2", firstSeenAt: 30), BuildSight("1", firstSeenAt: 20)]),
                ("video", [BuildSight("1", firstSeenAt: 10), BuildSight("a\nb", firstSeenAt: 40)]),
            ],
            workers: []
        )
        #expect(builds.map(\.build) == ["2", "1"] && builds.map(\.firstSeenAt) == [30, 10])
        #expect(throws: LookupFailure.self) { try builds.named("3") }
    }

    @Test("Names of marks do not lie on each other: the newest ones stay, and long ones are cut")
    func labels() {
        let marks = [
            ChartData.Mark(position: 1, text: "", label: "first"),
            ChartData.Mark(position: 5, text: "", label: "second"),
            ChartData.Mark(position: 5.2, text: "", label: "third"), ChartData.Mark(position: 9, text: ""),
            ChartData.Mark(position: 10, text: "", label: String(repeating: "x", count: 64)),
        ]
        let shown = MarkLabels.shown(marks, of: 10)
        #expect(shown.map(\.x) == [10, 52, 100] && shown.map(\.text).prefix(2) == ["first", "third"])
        #expect(shown[2].endsAtLine && !shown[1].endsAtLine && shown[2].text.count == 16)
    }

    @Test(
        "The time since an instant is compared with as long before, without the hour or day of the instant",
        arguments: [
            (0, StatisticsQuery(.hour, count: 1), StatisticsQuery(.hour, count: 1, skip: 1)),
            (1, StatisticsQuery(.hour, count: 1), StatisticsQuery(.hour, count: 1, skip: 2)),
            (5, StatisticsQuery(.hour, count: 5), StatisticsQuery(.hour, count: 5, skip: 6)),
            (30, StatisticsQuery(.hour, count: 17, skip: 13), StatisticsQuery(.hour, count: 17, skip: 31)),
            (240, StatisticsQuery(.day, count: 10), StatisticsQuery(.day, count: 10, skip: 11)),
            (480, StatisticsQuery(.day, count: 9, skip: 11), StatisticsQuery(.day, count: 9, skip: 21)),
        ]
    )
    func span(hours: Int, query: StatisticsQuery, before: StatisticsQuery) {
        let now = 24 * Self.hour * 20_000 + Self.hour / 2
        let span = StatisticsSpan(around: now - Int64(hours) * Self.hour, now: now)
        #expect(span?.query == query && span?.before == before)
    }

    @Test("Nothing is compared with a time whose statistics are gone")
    func tooOld() {
        let now = 24 * Self.hour * 20_000
        #expect(StatisticsSpan(around: now - 29 * 24 * Self.hour, now: now) == nil)
    }
}
