import ArgumentParser
import Operations
import SluiceMonitor
import SluiceOperator
import TerminalText

/// The value by which a list of statistics is sorted, the largest first.
package enum StatisticsOrder: String, CaseIterable, Sendable, ExpressibleByArgument {
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

    func value(of statistics: Statistics) -> Double {
        switch self {
        case .count, .change: Double(statistics.ended)
        case .errors: Double(statistics.failed + statistics.retried)
        case .wait: statistics.wait.percentile(0.95) ?? -1
        case .run: statistics.run.percentile(0.95) ?? -1
        case .total: Double(statistics.run.microseconds)
        }
    }
}

/// A column of statistics: formatted text for people, and a plain value for CSV.
struct StatisticsColumn<Row> {
    let title: String
    /// The name in CSV.
    let name: String
    var dropPriority = 0
    var alignment = TextAlignment.right
    let text: (Row) -> String
    let value: (Row) -> String

    /// A column with the same text for people and for CSV.
    static func plain(_ title: String, _ name: String, _ text: @escaping (Row) -> String) -> Self {
        Self(title: title, name: name, alignment: .left, text: text, value: text)
    }

    static func count(_ title: String, drop: Int = 0, _ number: @escaping (Row) -> Int64?) -> Self {
        Self(
            title: title,
            name: title,
            dropPriority: drop,
            text: { number($0).map { QuantityText.grouped($0) } ?? "–" },
            value: { number($0).map { "\($0)" } ?? "" }
        )
    }

    static func time(_ title: String, _ name: String, drop: Int = 0, _ milliseconds: @escaping (Row) -> Double?) -> Self
    {
        Self(
            title: title,
            name: name,
            dropPriority: drop,
            text: { milliseconds($0).map(StatisticsText.time) ?? "–" },
            value: { milliseconds($0).map { "\(StatisticsText.rounded($0))" } ?? "" }
        )
    }

    static func share(_ title: String, _ name: String, drop: Int = 0, _ part: @escaping (Row) -> Double?) -> Self {
        Self(
            title: title,
            name: name,
            dropPriority: drop,
            text: { part($0).map(StatisticsText.percent) ?? "–" },
            value: { part($0).map { "\(StatisticsText.rounded($0))" } ?? "" }
        )
    }

    static func rate(_ title: String, _ name: String, drop: Int = 0, _ perSecond: @escaping (Row) -> Double) -> Self {
        Self(
            title: title,
            name: name,
            dropPriority: drop,
            text: { QuantityText.rate(perSecond($0)) },
            value: { "\(StatisticsText.rounded(perSecond($0)))" }
        )
    }
}

/// Formats statistics as text.
enum StatisticsText {
    static func table<Row>(_ columns: [StatisticsColumn<Row>], _ rows: [Row], _ format: OutputFormat) -> Table {
        let isCSV = format == .csv
        var table = Table(
            columns.map {
                TableColumn(isCSV ? $0.name : $0.title, alignment: $0.alignment, dropPriority: $0.dropPriority)
            }
        )
        for row in rows { table.append(columns.map { TableCell(isCSV ? $0.value(row) : $0.text(row)) }) }
        return table
    }

    /// `<1ms`, `12ms`, `1.2s`, `2m41s`.
    static func time(_ milliseconds: Double) -> String {
        milliseconds < 1 ? "<1ms" : DurationText.precise(.microseconds(Int64(milliseconds * 1000)))
    }

    /// A percentage, with one decimal below 10 %.
    static func percent(_ part: Double) -> String {
        let percent = part * 100
        let tenths = (percent * 10).rounded() / 10
        return percent == 0 || tenths >= 10 ? "\(Int(percent.rounded()))%" : "\(max(0.1, tenths))%"
    }

    /// `+92%`, `-8%`: the change against the earlier span.
    static func change(_ factor: Double) -> String {
        let percent = Int(min(1e6, (factor - 1) * 100).rounded())
        return percent > 0 ? "+\(percent)%" : "\(percent)%"
    }

    /// Rounds to thousandths.
    static func rounded(_ number: Double) -> Double { (number * 1000).rounded() / 1000 }

    /// `from 2026-01-05 10:00 to 2026-01-05 12:41 UTC`
    static func span(_ times: (from: Int64, to: Int64)) -> String {
        let minute = { TimeText.rfc3339($0).prefix(16).replacing("T", with: " ") }
        return "from \(minute(times.from)) to \(minute(times.to)) UTC"
    }
}

/// Formats statistics as JSON.
enum StatisticsJSON {
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
    static func span(_ times: (from: Int64, to: Int64)) -> [(String, JSONValue)] {
        [("from", OperationJSON.time(times.from)), ("to", OperationJSON.time(times.to))]
    }
}
