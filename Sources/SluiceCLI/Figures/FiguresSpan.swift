import Operations
import TerminalText

/// Which minutes, hours or days are read for a time up to now, and for an earlier one that is compared with it.
///
/// The time begins with a whole minute, hour or day, so that it may be longer than what was asked for.
struct FiguresSpan: Sendable, Equatable {
    var query: FiguresQuery
    /// As long, and earlier.
    var before: FiguresQuery?

    /// The smallest unit that is kept for so long.
    init(since: Duration, from smallest: FiguresQuery.Unit) throws(CLIError) {
        let units = FiguresQuery.Unit.allCases.drop { $0 != smallest }
        guard let unit = units.first(where: { since <= $0.keptTime }) else { throw Self.tooLong("--since", since) }
        query = FiguresQuery(unit, count: min(unit.kept, unit.count(in: since) + 1))
    }

    /// Of names, and the same so long before.
    init(since: Duration, comparedWith earlier: Duration) throws(CLIError) {
        guard earlier >= since else {
            throw CLIError.usage(
                "--compare \(DurationText.exact(earlier)) is shorter than --since \(DurationText.exact(since)): the times overlap",
                fix: "--compare \(DurationText.exact(since))"
            )
        }
        let units: [FiguresQuery.Unit] = [.hour, .day]
        guard
            let unit = units.first(where: {
                since + earlier <= $0.keptTime && earlier >= .milliseconds($0.milliseconds)
            })
        else { throw Self.tooLong("--since and --compare", since + earlier) }
        let skip = unit.count(in: earlier)
        let count = max(1, min(unit.count(in: since) + 1, skip, unit.kept - skip))
        query = FiguresQuery(unit, count: count)
        before = FiguresQuery(unit, count: count, skip: skip)
    }

    private static func tooLong(_ what: String, _ time: Duration) -> CLIError {
        CLIError.usage(
            "\(what): \(DurationText.exact(time)) is longer than the 30 days that are kept",
            fix: "--since 30d"
        )
    }
}

extension FiguresQuery.Unit {
    fileprivate var keptTime: Duration { .milliseconds(milliseconds * Int64(kept)) }

    /// How many it takes for a time, at least one.
    fileprivate func count(in time: Duration) -> Int {
        Int(max(1, (time.wholeMilliseconds + milliseconds - 1) / milliseconds))
    }
}

extension FiguresQuery {
    /// From when to when it reads, in milliseconds of server time.
    func times(at now: Int64) -> (from: Int64, to: Int64) {
        let numbers = numbers(at: now)
        return (numbers.lowerBound * unit.milliseconds, min(now, numbers.upperBound * unit.milliseconds))
    }
}
