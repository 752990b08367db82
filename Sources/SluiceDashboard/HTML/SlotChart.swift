import Operations
import SluiceOperator
import TerminalText

/// Runs of the last 15 minutes, one lane for each.
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

    /// - Parameters:
    ///   - lanes: the number of lanes, empty ones included.
    ///   - now: the right end of the chart.
    static func markup(_ runs: [Run], lanes: Int, now: Int64, _ links: Links) -> Markup {
        let placed = place(runs.filter { $0.end > now - minutes * 60_000 }, slots: lanes)
        let count = max(1, min(mostLanes, max(lanes, placed.count)))
        let drawn = placed.prefix(count)
        return tag("figure", .class("slots")) {
            tag(
                "svg",
                .named("viewBox", "0 0 \(width) \(count * lane)"),
                .named("preserveAspectRatio", "none"),
                .named("height", "\(count * lane)"),
                .named("role", "img"),
                .named("aria-label", "\(drawn.joined().count) runs in \(lanes) slots; the tables below have them")
            ) {
                (0..<count).map { rect("lane", x: 0, y: $0 * lane, width: width) }
                drawn.enumerated().flatMap { index, runs in
                    runs.map { run in
                        tag("a", .href(links.to("ops", run.id.description, query: ["queue": run.queue]))) {
                            bar(run, y: index * lane, now: now)
                        }
                    }
                }
            }
            tag("figcaption", .class("axis dim")) {
                tag("span", text: "\(minutes) min ago")
                tag("span", text: "now")
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

    private static func bar(_ run: Run, y: Int, now: Int64) -> Markup {
        let span = minutes * 60_000
        let scale = { (time: Int64) in Int(min(max(0, time - (now - span)), span) * Int64(width) / span) }
        let from = min(scale(run.start ?? run.end), width - 3)
        return rect(run.role.className, x: from, y: y, width: max(3, scale(run.end) - from), run.title)
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
