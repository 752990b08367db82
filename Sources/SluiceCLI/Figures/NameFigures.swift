import Operations
import Sluice
import SluiceMonitor
import TerminalText

/// Statistics of one operation name in a time span, and in an earlier one.
struct NameFigures: Sendable {
    /// The number of runs in both spans from which a comparison is meaningful. Names with fewer runs come last.
    static let leastCompared: Int64 = 5
    static let others = "(other names)"

    /// nil = all further names of a queue that has more names than Redis keeps.
    let name: String?
    var figures = Figures()
    var before: Figures?
    var queues: Set<String> = []

    init(name: String?) { self.name = name }

    var label: String { name ?? Self.others }

    /// The mean run time as a multiple of the earlier one; nil if either span has no runs.
    var change: Double? {
        guard let now = figures.run.meanMilliseconds, let then = before?.run.meanMilliseconds, then > 0 else {
            return nil
        }
        return now / then
    }

    private var isComparable: Bool {
        min(figures.run.count, before?.run.count ?? 0) >= Self.leastCompared
    }

    /// Adds up each name over all queues.
    static func merge(
        _ now: [(queue: String, reply: FiguresReply)],
        before: [(queue: String, reply: FiguresReply)]?
    ) -> [NameFigures] {
        var names: [String?: NameFigures] = [:]
        for (queue, reply) in now {
            for row in reply.rows {
                names[row.name, default: NameFigures(name: row.name)].figures.add(row.figures)
                names[row.name]?.queues.insert(queue)
            }
        }
        guard let before else { return Array(names.values) }
        for name in names.keys { names[name]?.before = Figures() }
        for (_, reply) in before {
            for row in reply.rows { names[row.name]?.before?.add(row.figures) }
        }
        return Array(names.values)
    }

    static func sorted(_ rows: [NameFigures], by order: FiguresOrder) -> [NameFigures] {
        rows.sorted { left, right in
            let (first, second) = (left.rank(order), right.rank(order))
            return first == second ? left.label < right.label : first > second
        }
    }

    private func rank(_ order: FiguresOrder) -> Double {
        guard order == .change else { return order.value(of: figures) }
        guard let change else { return -2 }
        return isComparable ? change : -1
    }

    // MARK: Output

    static func columns(isCompared: Bool) -> [FiguresColumn<NameFigures>] {
        isCompared ? comparing() : plain()
    }

    private static func plain() -> [FiguresColumn<NameFigures>] {
        [
            .plain("NAME", "name") { $0.label },
            .count("COUNT") { $0.figures.ended },
            .count("FAILED", drop: 5) { $0.figures.failed },
            .count("RETRIED", drop: 5) { $0.figures.retried },
            .share("ERR", "error_rate") { $0.figures.errorRate },
            .time("WAIT P50", "wait_p50_ms", drop: 3) { $0.figures.wait.percentile(0.5) },
            .time("P95", "wait_p95_ms", drop: 3) { $0.figures.wait.percentile(0.95) },
            .time("RUN P50", "run_p50_ms", drop: 1) { $0.figures.run.percentile(0.5) },
            .time("P95", "run_p95_ms", drop: 1) { $0.figures.run.percentile(0.95) },
            .time("TOTAL", "run_total_ms") { Double($0.figures.run.microseconds) / 1000 },
        ]
    }

    private static func comparing() -> [FiguresColumn<NameFigures>] {
        [
            .plain("NAME", "name") { $0.label },
            .count("COUNT") { $0.figures.ended },
            .count("BEFORE", drop: 4) { $0.before?.ended },
            .share("ERR", "error_rate", drop: 3) { $0.figures.errorRate },
            .share("BEFORE", "error_rate_before", drop: 3) { $0.before?.errorRate },
            .time("RUN MEAN", "run_mean_ms") { $0.figures.run.meanMilliseconds },
            .time("BEFORE", "run_mean_before_ms") { $0.before?.run.meanMilliseconds },
            FiguresColumn(
                title: "CHANGE",
                name: "change",
                text: { $0.change.map(FiguresText.change) ?? "–" },
                value: { $0.change.map { "\(FiguresText.rounded($0))" } ?? "" }
            ),
            .time("RUN P95", "run_p95_ms", drop: 1) { $0.figures.run.percentile(0.95) },
            .time("BEFORE", "run_p95_before_ms", drop: 1) { $0.before?.run.percentile(0.95) },
            .time("WAIT P95", "wait_p95_ms", drop: 2) { $0.figures.wait.percentile(0.95) },
            .time("BEFORE", "wait_p95_before_ms", drop: 2) { $0.before?.wait.percentile(0.95) },
        ]
    }

    /// `docs/schema/name-figures.json`
    var json: JSONValue {
        .object(
            JSONObject(
                [("v", 1), ("name", JSONValue(name)), ("count", .number(figures.ended))]
                    + FiguresJSON.members(figures) + [
                        ("queues", .array(queues.sorted().prefix(100).map { .string($0) })),
                        (
                            "before",
                            before.map {
                                .object(JSONObject([("count", .number($0.ended))] + FiguresJSON.members($0)))
                            } ?? .null
                        ),
                        ("change", FiguresJSON.rounded(change)),
                    ]
            )
        )
    }
}
