import Operations
import TerminalText

/// Statistics of one operation name in a time span, and in an earlier one.
package struct NameStatisticsRow: Sendable {
    /// The number of runs in both spans from which a comparison is meaningful. Names with fewer runs come last.
    package static let leastCompared: Int64 = 5
    package static let others = "(other names)"

    /// nil = all further names of a queue that has more names than Redis keeps.
    package let name: String?
    package private(set) var statistics = Statistics()
    package private(set) var before: Statistics?
    package private(set) var queues: Set<String> = []

    init(name: String?) { self.name = name }

    package var label: String { name ?? Self.others }

    /// The mean run time as a multiple of the earlier one; nil if either span has no runs.
    package var change: Double? {
        guard let now = statistics.run.meanMilliseconds, let then = before?.run.meanMilliseconds, then > 0 else {
            return nil
        }
        return now / then
    }

    /// Whether both spans have enough runs for a comparison.
    package var isComparable: Bool {
        min(statistics.run.count, before?.run.count ?? 0) >= Self.leastCompared
    }

    /// Adds up each name over queues.
    package struct Merge {
        private var names: [String?: NameStatisticsRow] = [:]
        private var earlier: [String?: Statistics] = [:]
        private let isCompared: Bool
        /// The time of the newest reply; nil = no reply.
        package private(set) var time: Int64?

        package init(isCompared: Bool) { self.isCompared = isCompared }

        package mutating func add(_ reply: StatisticsReply, of queue: String) {
            time = max(time ?? 0, reply.time)
            for row in reply.rows {
                names[row.name, default: NameStatisticsRow(name: row.name)].statistics.add(row.statistics)
                names[row.name]?.queues.insert(queue)
            }
        }

        package mutating func addEarlier(_ reply: StatisticsReply) {
            for row in reply.rows { earlier[row.name, default: Statistics()].add(row.statistics) }
        }

        package var rows: [NameStatisticsRow] {
            names.values.map { row in
                var row = row
                if isCompared { row.before = earlier[row.name] ?? Statistics() }
                return row
            }
        }
    }

    package static func sorted(_ rows: [NameStatisticsRow], by order: StatisticsOrder) -> [NameStatisticsRow] {
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

    // MARK: Report

    private static var plain: [ReportColumn<NameStatisticsRow>] {
        [
            .text("NAME") { $0.label },
            .count("COUNT") { $0.statistics.ended },
            .count("FAILED", drop: 5) { $0.statistics.failed },
            .count("RETRIED", drop: 5) { $0.statistics.retried },
            .share("ERR", csv: "error_rate") { $0.statistics.errorRate },
            .span("WAIT P50", csv: "wait_p50_ms", drop: 3) { $0.statistics.wait.percentile(0.5) },
            .span("P95", csv: "wait_p95_ms", drop: 3) { $0.statistics.wait.percentile(0.95) },
            .span("RUN P50", csv: "run_p50_ms", drop: 1) { $0.statistics.run.percentile(0.5) },
            .span("P95", csv: "run_p95_ms", drop: 1) { $0.statistics.run.percentile(0.95) },
            .span("TOTAL", csv: "run_total_ms") { Double($0.statistics.run.microseconds) / 1000 },
        ]
    }

    private static var comparing: [ReportColumn<NameStatisticsRow>] {
        [
            .text("NAME") { $0.label },
            .count("COUNT") { $0.statistics.ended },
            .count("BEFORE", drop: 4) { $0.before?.ended },
            .share("ERR", csv: "error_rate", drop: 3) { $0.statistics.errorRate },
            .share("BEFORE", csv: "error_rate_before", drop: 3) { $0.before?.errorRate },
            .span("RUN MEAN", csv: "run_mean_ms") { $0.statistics.run.meanMilliseconds },
            .span("BEFORE", csv: "run_mean_before_ms") { $0.before?.run.meanMilliseconds },
            .figure("CHANGE", csv: "change", StatisticsText.change) { $0.change },
            .span("RUN P95", csv: "run_p95_ms", drop: 1) { $0.statistics.run.percentile(0.95) },
            .span("BEFORE", csv: "run_p95_before_ms", drop: 1) { $0.before?.run.percentile(0.95) },
            .span("WAIT P95", csv: "wait_p95_ms", drop: 2) { $0.statistics.wait.percentile(0.95) },
            .span("BEFORE", csv: "wait_p95_before_ms", drop: 2) { $0.before?.wait.percentile(0.95) },
        ]
    }

    package static func report(_ rows: [NameStatisticsRow], isCompared: Bool) -> RowReport<NameStatisticsRow> {
        RowReport(rows, isCompared ? comparing : plain) { $0.json }
    }

    /// `docs/schema/name-statistics.json`
    private var json: JSONValue {
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

extension NameStatisticsRow {
    /// The object that `docs/schema/names-statistics.json` describes.
    ///
    /// - Parameters:
    ///   - names: the JSON of the rows to list.
    ///   - total: the number of all rows.
    package static func json(
        _ names: [JSONValue],
        of total: Int,
        _ span: StatisticsSpan,
        at time: Int64,
        namespace: String,
        absent: [AbsentNode]
    ) -> JSONValue {
        let before = span.before.map { JSONValue.object(JSONObject(StatisticsJSON.span($0.times(at: time)))) }
        let members: [(String, JSONValue)] =
            [("v", 1), ("time", OperationJSON.time(time)), ("namespace", .string(namespace))]
            + StatisticsJSON.span(span.query.times(at: time))
            + [
                ("compared", before ?? .null), ("total", .number(total)),
                ("names", .array(names)), ("absentNodes", AbsentNode.json(absent)),
            ]
        return .object(JSONObject(members))
    }
}
