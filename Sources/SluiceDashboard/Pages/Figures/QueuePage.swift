import Operations
import Selectors
import SluiceOperator
import TerminalText

/// One queue: its state, statistics over time, limits with those that hold their places, and workers.
struct QueuePage {
    let visit: Visit
    let board: Board
    let queue: QueueSnapshot
    private let span: PageSpan
    private let series: StatisticsSeries
    private let builds: BuildMarks
    let places: QueuePlaces

    init(_ visit: Visit) async throws {
        self.visit = visit
        board = try visit.board()
        queue = try Self.snapshot(visit)
        span = try PageSpan(visit, or: .hour)
        let (broker, name, limits) = (visit.site.broker, queue.queue, queue)
        let query = try span.statistics(from: .minute).query
        series = try await visit.site.cache.value("queue \(span) \(name)", age: .seconds(5)) {
            StatisticsSeries([try await broker.statistics(query, queue: name)], query)
        }
        builds = try await BuildMarks(visit, queues: [name], queue: name)
        places = try await visit.site.cache.value("places \(name)", age: .seconds(2)) {
            try await QueuePlaces.read(broker, limits)
        }
    }

    /// The queue of the request.
    ///
    /// - Throws: `LookupFailure` if there is no such queue, or if its node does not answer.
    static func snapshot(_ visit: Visit) throws -> QueueSnapshot {
        try visit.board().snapshot.queue(visit.query["queue"] ?? "")
    }

    static func link(_ queue: String, _ links: Links, outcome: OutcomeNotice? = nil) -> Link {
        links.to("queues", "show", query: ["queue": queue, "outcome": outcome?.rawValue])
    }

    /// The name of a queue in a table of operations, which leads to the queue's page.
    static func anchor(_ queue: String, _ links: Links) -> Markup {
        tag("a", .class("plain"), .href(link(queue, links)), text: queue)
    }

    var content: PageContent {
        PageContent("Queue \(queue.queue)", .queues, command: command, holdsStill: true) {
            OutcomeNotice.markup(visit)
            head
            state
            figures
            charts
            QueuePlacesView(page: self, visit: visit).markup
        }
    }

    private var command: [String] { ["stats", "--since", span.rawValue, "-q", queue.queue] }

    private var head: Markup {
        tag("div", .class("title")) {
            tag("h1", text: "Queue \(queue.queue)")
            span.links { span in
                visit.links.to("queues", "show", query: ["queue": queue.queue, "span": span.rawValue])
            }
            tag("div", .class("actions")) {
                tag("a", .class("button"), .href(operations()), text: "Operations")
                tag(
                    "a",
                    .class("button"),
                    .href(visit.links.to("performance", query: ["queue": queue.queue])),
                    text: "Performance"
                )
                if visit.may(.pause) {
                    let action: QueueAction = queue.paused ? .resume : .pause
                    tag(
                        "a",
                        .class("button"),
                        .href(visit.links.to("queues", action.rawValue, query: ["queue": queue.queue])),
                        text: action.title
                    )
                }
                if visit.may(.limit) {
                    tag(
                        "a",
                        .class("button"),
                        .href(visit.links.to("queues", "limit", query: ["queue": queue.queue])),
                        text: "Limits"
                    )
                }
                if visit.may(.remove) {
                    tag("a", .class("button danger"), .href(purge), text: "Purge…")
                }
            }
        }
    }

    /// The plan that removes what waits in the queue.
    private var purge: Link {
        let states = OperationState.waiting.map(\.rawValue).joined(separator: ",")
        let query = QueryText.term("queue", queue.queue) + " state:" + states
        return visit.links.to("changes", "new", query: ["action": OperationAction.remove.rawValue, "q": query])
    }

    private func operations(_ state: OperationState? = nil) -> Link {
        visit.links.to("ops", query: ["state": state?.rawValue, "q": QueryText.term("queue", queue.queue)])
    }

    /// The reasons why operations of the queue do not start.
    private var state: [Markup] {
        places.problems(queue).map { Notice.markup(.warning, $0.prefix(1).uppercased() + $0.dropFirst() + ".") }
    }

    // MARK: Numbers

    private static let order: [OperationState] = [
        .ready, .scheduled, .blocked, .executing, .retrying, .dead,
    ]

    private static let unended = OperationState.allCases.filter { !$0.isTerminal }

    private var figures: Markup {
        let rates = board.rates[queue.queue]
        return tag("section", .class("flow panel")) {
            tag("dl", .class("figures")) {
                Self.order.map { state in
                    let count = queue.counts[state] ?? 0
                    return tag("div") {
                        tag("dt", text: state.rawValue)
                        tag("dd", .class(count > 0 ? state.rawValue : "")) {
                            tag("a", .class("plain"), .href(operations(state)), text: QuantityText.grouped(count))
                        }
                    }
                }
                figure("oldest ready", Measure.milliseconds(queue.oldestReadyMilliseconds))
                figure("done in", board.statistics.drain(queue)?.text ?? "–")
                figure("in", QuantityText.rate(rates.enqueued) + "/s")
                figure("out", QuantityText.rate(rates.ended) + "/s")
                figure("workers", QuantityText.grouped(queue.liveWorkers.count))
            }
        }
    }

    private func figure(_ name: String, _ value: String) -> Markup {
        tag("div") {
            tag("dt", text: name)
            tag("dd", text: value)
        }
    }

    private var charts: Markup {
        let starts = WorkerStart.marks(WorkerStart.all(board) { $0.queues.contains(queue.queue) }, in: series)
        let charts = StatisticsCharts(series: series, marks: starts + builds.marks(in: series))
        let each = PeriodText.each(series)
        // Minutes count what was enqueued; hours and days, which are stored by name, do not.
        let hasEnqueued = series.length < StatisticsQuery.Unit.hour.milliseconds
        return parts {
            tag("section", .class("charts")) {
                if hasEnqueued {
                    depth(charts)
                    flow(charts, each)
                }
                charts.ends("Ended attempts, \(each)", id: "ends")
                charts.percentiles("Wait, \(each)", id: "wait", of: \.wait)
                charts.percentiles("Run time, \(each)", id: "run", of: \.run)
                MarkList.markup("Starts of workers", starts)
            }
            tag("p", .class("under reading")) {
                hasEnqueued
                    ? "The depth is calculated backwards from the present one, by enqueues and ends. It lacks operations that were cancelled, expired or removed while they waited."
                    : "For more than 24 hours Redis stores no number of enqueued operations, and so no depth."
            }
            builds.table
        }
    }

    /// Operations that wait or run, at the end of each period: from the present back by what came and left.
    private func depth(_ charts: StatisticsCharts) -> Markup {
        var depth = Int64(Self.unended.reduce(0) { $0 + (queue.counts[$1] ?? 0) })
        var values: [Double?] = []
        for period in series.periods.reversed() {
            values.append(Double(max(0, depth)))
            depth -= period.statistics.enqueued - period.statistics.left
        }
        return LineChart.markup(
            "Depth, estimated",
            id: "depth",
            charts.data([ChartData.Series("depth", .first, values.reversed())])
        )
    }

    private func flow(_ charts: StatisticsCharts, _ each: String) -> Markup {
        var lines = [
            ChartData.series("in", .first, series) { Double($0.enqueued) },
            ChartData.series("out", .second, series) { Double($0.left) },
        ]
        // The present period has just begun: its small numbers would look like a standstill.
        if series.periods.count > 1 { for line in lines.indices { lines[line].values[series.periods.count - 1] = nil } }
        return LineChart.markup("In and out, \(each)", id: "flow", charts.data(lines))
    }
}

extension Statistics {
    /// Operations that ended after they ran.
    fileprivate var left: Int64 { finished + failed + cancelled }
}
