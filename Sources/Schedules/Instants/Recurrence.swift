import Operations

/// A rule for repeated runs: at equal intervals, or by a cron expression in a time zone.
///
/// ```swift
/// .every(.seconds(600))
/// .daily(at: "03:00", zone: "Europe/Berlin")
/// .weekly(day: .monday, at: "08:30")
/// .cron("0 3 * * MON-FRI", zone: "Europe/Berlin")
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
        /// A time of day that does not exist.
        case invalid(String)
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

    /// Repeats every day at a time of the clocks in a zone.
    ///
    /// - Parameters:
    ///   - time: a time of day, such as `"03:00"`.
    ///   - zone: the IANA name of a time zone.
    public static func daily(at time: TimeOfDay, zone: String = "UTC") -> Recurrence { time.cron("*", zone) }

    /// Repeats every week at a time of the clocks in a zone.
    ///
    /// - Parameters:
    ///   - day: the day of the week.
    ///   - time: a time of day, such as `"08:30"`.
    ///   - zone: the IANA name of a time zone.
    public static func weekly(day: Weekday, at time: TimeOfDay, zone: String = "UTC") -> Recurrence {
        time.cron(day.rawValue, zone)
    }

    /// A day of the week.
    public enum Weekday: String, Sendable, CaseIterable {
        case sunday = "SUN"
        case monday = "MON"
        case tuesday = "TUE"
        case wednesday = "WED"
        case thursday = "THU"
        case friday = "FRI"
        case saturday = "SAT"
    }

    /// A time of day by the minute: `"03:00"`, or `TimeOfDay(hour: 3)`.
    public struct TimeOfDay: Sendable, Hashable, ExpressibleByStringLiteral {
        /// Hour and minute; nil = the text is no time.
        private let hour: Int?
        private let minute: Int?
        private let text: String

        /// Creates a time. `Recurrence.check` and `ScheduleControl.set` refuse a time that does not exist.
        ///
        /// - Parameters:
        ///   - hour: 0 to 23.
        ///   - minute: 0 to 59.
        public init(hour: Int, minute: Int = 0) {
            (self.hour, self.minute) = (hour, minute)
            text = "\(hour):\((0..<10).contains(minute) ? "0" : "")\(minute)"
        }

        /// Creates a time from its usual form.
        ///
        /// - Parameter value: hour and minute, such as `03:00` or `18:45`.
        public init(stringLiteral value: String) {
            let digits = value.wholeMatch(of: /([0-9]{1,2}):([0-9]{2})/)
            (hour, minute, text) = (digits.flatMap { Int($0.1) }, digits.flatMap { Int($0.2) }, value)
        }

        /// Two times are equal if they are the same time of day, however they are written.
        public static func == (left: Self, right: Self) -> Bool {
            left.hour == right.hour && left.minute == right.minute && (left.hour != nil || left.text == right.text)
        }

        /// Hashes hour and minute.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(hour)
            hasher.combine(minute)
        }

        fileprivate func cron(_ day: String, _ zone: String) -> Recurrence {
            guard let hour, let minute, (0..<24).contains(hour), (0..<60).contains(minute) else {
                return Recurrence(form: .invalid(text))
            }
            return .cron("\(minute) \(hour) * * \(day)", zone: zone)
        }
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
