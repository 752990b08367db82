import Operations
import SluiceOperator
import TerminalText

/// The builds that workers of some queues have reported: marks in charts, and a table with links that compare the time
/// after a build with the time before.
struct BuildMarks {
    private static let shown = 10

    /// The newest first.
    let builds: [BuildSummary]
    private let visit: Visit
    /// The queue of the page; nil = several.
    private let queue: String?

    /// Reads the builds.
    ///
    /// - Parameter queues: the queues; empty = all.
    init(_ visit: Visit, queues: [String], queue: String?) async throws {
        (self.visit, self.queue) = (visit, queue)
        let (broker, workers) = (visit.site.broker, visit.reading.board?.workers ?? [])
        builds = try await visit.site.cache.value("builds \(queues)", age: PerformancePage.age) {
            try await StatisticsReader(broker, queues).builds(workers)
        }
    }

    /// The marks of the builds that were first seen in the time of a series, oldest first.
    func marks(in series: StatisticsSeries) -> [ChartData.Mark] {
        guard let first = series.periods.first?.start else { return [] }
        let end = first + series.length * Int64(series.periods.count)
        return builds.reversed().filter { (first..<end).contains($0.firstSeenAt) }.map { build in
            let clock = TimeText.rfc3339(build.firstSeenAt).dropFirst(5).prefix(11).replacing("T", with: " ")
            return ChartData.Mark(
                position: Double(build.firstSeenAt - first) / Double(series.length),
                text: "\(clock) build \(build.build)",
                label: build.build
            )
        }
    }

    @MarkupBuilder var table: Markup {
        if !builds.isEmpty {
            tag("section") {
                tag("h2", text: "Builds")
                TableView.markup(
                    "Builds",
                    ["Build", "First seen", "Workers now", "Compare"],
                    builds.prefix(Self.shown).map(row)
                )
                if builds.count > Self.shown {
                    tag("p", .class("under"), text: "and \(builds.count - Self.shown) earlier ones")
                }
            }
        }
    }

    private func row(_ build: BuildSummary) -> [Cell] {
        let now = visit.reading.board?.snapshot.time
        return [
            .text("Build", build.build),
            Cell("First seen") { TimeView.markup(build.firstSeenAt, now: now) },
            .count("Workers now", build.workers),
            Cell("Compare", "half") {
                if let now, StatisticsSpan(around: build.firstSeenAt, now: now) != nil {
                    tag("a", .href(link(build)), text: "before and after")
                } else {
                    tag("span", .class("dim"), text: "–")
                }
            },
        ]
    }

    private func link(_ build: BuildSummary) -> Link {
        visit.links.to("performance", query: ["view": "slower", "build": build.build, "queue": queue])
    }
}
