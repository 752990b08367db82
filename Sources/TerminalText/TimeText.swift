import Foundation
import Operations

/// The form of times: the values of the flag.
package enum TimeStyle: String, Sendable, CaseIterable {
    case relative, iso, unix
}

/// Points in time as text. Times are milliseconds since 1970 (UTC), as Redis' clock gives them.
package enum TimeText {
    /// RFC 3339 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`.
    package static func rfc3339(_ milliseconds: Int64) -> String {
        let date = CivilDay(Int(milliseconds.floored(by: 86_400_000)))
        return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T"
            + clock(milliseconds, fraction: true) + "Z"
    }

    /// The time of day in UTC: `12:04:31` or `12:04:31.204`.
    package static func clock(_ milliseconds: Int64, fraction: Bool = false) -> String {
        let time = milliseconds.flooredRemainder(by: 86_400_000)
        let seconds = time / 1_000
        let clock = "\(padded(seconds / 3_600, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2))"
        return fraction ? "\(clock).\(padded(time % 1_000, 3))" : clock
    }

    /// The time of day in UTC, after the date if it is of another day than now: `11-24 12:04:31`.
    package static func clock(_ milliseconds: Int64, fraction: Bool = false, now: Int64?) -> String {
        let clock = clock(milliseconds, fraction: fraction)
        let day = Int64(86_400_000)
        guard let now, milliseconds.floored(by: day) != now.floored(by: day) else { return clock }
        return rfc3339(milliseconds).dropFirst(5).prefix(5) + " " + clock
    }

    /// The distance to now: `2m ago`, `in 34s`, `in 4h59m`, `now`.
    ///
    /// A time to come has two units, because people plan with it: with one, "in 4h" may be five hours.
    package static func relative(_ milliseconds: Int64, now: Int64) -> String {
        let distance = Duration.milliseconds(milliseconds) - Duration.milliseconds(now)
        if distance >= .seconds(1) { return "in " + DurationText.short(distance) }
        return distance <= .seconds(-1) ? DurationText.coarse(.zero - distance) + " ago" : "now"
    }

    /// A time in the chosen style. Unix times are seconds with three decimals.
    package static func format(_ milliseconds: Int64, _ style: TimeStyle, now: Int64) -> String {
        switch style {
        case .relative: relative(milliseconds, now: now)
        case .iso: rfc3339(milliseconds)
        case .unix:
            "\(milliseconds.floored(by: 1_000)).\(padded(milliseconds.flooredRemainder(by: 1_000), 3))"
        }
    }

    /// Reads an RFC 3339 time; a space may stand for the `T`, and decimals beyond milliseconds are cut.
    /// - Throws: `TextError` with the text and a correct example in its message.
    package static func parse(_ text: String) throws(TextError) -> Int64 {
        guard let milliseconds = TimeParser(text)?.milliseconds else {
            throw TextError(
                code: .time,
                message: "\"\(SafeText.line(text))\" is not a time; write date, time and zone, like "
                    + "2026-01-31T17:30:00Z or 2026-01-31T18:30:00+01:00"
            )
        }
        return milliseconds
    }

    fileprivate static func padded(_ number: some BinaryInteger, _ length: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, length - digits.count)) + digits
    }
}

/// Reads the fixed fields of an RFC 3339 time one after the other.
private struct TimeParser {
    private(set) var milliseconds: Int64 = 0
    private var rest: Substring.UTF8View

    init?(_ text: String) {
        rest = text[...].utf8
        guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2),
            let date = CivilDay(year: year, month: month, day: day), take("T") || take("t") || take(" "),
            let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60, take(":"),
            let second = number(2), second <= 60, let fraction = fraction(), let offset = offset(), rest.isEmpty
        else { return nil }
        let minutes = date.number * 1_440 + hour * 60 + minute - offset
        milliseconds = Int64((minutes * 60 + second) * 1_000 + fraction)
    }

    private mutating func number(_ digits: Int) -> Int? {
        let field = rest.prefix(digits)
        guard field.count == digits, field.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(digits)
        return Int(Substring(field))
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let byte = rest.first, UInt32(byte) == character.value else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// Milliseconds after the point; 0 without one.
    private mutating func fraction() -> Int? {
        guard take(".") else { return 0 }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        return Int(String(Substring(digits.prefix(3))).padding(toLength: 3, withPad: "0", startingAt: 0))
    }

    /// Minutes east of UTC.
    private mutating func offset() -> Int? {
        if take("Z") || take("z") { return 0 }
        let isEast = take("+")
        guard isEast || take("-"), let hours = number(2), hours < 24, take(":"), let minutes = number(2), minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (isEast ? 1 : -1)
    }
}
