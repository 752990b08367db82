import Operations

/// A rule for repeated runs: at equal intervals, or by a cron expression in a time zone.
///
/// ```swift
/// .every(.seconds(600))
/// .cron("0 3 * * *", zone: "Europe/Berlin")
/// ```
///
/// `every` counts elapsed time. A cron expression follows the clocks of its zone. When clocks change, the rules of
/// Debian's cron apply:
///
/// - An expression whose minute or hour begins with `*` runs by elapsed time. A skipped time does not run.
/// - An expression with a fixed time runs once. A skipped time runs at the first instant after it. A time that the
///   clocks show twice runs at the first of the two instants.
public struct Recurrence: Sendable, Hashable {
    enum Form: Sendable, Hashable {
        case every(milliseconds: Int64)
        case cron(String, zone: String)
    }

    let form: Form

    /// Repeats at equal intervals of 1 second to 10 years.
    public static func every(_ interval: Duration) -> Recurrence {
        Recurrence(form: .every(milliseconds: interval.wholeMilliseconds))
    }

    /// Repeats at the times that a cron expression matches.
    ///
    /// - Parameters:
    ///   - expression: five fields (minute, hour, day of the month, month, day of the week), six with the seconds
    ///     first, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
    ///   - zone: the IANA name of a time zone.
    public static func cron(_ expression: String, zone: String = "UTC") -> Recurrence {
        Recurrence(form: .cron(expression, zone: zone))
    }

    static let shortest: Int64 = 1000
    static let longest: Int64 = 10 * 366 * 86_400_000

    /// Checks the interval, or the expression and the zone.
    ///
    /// - Throws: `OperationsError` with `.invalidOption`, and with the error and the expected value in its message.
    public func check() throws(OperationsError) { _ = try Instants(self, anchor: 0) }

    /// The names of time zones, for suggestions.
    package static var knownZones: [String] { Zone.knownNames }
}
