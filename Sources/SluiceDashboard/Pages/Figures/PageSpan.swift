import Operations
import Selectors
import SluiceOperator
import TerminalText

/// The time that a page of statistics shows, up to now.
enum PageSpan: String, CaseIterable, Sendable {
    case hour = "1h"
    case quarter = "6h"
    case day = "24h"
    case week = "7d"
    case month = "30d"

    var duration: Duration {
        switch self {
        case .hour: .seconds(3_600)
        case .quarter: .seconds(6 * 3_600)
        case .day: .seconds(24 * 3_600)
        case .week: .seconds(7 * 86_400)
        case .month: .seconds(30 * 86_400)
        }
    }

    /// Whether Redis still has an equally long time before this one.
    var isComparable: Bool { self != .month }

    /// - Throws: `PageFailure` for a span that no page has.
    init(_ visit: Visit, or standard: PageSpan = .day) throws(PageFailure) {
        guard let text = visit.query["span"] else {
            self = standard
            return
        }
        guard let span = PageSpan(rawValue: text) else {
            let known = PageSpan.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("The span is \(text); expected one of \(known).")
        }
        self = span
    }

    /// The span of the statistics by name, or with `smallest` also those of whole queues by minute.
    func statistics(
        isCompared: Bool = false,
        from smallest: StatisticsQuery.Unit = .hour
    ) throws(QueryError) -> StatisticsSpan {
        isCompared
            ? try StatisticsSpan(since: duration, comparedWith: duration)
            : try StatisticsSpan(since: duration, from: smallest)
    }

    /// The spans as links, the current one marked.
    ///
    /// - Parameter isCurrent: false = the page shows another time than a span.
    func links(isCurrent: Bool = true, _ link: (PageSpan) -> Link) -> Markup {
        tag("nav", .class("spans"), .named("aria-label", "Time span")) {
            Self.allCases.map { span in
                span == self && isCurrent
                    ? tag("a", .href(link(span)), .named("aria-current", "true"), text: span.rawValue)
                    : tag("a", .href(link(span)), text: span.rawValue)
            }
        }
    }
}

/// Names of the periods of statistics over time.
enum PeriodText {
    /// `10:05`, or `11-28 10:00` if the span is longer than a day; days without a time.
    static func of(_ start: Int64, in series: StatisticsSeries) -> String {
        let text = TimeText.rfc3339(start)
        let (date, clock) = (text.dropFirst(5).prefix(5), text.dropFirst(11).prefix(5))
        if series.length >= StatisticsQuery.Unit.day.milliseconds { return String(text.prefix(10)) }
        let whole = series.length * Int64(series.periods.count)
        return whole > StatisticsQuery.Unit.day.milliseconds / 2 ? "\(date) \(clock)" : String(clock)
    }

    /// `each hour`, `each 5m`
    static func each(_ series: StatisticsSeries) -> String {
        switch series.length {
        case 60_000: "each minute"
        case 3_600_000: "each hour"
        case 86_400_000: "each day"
        default: "each " + DurationText.short(.milliseconds(series.length))
        }
    }
}

extension ChartData {
    /// Series over the periods of statistics.
    init(
        _ statistics: StatisticsSeries,
        _ series: [Series],
        marks: [Mark] = [],
        text: @escaping (Double) -> String
    ) {
        let places = statistics.periods.map { PeriodText.of($0.start, in: statistics) }
        self.init(places: places, ends: (places.first ?? "", "now"), series: series, marks: marks, text: text)
    }

    /// A series of numbers of each period.
    static func series(
        _ name: String,
        _ look: Look,
        _ statistics: StatisticsSeries,
        _ value: (Statistics) -> Double?
    ) -> Series {
        Series(name, look, statistics.periods.map { value($0.statistics) })
    }
}

/// The charts that the pages of a name and of a queue have in common.
struct StatisticsCharts {
    let series: StatisticsSeries
    let marks: [ChartData.Mark]

    private static let parts: [(name: String, part: Double, look: ChartData.Look)] = [
        ("p50", 0.5, .first), ("p95", 0.95, .second), ("p99", 0.99, .third),
    ]

    /// Fewer columns or rows would be too wide to read as a distribution.
    private static let leastRanges = 12

    func percentiles(_ title: String, id: String, of histogram: (Statistics) -> DurationHistogram) -> Markup {
        let lines = Self.parts.map { part in
            ChartData.series(part.name, part.look, series) { histogram($0).percentile(part.part) }
        }
        return LineChart.markup(title, id: id, ChartData(series, lines, marks: marks, text: StatisticsText.time))
    }

    /// Ended attempts by the way in which they ended.
    func ends(_ title: String, id: String) -> Markup {
        let columns = [
            ChartData.series("finished", .good, series) { Double($0.finished) },
            ChartData.series("retried", .warning, series) { Double($0.retried) },
            ChartData.series("dead", .bad, series) { Double($0.failed) },
            ChartData.series("cancelled", .third, series) { Double($0.cancelled) },
        ]
        return ColumnChart.markup(title, id: id, data(columns))
    }

    /// Failed attempts.
    func failures(_ title: String, id: String) -> Markup {
        let columns = [
            ChartData.series("retried", .warning, series) { Double($0.retried) },
            ChartData.series("dead", .bad, series) { Double($0.failed) },
        ]
        return ColumnChart.markup(title, id: id, data(columns))
    }

    func data(_ columns: [ChartData.Series]) -> ChartData {
        ChartData(series, columns, marks: marks) { QuantityText.grouped(Int64($0)) }
    }

    /// How many runs took how long.
    func histogram(_ title: String, id: String) -> Markup {
        let run = series.sum.run
        let ranges = run.ranges(atLeast: Self.leastRanges)
        let data = ChartData(
            axis: "Run time",
            places: ranges.map(DurationHistogram.text(of:)),
            ends: (
                ranges.first.map { StatisticsText.time(DurationHistogram.lowerBound(of: $0)) } ?? "",
                ranges.last.map(DurationHistogram.text(of:)) ?? ""
            ),
            series: [ChartData.Series("runs", .first, ranges.map { Double(run.counts[$0]) })]
        ) { QuantityText.grouped(Int64($0)) }
        return ColumnChart.markup(title, id: id, data)
    }

    /// Which runs took how long at which time.
    func heat(_ title: String, id: String) -> Markup {
        let ranges = series.sum.run.ranges(atLeast: Self.leastRanges)
        let counts = series.periods.map { period in
            let run = period.statistics.run
            return ranges.map { run.counts.isEmpty ? 0 : run.counts[$0] }
        }
        return HeatMap.markup(title, id: id, data([]), counts: counts, ranges: ranges.map(DurationHistogram.text(of:)))
    }
}

extension DurationHistogram {
    /// The ranges from the first one with a duration to the last.
    var ranges: Range<Int> {
        guard let first = counts.firstIndex(where: { $0 > 0 }), let last = counts.lastIndex(where: { $0 > 0 }) else {
            return 0..<0
        }
        return first..<(last + 1)
    }

    /// The ranges with durations, and so many beside them that there are `count`.
    func ranges(atLeast count: Int) -> Range<Int> {
        let ranges = ranges
        let missing = max(0, min(count, counts.count) - ranges.count)
        guard !ranges.isEmpty, missing > 0 else { return ranges }
        let start = min(max(0, ranges.lowerBound - missing / 2), counts.count - ranges.count - missing)
        return start..<(start + ranges.count + missing)
    }

    /// `12ms–16ms`
    static func text(of bucket: Int) -> String {
        let lower = StatisticsText.time(lowerBound(of: bucket))
        guard bucket > 0 else { return StatisticsText.time(0) }
        guard bucket < bucketCount - 1 else { return "over \(lower)" }
        return "\(lower)–\(StatisticsText.time(lowerBound(of: bucket + 1)))"
    }
}
