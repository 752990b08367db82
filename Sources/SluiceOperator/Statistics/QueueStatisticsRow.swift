import Operations
import TerminalText

/// Statistics of one queue in a time span, and an estimate of when its waiting operations are done.
package struct QueueStatisticsRow: Sendable {
    /// The number of recent minutes over which rates are computed.
    private static let rateMinutes = 5

    package let queue: String
    package let statistics: Statistics
    /// False for units that keep statistics only by name, which do not count enqueued operations.
    private let hasEnqueued: Bool
    package let recent: RecentStatistics
    /// The number of ready operations and of failed ones that will be retried.
    private let waiting: Int
    private let drain: DrainEstimate

    /// Reads the statistics of the reader's queues.
    package static func read(_ reader: StatisticsReader, _ query: StatisticsQuery) async throws -> [QueueStatisticsRow]
    {
        try await reader.each { broker, queue in
            async let reply = broker.statistics(query, queue: queue)
            async let recent = broker.recentStatistics(queue: queue, minutes: rateMinutes)
            async let snapshot = broker.snapshot(queue: queue, executingRows: 0)
            let (present, rates) = (try await snapshot, try await recent)
            return QueueStatisticsRow(
                queue: queue,
                statistics: try await reply.sum,
                hasEnqueued: query.unit == .minute,
                recent: rates,
                waiting: present.waiting,
                drain: rates.drain(present)
            )
        }.map(\.reply)
    }

    // MARK: Report

    private static var columns: [ReportColumn<QueueStatisticsRow>] {
        [
            .text("QUEUE") { $0.queue },
            .count("STARTED", drop: 5) { $0.statistics.started },
            .count("FINISHED") { $0.statistics.finished },
            .count("FAILED") { $0.statistics.failed },
            .count("RETRIED", drop: 4) { $0.statistics.retried },
            .share("ERR", csv: "error_rate") { $0.statistics.errorRate },
            .span("WAIT P50", csv: "wait_p50_ms", drop: 3) { $0.statistics.wait.percentile(0.5) },
            .span("P95", csv: "wait_p95_ms", drop: 3) { $0.statistics.wait.percentile(0.95) },
            .span("RUN P50", csv: "run_p50_ms", drop: 2) { $0.statistics.run.percentile(0.5) },
            .span("P95", csv: "run_p95_ms", drop: 2) { $0.statistics.run.percentile(0.95) },
            .rate("IN/S", csv: "in_per_second", drop: 1) { $0.recent.inPerSecond },
            .rate("OUT/S", csv: "out_per_second", drop: 1) { $0.recent.outPerSecond },
            .count("WAITING") { Int64($0.waiting) },
            ReportColumn(
                TableColumn("DONE IN", alignment: .right),
                csv: "drain_seconds",
                value: { row in
                    row.drain.seconds.map { StatisticsJSON.rounded($0) } ?? .string(row.drain.trend)
                },
                cell: { row, _ in TableCell(row.drain.text) }
            ),
        ]
    }

    /// The fields of `docs/schema/queue-statistics.json`.
    package static func report(_ rows: [QueueStatisticsRow]) -> RowReport<QueueStatisticsRow> {
        RowReport(rows, columns) { $0.json }
    }

    private var json: JSONValue {
        .object(
            JSONObject(
                [("v", 1), ("queue", .string(queue)), ("enqueued", hasEnqueued ? .number(statistics.enqueued) : .null)]
                    + StatisticsJSON.members(statistics) + [
                        ("inPerSecond", StatisticsJSON.rounded(recent.inPerSecond)),
                        ("outPerSecond", StatisticsJSON.rounded(recent.outPerSecond)),
                        ("waiting", .number(waiting)),
                        ("trend", .string(drain.trend)),
                        ("drainSeconds", StatisticsJSON.rounded(drain.seconds)),
                    ]
            )
        )
    }
}
