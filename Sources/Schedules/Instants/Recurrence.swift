import Operations

/// When something runs again and again: after equal times, or by a cron expression in a time zone.
///
/// ```swift
/// .every(.seconds(600))
/// .cron("0 3 * * *", zone: "Europe/Berlin")
/// ```
///
/// `every` counts elapsed time. A cron expression follows the clocks of its zone. Where they change, an expression whose minute or hour begins
/// with `*` runs by elapsed time, and not for a time that they skip. One with a fixed time runs once: at the first instant after a time that they skip, and at the
/// first of two that they show. This is the rule of Debian's cron.
public struct Recurrence: Sendable, Hashable {
    enum Form: Sendable, Hashable {
        case every(milliseconds: Int64)
        case cron(String, zone: String)
    }

    let form: Form

    /// After equal times, at least a second, at most 10 years.
    public static func every(_ interval: Duration) -> Recurrence {
        Recurrence(form: .every(milliseconds: interval.wholeMilliseconds))
    }

    /// At the times that a cron expression matches.
    ///
    /// - Parameters:
    ///   - expression: five fields (minute, hour, day of the month, month, day of the week), six with the seconds first, or `@hourly`, `@daily`,
    ///     `@weekly`, `@monthly`, `@yearly`.
    ///   - zone: the IANA name of a time zone.
    public static func cron(_ expression: String, zone: String = "UTC") -> Recurrence {
        Recurrence(form: .cron(expression, zone: zone))
    }

    static let shortest: Int64 = 1000
    static let longest: Int64 = 10 * 366 * 86_400_000

    /// Checks the interval, or the expression and the zone.
    ///
    /// - Throws: `OperationsError` with `.invalidOption`: what is wrong, and what was expected.
    public func check() throws(OperationsError) { _ = try Instants(self, anchor: 0) }

    /// The names of time zones, for suggestions.
    package static var knownZones: [String] { Zone.knownNames }
}
