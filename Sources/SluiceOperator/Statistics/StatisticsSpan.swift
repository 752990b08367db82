import Operations
import Selectors
import TerminalText

/// The minutes, hours or days to read for a time span up to now, and for an earlier span to compare with.
///
/// The span begins with a whole minute, hour or day, so it may be longer than requested.
package struct StatisticsSpan: Sendable, Equatable {
    package private(set) var query: StatisticsQuery
    /// The earlier span, of the same length.
    package private(set) var before: StatisticsQuery?

    /// Uses the smallest unit whose statistics are kept long enough.
    ///
    /// - Throws: `QueryError` if no unit is kept for that long.
    package init(since: Duration, from smallest: StatisticsQuery.Unit) throws(QueryError) {
        let units = StatisticsQuery.Unit.allCases.drop { $0 != smallest }
        guard let unit = units.first(where: { since <= $0.keptTime }) else { throw Self.tooLong("--since", since) }
        query = StatisticsQuery(unit, count: min(unit.kept, unit.count(in: since) + 1))
    }

    /// Statistics by name for a span, and for a span of the same length that lies `earlier` before it.
    ///
    /// - Throws: `QueryError` if the spans overlap, or if no unit is kept for that long.
    package init(since: Duration, comparedWith earlier: Duration) throws(QueryError) {
        guard earlier >= since else {
            throw QueryError(
                "--compare \(DurationText.exact(earlier)) is shorter than --since \(DurationText.exact(since)): the times overlap",
                fix: "--compare \(DurationText.exact(since))"
            )
        }
        let units: [StatisticsQuery.Unit] = [.hour, .day]
        guard
            let unit = units.first(where: {
                since + earlier <= $0.keptTime && earlier >= .milliseconds($0.milliseconds)
            })
        else { throw Self.tooLong("--since and --compare", since + earlier) }
        let skip = unit.count(in: earlier)
        let count = max(1, min(unit.count(in: since) + 1, skip, unit.kept - skip))
        query = StatisticsQuery(unit, count: count)
        before = StatisticsQuery(unit, count: count, skip: skip)
    }

    /// Hours that are enough for a comparison; days are compared if fewer are stored.
    private static let enoughHours = 12

    /// Statistics by name for a time since an instant, compared with an equally long time before it. The hour
    /// or day of the instant counts for neither, unless it is the current one.
    ///
    /// - Returns: nil if no statistics from before the instant are stored.
    package init?(around instant: Int64, now: Int64) {
        for unit in [StatisticsQuery.Unit.hour, .day] {
            let age = max(0, Int(clamping: now / unit.milliseconds - instant / unit.milliseconds))
            let wanted = max(1, age)
            let count = min(wanted, unit.kept - age - 1)
            guard count >= (unit == .hour ? min(wanted, Self.enoughHours) : 1) else { continue }
            query = StatisticsQuery(unit, count: count, skip: age - count)
            before = StatisticsQuery(unit, count: count, skip: age + 1)
            return
        }
        return nil
    }

    private static func tooLong(_ what: String, _ time: Duration) -> QueryError {
        QueryError(
            "\(what): \(DurationText.exact(time)) is longer than 30 days, which is how long statistics are stored",
            fix: "--since 30d"
        )
    }
}

extension StatisticsQuery.Unit {
    fileprivate var keptTime: Duration { .milliseconds(milliseconds * Int64(kept)) }

    /// The number of units that cover a time, at least one.
    fileprivate func count(in time: Duration) -> Int {
        Int(max(1, (time.wholeMilliseconds + milliseconds - 1) / milliseconds))
    }
}

extension StatisticsQuery {
    /// The time span of the query, in milliseconds of server time.
    package func times(at now: Int64) -> (from: Int64, to: Int64) {
        let numbers = numbers(at: now)
        return (numbers.lowerBound * unit.milliseconds, min(now, numbers.upperBound * unit.milliseconds))
    }
}
