import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// Statistics of one queue in a time span, and an estimate of when its waiting operations are done.
struct QueueStatistics: Sendable {
    /// The number of recent minutes over which rates are computed.
    static let rateMinutes = 5

    let queue: String
    let statistics: Statistics
    /// False for units that keep statistics only by name, which do not count enqueued operations.
    let hasEnqueued: Bool
    let recent: RecentStatistics
    /// The number of ready operations and of failed ones that will be retried.
    let waiting: Int

    var drain: DrainEstimate { recent.drain(waiting: waiting) }

    /// Reads the statistics of the reader's queues.
    static func read(_ reader: StatisticsReader, _ query: StatisticsQuery) async throws -> [QueueStatistics] {
        try await reader.each { queue in
            let broker = reader.client.broker
            async let reply = broker.statistics(query, queue: queue)
            async let recent = broker.recentStatistics(queue: queue, minutes: rateMinutes)
            async let snapshot = broker.snapshot(queue: queue, executingRows: 0)
            let counts = try await snapshot.counts
            return QueueStatistics(
                queue: queue,
                statistics: try await reply.sum,
                hasEnqueued: query.unit == .minute,
                recent: try await recent,
                waiting: (counts[.ready] ?? 0) + (counts[.retrying] ?? 0)
            )
        }.map(\.reply)
    }

    // MARK: Output

    private static func columns() -> [StatisticsColumn<QueueStatistics>] {
        [
            .plain("QUEUE", "queue") { $0.queue },
            .count("STARTED", drop: 5) { $0.statistics.started },
            .count("FINISHED") { $0.statistics.finished },
            .count("FAILED") { $0.statistics.failed },
            .count("RETRIED", drop: 4) { $0.statistics.retried },
            .share("ERR", "error_rate") { $0.statistics.errorRate },
            .time("WAIT P50", "wait_p50_ms", drop: 3) { $0.statistics.wait.percentile(0.5) },
            .time("P95", "wait_p95_ms", drop: 3) { $0.statistics.wait.percentile(0.95) },
            .time("RUN P50", "run_p50_ms", drop: 2) { $0.statistics.run.percentile(0.5) },
            .time("P95", "run_p95_ms", drop: 2) { $0.statistics.run.percentile(0.95) },
            .rate("IN/S", "in_per_second", drop: 1) { $0.recent.inPerSecond },
            .rate("OUT/S", "out_per_second", drop: 1) { $0.recent.outPerSecond },
            .count("WAITING") { Int64($0.waiting) },
            StatisticsColumn(
                title: "DRAIN",
                name: "drain_seconds",
                text: { $0.drain.text },
                value: { $0.drain.seconds.map { "\(StatisticsText.rounded($0))" } ?? $0.drain.trend }
            ),
        ]
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

    /// Prints the rows: `docs/schema/queue-statistics.json`.
    static func print(
        _ rows: [QueueStatistics],
        _ query: StatisticsQuery,
        _ reader: StatisticsReader,
        _ invocation: Invocation
    ) {
        let console = invocation.console
        let time = rows.map(\.recent.time).max() ?? invocation.now
        let span = query.times(at: time)
        switch invocation.format {
        case .json:
            let members: [(String, JSONValue)] =
                [("v", 1), ("time", OperationJSON.time(time)), ("namespace", .string(reader.client.namespace))]
                + StatisticsJSON.span(span)
                + [("queues", .array(rows.map(\.json))), ("absentNodes", AbsentNode.json(reader.absent))]
            console.print(.object(JSONObject(members)), .json)
        case .jsonl: console.print(rows.map { $0.json.serialized() })
        case .id: console.print(rows.map(\.queue))
        case .table, .wide, .csv:
            let isEmpty = rows.isEmpty && invocation.format != .csv
            let table = StatisticsText.table(columns(), rows, invocation.format)
            if !isEmpty { console.print(table, invocation.format, showsHeader: invocation.options.showsHeader) }
        }
        console.note(rows.isEmpty ? "no queues yet" : StatisticsText.span(span))
        console.warn(reader.absent)
    }
}

extension DrainEstimate {
    fileprivate var text: String {
        switch self {
        case .empty: "0s"
        case .seconds(let seconds): seconds < 1 ? "<1s" : DurationText.short(.seconds(min(seconds, 1e10)))
        case .grows, .stalled: trend
        }
    }

    /// Seconds until the queue is empty; nil if the queue does not shrink.
    fileprivate var seconds: Double? {
        switch self {
        case .empty: 0
        case .seconds(let seconds): seconds
        case .grows, .stalled: nil
        }
    }

    fileprivate var trend: String {
        switch self {
        case .empty: "empty"
        case .seconds: "shrinks"
        case .grows: "grows"
        case .stalled: "stalled"
        }
    }
}
