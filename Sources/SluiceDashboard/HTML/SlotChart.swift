import Operations
import SluiceOperator
import TerminalText

/// Runs as bars to scale: in the slots of a worker, or one below the other.
enum SlotChart {
    static let minutes: Int64 = 15
    static let mostLanes = 50
    private static let (width, lane) = (900, 14)
    /// Milliseconds.
    private static let overlap: Int64 = 5_000

    struct Run {
        var id: OperationID
        var queue: String
        var title: String
        /// Milliseconds of server time; nil = not known.
        var start: Int64?
        var end: Int64
        var role: TextRole
    }

    /// The runs of the last 15 minutes, in as many lanes as there are slots.
    ///
    /// - Parameter now: the right end of the chart.
    static func markup(_ runs: [Run], slots: Int, now: Int64, _ links: Links) -> Markup {
        let span = Span(start: now - minutes * 60_000, end: now)
        let placed = place(runs.filter { $0.end > span.start }, slots: slots)
        let count = max(1, min(mostLanes, max(slots, placed.count)))
        let drawn = Array(placed.prefix(count))
        let label = "\(drawn.joined().count) runs in \(slots) slots; the tables below have them"
        return figure(drawn, lanes: count, span, label, ends: ("\(minutes) min ago", "now"), links)
    }

    /// Runs from the first start to the last end, in the order of their starts.
    ///
    /// - Parameter now: milliseconds of server time; times before it are shown relative to it.
    static func markup(_ runs: [Run], now: Int64, _ links: Links) -> Markup {
        let runs = runs.sorted { ($0.start ?? 0, $0.id) < ($1.start ?? 0, $1.id) }
        let span = Span(start: runs.first?.start ?? now, end: runs.map(\.end).max() ?? now)
        let ends = (TimeText.relative(span.start, now: now), TimeText.relative(span.end, now: now))
        let label = "\(runs.count) runs; the table below has them"
        return figure(runs.map { [$0] }, lanes: runs.count, span, label, ends: ends, links)
    }

    private struct Span {
        var start: Int64
        var end: Int64

        /// The distance of a time from the left end of the chart.
        func x(_ time: Int64) -> Int {
            Int((min(max(start, time), end) - start) * Int64(SlotChart.width) / max(1, end - start))
        }
    }

    private static func figure(
        _ rows: [[Run]],
        lanes: Int,
        _ span: Span,
        _ label: String,
        ends: (String, String),
        _ links: Links
    ) -> Markup {
        tag("figure", .class("slots")) {
            tag(
                "svg",
                .named("viewBox", "0 0 \(width) \(lanes * lane)"),
                .named("preserveAspectRatio", "none"),
                .named("height", "\(lanes * lane)"),
                .named("role", "img"),
                .named("aria-label", label)
            ) {
                (0..<lanes).map { rect("lane", x: 0, y: $0 * lane, width: width) }
                rows.enumerated().flatMap { index, runs in
                    runs.map { run in
                        tag("a", .href(links.to("ops", run.id.description, query: ["queue": run.queue]))) {
                            bar(run, y: index * lane, span)
                        }
                    }
                }
            }
            tag("figcaption", .class("axis dim")) {
                tag("span", text: ends.0)
                tag("span", text: ends.1)
            }
        }
    }

    /// Puts each run into the first lane that is free at its start.
    ///
    /// The end of a run is stored a moment after its slot is free again, so with all slots in use a run may overlap the
    /// one before.
    private static func place(_ runs: [Run], slots: Int) -> [[Run]] {
        var lanes: [[Run]] = []
        for run in runs.sorted(by: { ($0.start ?? $0.end, $0.id) < ($1.start ?? $1.end, $1.id) }) {
            let start = run.start ?? run.end
            if let free = lanes.firstIndex(where: { ($0.last?.end ?? 0) <= start }) {
                lanes[free].append(run)
            } else if lanes.count >= slots, let next = first(lanes), (lanes[next].last?.end ?? 0) - start < overlap {
                lanes[next].append(run)
            } else {
                lanes.append([run])
            }
        }
        return lanes
    }

    /// The lane that is free first.
    private static func first(_ lanes: [[Run]]) -> Int? {
        lanes.indices.min { (lanes[$0].last?.end ?? 0) < (lanes[$1].last?.end ?? 0) }
    }

    private static func bar(_ run: Run, y: Int, _ span: Span) -> Markup {
        let from = min(span.x(run.start ?? run.end), width - 3)
        return rect(run.role.className, x: from, y: y, width: max(3, span.x(run.end) - from), run.title)
    }

    private static func rect(_ name: String, x: Int, y: Int, width: Int, _ title: String? = nil) -> Markup {
        tag(
            "rect",
            .class(name),
            .named("x", "\(x)"),
            .named("y", "\(y + 1)"),
            .named("width", "\(width)"),
            .named("height", "\(lane - 2)")
        ) { if let title { tag("title", text: title) } }
    }
}

extension SlotChart.Run {
    /// The last run of an operation.
    ///
    /// - Parameter now: the end of a run that has not ended.
    init(_ detail: OperationDetail, now: Int64) {
        let record = detail.record
        end = detail.state == .executing ? max(now, record.startedAt) : record.endedAt
        (id, queue, start, role) = (detail.id, detail.queue, record.startedAt, detail.state.role)
        title = "\(detail.envelope.name), \(detail.state.rawValue), \(Measure.milliseconds(end - record.startedAt))"
    }
}
