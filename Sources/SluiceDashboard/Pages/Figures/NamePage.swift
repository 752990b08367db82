import Operations
import Selectors
import SluiceOperator
import TerminalText

/// The statistics of one operation name over time.
struct NamePage {
    let visit: Visit
    private let name: String
    private let span: PageSpan
    private let queue: String?
    private let series: StatisticsSeries
    private let starts: [WorkerStart]
    private let builds: BuildMarks

    init(_ visit: Visit) async throws {
        self.visit = visit
        guard let name = visit.query["name"] else { throw PageFailure.badRequest("The address has no name.") }
        self.name = name
        span = try PageSpan(visit)
        queue = visit.query["queue"]
        let query = try span.statistics().query
        let wanted = queue.map { [$0] } ?? []
        series = try await visit.site.cache.value(
            "name \(span) \(wanted) \(name)",
            age: PerformancePage.age
        ) { [broker = visit.site.broker] in
            try await StatisticsReader(broker, wanted).series(query, .name(name))
        }
        starts = WorkerStart.all(visit.reading.board) { $0.handles.contains(name) }
        builds = try await BuildMarks(
            visit,
            queues: wanted.isEmpty ? Self.queues(of: name, visit) : wanted,
            queue: queue
        )
    }

    /// The queues of the workers that handle the name; empty if there are none.
    private static func queues(of name: String, _ visit: Visit) -> [String] {
        guard let board = visit.reading.board else { return [] }
        let serving = board.workers.filter { $0.info?.handles.contains(name) ?? false }
        return Set(serving.flatMap(\.queues)).intersection(board.snapshot.queues.map(\.queue)).sorted()
    }

    var content: PageContent {
        PageContent(name, .performance, command: command) {
            tag("div", .class("title")) {
                tag("h1", text: name)
                span.links { link($0) }
                tag("div", .class("actions")) {
                    tag("a", .class("button"), .href(list), text: "Operations")
                    tag("a", .class("button"), .href(errors), text: "Errors")
                }
            }
            if let queue {
                tag("p", .class("dim")) {
                    "In queue \(queue) only. "
                    tag("a", .href(visit.links.to("performance", "name", query: ["name": name])), text: "All queues")
                }
            }
            let sum = series.sum
            if sum.isEmpty {
                Empty.markup("Nothing with this name ran in this time.")
            } else {
                figures(sum)
                charts
            }
            tag("p", .class("under"), text: note)
        }
    }

    private var command: [String] {
        ["top", "names", "--since", span.rawValue] + (queue.map { ["-q", $0] } ?? [])
    }

    private var query: String {
        ([QueryText.term("name", name)] + (queue.map { [QueryText.term("queue", $0)] } ?? [])).joined(separator: " ")
    }

    private var list: Link { visit.links.to("ops", query: ["q": query]) }
    private var errors: Link { visit.links.to("errors", query: ["q": query]) }

    private func link(_ span: PageSpan) -> Link {
        visit.links.to("performance", "name", query: ["name": name, "span": span.rawValue, "queue": queue])
    }

    private func figures(_ sum: Statistics) -> Markup {
        FigureList.markup([
            ("ended", QuantityText.grouped(sum.ended)),
            ("errors", sum.errorRate.map(StatisticsText.percent) ?? "–"),
            ("wait p50", time(sum.wait.percentile(0.5))), ("wait p95", time(sum.wait.percentile(0.95))),
            ("wait p99", time(sum.wait.percentile(0.99))), ("run p50", time(sum.run.percentile(0.5))),
            ("run p95", time(sum.run.percentile(0.95))), ("run p99", time(sum.run.percentile(0.99))),
            ("total run time", time(Double(sum.run.microseconds) / 1000)),
        ])
    }

    private func time(_ milliseconds: Double?) -> String { milliseconds.map(StatisticsText.time) ?? "–" }

    private var charts: Markup {
        let starts = WorkerStart.marks(starts, in: series)
        let charts = StatisticsCharts(series: series, marks: starts + builds.marks(in: series))
        let each = PeriodText.each(series)
        return parts {
            tag("section", .class("charts")) {
                charts.percentiles("Run time, \(each)", id: "run", of: \.run)
                charts.percentiles("Wait, \(each)", id: "wait", of: \.wait)
                // Until a run has ended, there are no times that the axes could name.
                if series.sum.run.count > 0 {
                    charts.histogram("Run times", id: "histogram")
                    charts.heat("Run times, \(each)", id: "heat")
                }
                charts.ends("Ended attempts, \(each)", id: "ends")
                charts.failures("Failed attempts, \(each)", id: "failures")
            }
            builds.table
            MarkList.markup("Starts of workers", starts)
        }
    }

    private var note: String {
        let unit = series.length >= StatisticsQuery.Unit.day.milliseconds ? "day" : "hour"
        return "Statistics by name are stored for each \(unit). Percentiles are within a factor of 1.42."
    }
}

/// Numbers with their names in a row.
enum FigureList {
    static func markup(_ figures: [(name: String, value: String)]) -> Markup {
        tag("section", .class("flow panel")) {
            tag("dl", .class("figures")) {
                figures.map { figure in
                    tag("div") {
                        tag("dt", text: figure.name)
                        tag("dd", text: figure.value)
                    }
                }
            }
        }
    }
}
