import Operations
import Selectors
import SluiceOperator
import TerminalText

/// The statistics of each operation name in a time span, or those names that got slower.
struct PerformancePage {
    private static let shown = 100
    /// From which change of the mean a name counts as slower. Means vary by some percent.
    private static let slower = 1.1
    /// Workers send statistics every few seconds, so reading more often shows nothing new.
    static let age = Duration.seconds(10)

    let visit: Visit
    private let span: PageSpan
    private let isCompared: Bool
    private let order: StatisticsOrder
    private let queue: String?
    private let statistics: StatisticsSpan
    private let names: NameStatistics
    private let builds: BuildMarks
    /// The build since which the numbers are compared with those before; nil = the span is.
    private let build: BuildSummary?

    init(_ visit: Visit) async throws {
        self.visit = visit
        span = try PageSpan(visit)
        let build = visit.query["build"]
        isCompared = visit.query["view"] == "slower" || build != nil
        queue = visit.query["queue"]
        order = try Self.order(visit.query["sort"], isCompared: isCompared)
        let wanted = queue.map { [$0] } ?? []
        builds = try await BuildMarks(visit, queues: wanted, queue: queue)
        self.build = try build.map(builds.builds.named)
        let statistics = try Self.statistics(span, isCompared: isCompared, self.build, now: visit.board().snapshot.time)
        self.statistics = statistics
        names = try await visit.site.cache.value("names \(statistics) \(queue ?? "")", age: Self.age) {
            [broker = visit.site.broker] in
            try await StatisticsReader(broker, wanted).names(statistics)
        }
    }

    private static func statistics(
        _ span: PageSpan,
        isCompared: Bool,
        _ build: BuildSummary?,
        now: Int64?
    ) throws -> StatisticsSpan {
        if let build {
            guard let statistics = StatisticsSpan(around: build.firstSeenAt, now: now ?? build.firstSeenAt) else {
                throw PageFailure.badRequest("Redis stores 30 days, so there is nothing from before this build.")
            }
            return statistics
        }
        guard span.isComparable || !isCompared else {
            throw PageFailure.badRequest("Redis stores 30 days, so there is nothing to compare 30 days with.")
        }
        return try span.statistics(isCompared: isCompared)
    }

    private static func order(_ text: String?, isCompared: Bool) throws(PageFailure) -> StatisticsOrder {
        guard let text else { return isCompared ? .change : .total }
        guard let order = StatisticsOrder(rawValue: text), isCompared || order != .change else {
            throw .badRequest("The list cannot be sorted by \(text).")
        }
        return order
    }

    var content: PageContent {
        PageContent("Performance", .performance, command: command, holdsStill: true) {
            tag("div", .class("title")) {
                tag("h1", text: "Performance")
                span.links(isCurrent: build == nil) { link(span: $0) }
                queueFilter
            }
            for node in names.absent { Notice.markup(.warning, node.sentence) }
            tabs
            if let build { since(build) }
            table
            builds.table
        }
    }

    private func since(_ build: BuildSummary) -> Markup {
        tag("p", .class("dim")) {
            "Since a worker of build \(build.build) first registered, "
            TimeView.markup(build.firstSeenAt, now: visit.reading.board?.snapshot.time)
            ", compared with an equally long time before."
        }
    }

    private var command: [String] {
        let times =
            build.map { ["--build", $0.build] }
            ?? ["--since", span.rawValue] + (isCompared ? ["--compare", span.rawValue] : [])
        return ["top", "names"] + times + ["--sort", order.rawValue] + (queue.map { ["-q", $0] } ?? []) + [
            "--limit", "\(Self.shown)",
        ]
    }

    private func link(
        span: PageSpan? = nil,
        sort: StatisticsOrder? = nil,
        isCompared: Bool? = nil
    ) -> Link {
        let build = span == nil && isCompared == nil ? build?.build : nil
        let (span, isCompared) = (span ?? self.span, isCompared ?? self.isCompared)
        let sort = sort ?? (isCompared == self.isCompared ? order : nil)
        let compares = isCompared && span.isComparable
        return visit.links.to(
            "performance",
            query: [
                "span": build == nil ? span.rawValue : nil, "view": compares ? "slower" : nil, "build": build,
                "sort": !compares && sort == .change ? nil : sort?.rawValue, "queue": queue,
            ]
        )
    }

    // MARK: Filter

    private var queueFilter: Markup {
        tag("form", .class("filter"), .named("method", "get"), .action(visit.links.to("performance"))) {
            void("input", .named("type", "hidden"), .name("span"), .value(span.rawValue))
            if isCompared { void("input", .named("type", "hidden"), .name("view"), .value("slower")) }
            if let build { void("input", .named("type", "hidden"), .name("build"), .value(build.build)) }
            void("input", .named("type", "hidden"), .name("sort"), .value(order.rawValue))
            tag("label") {
                tag("span", .class("unseen"), text: "Queue")
                tag("select", .name("queue")) {
                    tag("option", .value(""), text: "all queues")
                    (visit.reading.board?.snapshot.queues ?? []).map { row in
                        row.queue == queue
                            ? tag("option", .value(row.queue), .flag("selected"), text: row.queue)
                            : tag("option", .value(row.queue), text: row.queue)
                    }
                }
            }
            tag("button", text: "Show")
        }
    }

    private var tabs: Markup {
        tag("nav", .class("tabs"), .named("aria-label", "View")) {
            tab("All names", isCompared: false)
            if span.isComparable { tab("What got slower", isCompared: true) }
            if let build { tag("a", .href(link()), .named("aria-current", "page"), text: "Build \(build.build)") }
        }
    }

    private func tab(_ title: String, isCompared: Bool) -> Markup {
        let link = link(isCompared: isCompared)
        return isCompared == self.isCompared && build == nil
            ? tag("a", .href(link), .named("aria-current", "page"), text: title)
            : tag("a", .href(link), text: title)
    }

    // MARK: Table

    private var table: Markup {
        let rows = NameStatisticsRow.sorted(names.rows, by: order)
        return tag("section") {
            if rows.isEmpty {
                Empty.markup("Nothing ran in this time.", command: (["worker"], visit.site))
            } else {
                SortedTable.markup(
                    "Statistics by operation name",
                    isCompared ? comparedColumns : columns,
                    rows.prefix(Self.shown).map(isCompared ? comparedRow : row),
                    classes: isCompared ? "pairs" : "triples"
                )
            }
            tag("p", .class("under"), text: note(rows.count))
        }
    }

    private func note(_ count: Int) -> String {
        let time = names.time ?? visit.reading.board?.snapshot.time ?? 0
        var parts = [StatisticsText.span(statistics.query.times(at: time))]
        if let before = statistics.before {
            parts.append("compared with what ran " + StatisticsText.span(before.times(at: time)))
            parts.append("names with fewer than \(NameStatisticsRow.leastCompared) runs in either time come last")
        }
        if count > Self.shown { parts.append("\(Self.shown) of \(QuantityText.grouped(count)) names are shown") }
        parts.append("percentiles are within a factor of 1.42")
        return parts.joined(separator: "; ")
    }

    private var columns: [SortedTable.Column] {
        [
            .init("Name"), sorted("Count", by: .count), sorted("Errors", by: .errors), .init("Wait p50", .number),
            sorted("Wait p95", by: .wait), .init("Wait p99", .number), .init("Run p50", .number),
            sorted("Run p95", by: .run), .init("Run p99", .number), sorted("Total", by: .total), .init("Run times"),
        ]
    }

    private var comparedColumns: [SortedTable.Column] {
        [
            .init("Name"), sorted("Count", by: .count), .init("Count before", .number), sorted("Errors", by: .errors),
            .init("Errors before", .number), .init("Run mean", .number), .init("Mean before", .number),
            sorted("Change of mean", by: .change), sorted("Run p95", by: .run), .init("Run p95 before", .number),
            sorted("Wait p95", by: .wait), .init("Wait p95 before", .number),
        ]
    }

    private func sorted(_ title: String, by order: StatisticsOrder) -> SortedTable.Column {
        SortedTable.Column(title, .number, link: link(sort: order), isCurrent: order == self.order)
    }

    private func row(_ row: NameStatisticsRow) -> [Cell] {
        let statistics = row.statistics
        return [
            name(row),
            .count("Count", Int(clamping: statistics.ended)),
            errors("Errors", statistics.errorRate),
            time("Wait p50", statistics.wait.percentile(0.5)),
            time("Wait p95", statistics.wait.percentile(0.95)),
            time("Wait p99", statistics.wait.percentile(0.99)),
            time("Run p50", statistics.run.percentile(0.5)),
            time("Run p95", statistics.run.percentile(0.95)),
            time("Run p99", statistics.run.percentile(0.99)),
            time("Total", Double(statistics.run.microseconds) / 1000),
            Cell("Run times", "chart") { spark(statistics.run) },
        ]
    }

    private func comparedRow(_ row: NameStatisticsRow) -> [Cell] {
        let (now, before) = (row.statistics, row.before ?? Statistics())
        let isSlower = row.isComparable && (row.change ?? 0) >= Self.slower
        return [
            name(row),
            .count("Count", Int(clamping: now.ended)),
            .count("Count before", Int(clamping: before.ended)),
            errors("Errors", now.errorRate),
            errors("Errors before", before.errorRate),
            time("Run mean", now.run.meanMilliseconds),
            time("Run mean before", before.run.meanMilliseconds),
            .measure(
                "Change of mean",
                row.change.map(StatisticsText.change) ?? "–",
                role: isSlower ? .warning : .plain
            ),
            time("Run p95", now.run.percentile(0.95)),
            time("Run p95 before", before.run.percentile(0.95)),
            .measure(
                "Wait p95",
                now.wait.percentile(0.95).map(StatisticsText.time) ?? "–",
                role: row.isComparable && waitsMuchLonger(now, before) ? .warning : .plain
            ),
            time("Wait p95 before", before.wait.percentile(0.95)),
        ]
    }

    /// Waits vary more than runs: less than twice as long is no news.
    private func waitsMuchLonger(_ now: Statistics, _ before: Statistics) -> Bool {
        guard let now = now.wait.percentile(0.95), let before = before.wait.percentile(0.95) else { return false }
        return now > 2 * before
    }

    private func name(_ row: NameStatisticsRow) -> Cell {
        Cell("Name", "name") {
            if let name = row.name {
                tag(
                    "a",
                    .href(
                        visit.links.to(
                            "performance",
                            "name",
                            query: ["name": name, "span": span.rawValue, "queue": queue]
                        )
                    ),
                    text: name
                )
            } else {
                row.label
            }
        }
    }

    private func time(_ label: String, _ milliseconds: Double?) -> Cell {
        .measure(label, milliseconds.map(StatisticsText.time) ?? "–")
    }

    private func errors(_ label: String, _ rate: Double?) -> Cell {
        .measure(label, rate.map(StatisticsText.percent) ?? "–", role: StatisticsText.role(ofErrors: rate))
    }

    @MarkupBuilder private func spark(_ run: DurationHistogram) -> Markup {
        let ranges = run.ranges(atLeast: 8)
        if let first = ranges.first, let last = ranges.last {
            let text = DurationHistogram.text(of:)
            BarChart.markup(
                ranges.map { Double(run.counts[$0]) },
                label: "Run times from \(text(first)) to \(text(last))"
            )
        }
    }
}
