import Operations
import Sluice
import SluiceMonitor
import TerminalText

/// Statistics of one operation name in a time span, and in an earlier one.
struct NameStatistics: Sendable {
    /// The number of runs in both spans from which a comparison is meaningful. Names with fewer runs come last.
    static let leastCompared: Int64 = 5
    static let others = "(other names)"

    /// nil = all further names of a queue that has more names than Redis keeps.
    let name: String?
    var statistics = Statistics()
    var before: Statistics?
    var queues: Set<String> = []

    init(name: String?) { self.name = name }

    var label: String { name ?? Self.others }

    /// The mean run time as a multiple of the earlier one; nil if either span has no runs.
    var change: Double? {
        guard let now = statistics.run.meanMilliseconds, let then = before?.run.meanMilliseconds, then > 0 else {
            return nil
        }
        return now / then
    }

    private var isComparable: Bool {
        min(statistics.run.count, before?.run.count ?? 0) >= Self.leastCompared
    }

    /// Adds up each name over all queues.
    static func merge(
        _ now: [(queue: String, reply: StatisticsReply)],
        before: [(queue: String, reply: StatisticsReply)]?
    ) -> [NameStatistics] {
        var names: [String?: NameStatistics] = [:]
        for (queue, reply) in now {
            for row in reply.rows {
                names[row.name, default: NameStatistics(name: row.name)].statistics.add(row.statistics)
                names[row.name]?.queues.insert(queue)
            }
        }
        guard let before else { return Array(names.values) }
        for name in names.keys { names[name]?.before = Statistics() }
        for (_, reply) in before {
            for row in reply.rows { names[row.name]?.before?.add(row.statistics) }
        }
        return Array(names.values)
    }

    static func sorted(_ rows: [NameStatistics], by order: StatisticsOrder) -> [NameStatistics] {
        rows.sorted { left, right in
            let (first, second) = (left.rank(order), right.rank(order))
            return first == second ? left.label < right.label : first > second
        }
    }

    private func rank(_ order: StatisticsOrder) -> Double {
        guard order == .change else { return order.value(of: statistics) }
        guard let change else { return -2 }
        return isComparable ? change : -1
    }

    // MARK: Output

    static func columns(isCompared: Bool) -> [StatisticsColumn<NameStatistics>] {
        isCompared ? comparing() : plain()
    }

    private static func plain() -> [StatisticsColumn<NameStatistics>] {
        [
            .plain("NAME", "name") { $0.label },
            .count("COUNT") { $0.statistics.ended },
            .count("FAILED", drop: 5) { $0.statistics.failed },
            .count("RETRIED", drop: 5) { $0.statistics.retried },
            .share("ERR", "error_rate") { $0.statistics.errorRate },
            .time("WAIT P50", "wait_p50_ms", drop: 3) { $0.statistics.wait.percentile(0.5) },
            .time("P95", "wait_p95_ms", drop: 3) { $0.statistics.wait.percentile(0.95) },
            .time("RUN P50", "run_p50_ms", drop: 1) { $0.statistics.run.percentile(0.5) },
            .time("P95", "run_p95_ms", drop: 1) { $0.statistics.run.percentile(0.95) },
            .time("TOTAL", "run_total_ms") { Double($0.statistics.run.microseconds) / 1000 },
        ]
    }

    private static func comparing() -> [StatisticsColumn<NameStatistics>] {
        [
            .plain("NAME", "name") { $0.label },
            .count("COUNT") { $0.statistics.ended },
            .count("BEFORE", drop: 4) { $0.before?.ended },
            .share("ERR", "error_rate", drop: 3) { $0.statistics.errorRate },
            .share("BEFORE", "error_rate_before", drop: 3) { $0.before?.errorRate },
            .time("RUN MEAN", "run_mean_ms") { $0.statistics.run.meanMilliseconds },
            .time("BEFORE", "run_mean_before_ms") { $0.before?.run.meanMilliseconds },
            StatisticsColumn(
                title: "CHANGE",
                name: "change",
                text: { $0.change.map(StatisticsText.change) ?? "–" },
                value: { $0.change.map { "\(StatisticsText.rounded($0))" } ?? "" }
            ),
            .time("RUN P95", "run_p95_ms", drop: 1) { $0.statistics.run.percentile(0.95) },
            .time("BEFORE", "run_p95_before_ms", drop: 1) { $0.before?.run.percentile(0.95) },
            .time("WAIT P95", "wait_p95_ms", drop: 2) { $0.statistics.wait.percentile(0.95) },
            .time("BEFORE", "wait_p95_before_ms", drop: 2) { $0.before?.wait.percentile(0.95) },
        ]
    }

    /// `docs/schema/name-statistics.json`
    var json: JSONValue {
        .object(
            JSONObject(
                [("v", 1), ("name", JSONValue(name)), ("count", .number(statistics.ended))]
                    + StatisticsJSON.members(statistics) + [
                        ("queues", .array(queues.sorted().prefix(100).map { .string($0) })),
                        (
                            "before",
                            before.map {
                                .object(JSONObject([("count", .number($0.ended))] + StatisticsJSON.members($0)))
                            } ?? .null
                        ),
                        ("change", StatisticsJSON.rounded(change)),
                    ]
            )
        )
    }
}
