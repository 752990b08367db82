import Operations

/// A cron expression: the local times that it matches.
///
/// Has five fields, from minute to day of the week, or six with the seconds first. The alternative is one of `@hourly
/// @daily @midnight @weekly @monthly @yearly @annually`. If neither day field begins with `*` or `?`, a day matches if
/// one of the fields does, as in cron.
struct CronExpression: Sendable, Equatable {
    let text: String
    private let seconds: UInt64
    private let minutes: UInt64
    private let hours: UInt64
    private let daysOfMonth: UInt64
    private let months: UInt64
    private let daysOfWeek: UInt64
    /// Whether a day matches if one of its two fields does, instead of both.
    private let isEitherDay: Bool
    /// Whether the expression runs by elapsed time when clocks change, as in Debian's cron: its minute or hour begins
    /// with `*`.
    let runsByElapsedTime: Bool

    private static let shorthands = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
    ]
    /// An expression that matches at all matches within this many years. The longest gap is that of 29 February on a
    /// certain day of the week.
    private static let farthestYears = 48

    /// - Throws: `.invalidOption` with the error and the expected form in its message.
    init(_ text: String) throws(OperationsError) {
        self.text = text
        do {
            let fields = try Self.fields(text)
            seconds = try CronField.second.values(fields[0])
            minutes = try CronField.minute.values(fields[1])
            hours = try CronField.hour.values(fields[2])
            daysOfMonth = try CronField.dayOfMonth.values(fields[3])
            months = try CronField.month.values(fields[4])
            let week = try CronField.dayOfWeek.values(fields[5])
            daysOfWeek = (week | week >> 7) & 0x7f
            isEitherDay = !fields[3].isOpen && !fields[5].isOpen
            runsByElapsedTime = fields[1].hasPrefix("*") || fields[2].hasPrefix("*")
        } catch {
            throw OperationsError(.invalidOption, "cron expression \(OperationsError.quoted(text)): \(error.message)")
        }
        try checkMatches()
    }

    /// The six fields, with the seconds first.
    private static func fields(_ text: String) throws(OperationsError) -> [Substring] {
        if text.hasPrefix("@") {
            guard let fields = shorthands[text.lowercased()] else {
                throw OperationsError(
                    .invalidOption,
                    "expected \(shorthands.keys.sorted().joined(separator: ", ")), or five or six fields"
                )
            }
            return try Self.fields(fields)
        }
        let fields = text.split(whereSeparator: \.isWhitespace)
        guard (5...6).contains(fields.count) else {
            throw OperationsError(
                .invalidOption,
                "it has \(fields.count) \(fields.count == 1 ? "field" : "fields"); expected five (minute hour day month weekday), or six with the "
                    + "seconds first, as in \"0 3 * * MON\""
            )
        }
        return fields.count == 5 ? ["0"] + fields : fields
    }

    /// Refuses days that never exist, such as 30 February.
    private func checkMatches() throws(OperationsError) {
        let possible = (1...12).contains { month in
            months.has(month) && (1...CivilDay.mostDays(month: month)).contains { daysOfMonth.has($0) }
        }
        guard !possible, !isEitherDay else { return }
        let month = (1...12).filter { months.has($0) }.map { CronField.month.words[$0 - 1] }.joined(separator: ",")
        let days = (1...31).filter { daysOfMonth.has($0) }.map(String.init).joined(separator: ",")
        throw OperationsError(
            .invalidOption,
            "cron expression \(OperationsError.quoted(text)) never matches: \(month) has no day \(days); expected a day that exists, as in "
                + "\"0 3 28 2 *\""
        )
    }

    // MARK: Search

    /// The first matching local time at or after this one, in seconds since 1970-01-01 00:00 local time; nil if no time
    /// matches for decades.
    func match(from local: Int64) -> Int64? {
        let day = Int(local.floored(by: 86_400))
        let second = Int(local - Int64(day) * 86_400)
        if matches(CivilDay(day), day), let time = time(from: second) { return Int64(day) * 86_400 + Int64(time) }
        guard let next = self.day(after: day), let time = time(from: 0) else { return nil }
        return Int64(next) * 86_400 + Int64(time)
    }

    private func matches(_ date: CivilDay, _ number: Int) -> Bool {
        guard months.has(date.month) else { return false }
        let (ofMonth, ofWeek) = (
            daysOfMonth.has(date.day), daysOfWeek.has((number + 4) - (number + 4).floored(by: 7) * 7)
        )
        return isEitherDay ? ofMonth || ofWeek : ofMonth && ofWeek
    }

    private func day(after number: Int) -> Int? {
        var number = number + 1
        var date = CivilDay(number)
        let lastYear = date.year + Self.farthestYears
        while date.year <= lastYear {
            if !months.has(date.month) {
                date = date.firstOfNextMonth
                number = date.number
            } else if matches(date, number) {
                return number
            } else {
                number += 1
                date = CivilDay(number)
            }
        }
        return nil
    }

    /// The first matching second of a day at or after this one.
    private func time(from second: Int) -> Int? {
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60)
        if hours.has(hour) {
            if minutes.has(minute), let second = seconds.first(from: second) {
                return hour * 3600 + minute * 60 + second
            }
            if let minute = minutes.first(from: minute + 1), let second = seconds.first(from: 0) {
                return hour * 3600 + minute * 60 + second
            }
        }
        guard let hour = hours.first(from: hour + 1), let minute = minutes.first(from: 0),
            let second = seconds.first(from: 0)
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }
}

extension UInt64 {
    fileprivate func has(_ bit: Int) -> Bool { self >> UInt64(bit) & 1 == 1 }

    /// The lowest set bit at or above this one.
    fileprivate func first(from bit: Int) -> Int? {
        let rest = (self >> UInt64(bit)) << UInt64(bit)
        return rest == 0 ? nil : rest.trailingZeroBitCount
    }
}

extension Substring {
    /// Whether the field does not restrict the day, as cron reads it.
    fileprivate var isOpen: Bool { hasPrefix("*") || hasPrefix("?") }
}
