import Operations
import TerminalText

/// The value by which a list of statistics is sorted, the largest first.
package enum StatisticsOrder: String, CaseIterable, Sendable {
    /// Ended attempts.
    case count
    /// Failed attempts.
    case errors
    /// The p95 of the wait.
    case wait
    /// The p95 of the run time.
    case run
    /// The sum of all run times.
    case total
    /// The growth of the mean run time.
    case change

    package func value(of statistics: Statistics) -> Double {
        switch self {
        case .count, .change: Double(statistics.ended)
        case .errors: Double(statistics.failed + statistics.retried)
        case .wait: statistics.wait.percentile(0.95) ?? -1
        case .run: statistics.run.percentile(0.95) ?? -1
        case .total: Double(statistics.run.microseconds)
        }
    }
}

extension ReportColumn {
    /// A time span, in milliseconds.
    static func span(
        _ title: String,
        csv: String,
        drop: Int = 0,
        _ milliseconds: @escaping (Row) -> Double?
    ) -> Self {
        figure(title, csv: csv, drop: drop, StatisticsText.time, milliseconds)
    }

    /// A part of a whole.
    static func share(_ title: String, csv: String, drop: Int = 0, _ part: @escaping (Row) -> Double?) -> Self {
        figure(title, csv: csv, drop: drop, StatisticsText.percent, part)
    }

    /// A number per second.
    static func rate(_ title: String, csv: String, drop: Int = 0, _ perSecond: @escaping (Row) -> Double?) -> Self {
        figure(title, csv: csv, drop: drop, { QuantityText.rate($0) }, perSecond)
    }

    /// A number that people see as text.
    static func figure(
        _ title: String,
        csv: String,
        drop: Int = 0,
        _ text: @escaping (Double) -> String,
        _ number: @escaping (Row) -> Double?
    ) -> Self {
        Self(
            TableColumn(title, alignment: .right, dropPriority: drop),
            csv: csv,
            value: { StatisticsJSON.rounded(number($0)) },
            cell: { row, _ in TableCell(number(row).map(text) ?? "–") }
        )
    }
}

/// Formats statistics as text.
package enum StatisticsText {
    /// `<1ms`, `12ms`, `1.2s`, `2m41s`.
    package static func time(_ milliseconds: Double) -> String {
        milliseconds < 1 ? "<1ms" : DurationText.precise(.microseconds(Int64(milliseconds * 1000)))
    }

    /// A percentage, with one decimal below 10 %.
    package static func percent(_ part: Double) -> String {
        let percent = part * 100
        let tenths = (percent * 10).rounded() / 10
        return percent == 0 || tenths >= 10 ? "\(Int(percent.rounded()))%" : "\(max(0.1, tenths))%"
    }

    /// The mark of a rate of failed attempts. A few that fail and are retried are usual.
    package static func role(ofErrors rate: Double?) -> TextRole {
        switch rate ?? 0 {
        case 0.05...: .dead
        case 0.01...: .warning
        default: .plain
        }
    }

    /// `+92%`, `-8%`: the change against the earlier span.
    package static func change(_ factor: Double) -> String {
        let percent = Int(min(1e6, (factor - 1) * 100).rounded())
        return percent > 0 ? "+\(percent)%" : "\(percent)%"
    }

    /// Rounds to thousandths.
    static func rounded(_ number: Double) -> Double { (number * 1000).rounded() / 1000 }

    /// `from 2026-01-05 10:00 to 2026-01-05 12:41 UTC`
    package static func span(_ times: (from: Int64, to: Int64)) -> String {
        let minute = { TimeText.rfc3339($0).prefix(16).replacing("T", with: " ") }
        return "from \(minute(times.from)) to \(minute(times.to)) UTC"
    }
}

/// Formats statistics as JSON.
package enum StatisticsJSON {
    /// The members of a JSON object.
    static func members(_ statistics: Statistics) -> [(String, JSONValue)] {
        [
            ("started", .number(statistics.started)),
            ("finished", .number(statistics.finished)),
            ("failed", .number(statistics.failed)),
            ("retried", .number(statistics.retried)),
            ("cancelled", .number(statistics.cancelled)),
            ("errorRate", rounded(statistics.errorRate)),
            ("wait", times(statistics.wait)),
            ("run", times(statistics.run)),
        ]
    }

    private static func times(_ histogram: DurationHistogram) -> JSONValue {
        [
            "count": .number(histogram.count),
            "totalMilliseconds": .number(histogram.microseconds / 1000),
            "meanMilliseconds": rounded(histogram.meanMilliseconds),
            "p50Milliseconds": rounded(histogram.percentile(0.5)),
            "p95Milliseconds": rounded(histogram.percentile(0.95)),
            "p99Milliseconds": rounded(histogram.percentile(0.99)),
        ]
    }

    static func rounded(_ number: Double?) -> JSONValue { JSONValue(number.map(StatisticsText.rounded)) }

    /// The members `from` and `to`.
    package static func span(_ times: (from: Int64, to: Int64)) -> [(String, JSONValue)] {
        [("from", OperationJSON.time(times.from)), ("to", OperationJSON.time(times.to))]
    }
}
