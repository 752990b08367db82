/// A day of the Gregorian calendar, also before its introduction.
package struct CivilDay: Hashable, Sendable {
    package let year: Int
    /// 1 to 12.
    package let month: Int
    /// 1 to 31.
    package let day: Int

    /// - Parameter number: days since 1970-01-01.
    package init(_ number: Int) {
        // Count years from March, so that the leap day is the last day of a year.
        let shifted = number + 719_468
        let era = shifted.floored(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// - Returns: nil if the calendar has no such day.
    package init?(year: Int, month: Int, day: Int) {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        guard (1...12).contains(month), day >= 1, day <= Self.mostDays(month: month), month != 2 || day < 29 || isLeap
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    private init(firstOf month: Int, year: Int) { (self.year, self.month, day) = (year, month, 1) }

    /// Days since 1970-01-01.
    package var number: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear.floored(by: 400)
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    package var firstOfNextMonth: CivilDay {
        month == 12 ? CivilDay(firstOf: 1, year: year + 1) : CivilDay(firstOf: month + 1, year: year)
    }

    /// The largest number of days that a month has in any year.
    package static func mostDays(month: Int) -> Int {
        switch month {
        case 2: 29
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension BinaryInteger {
    /// The quotient, rounded down also below zero.
    package func floored(by divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// The remainder of `floored(by:)`: from 0 to below the divisor.
    package func flooredRemainder(by divisor: Self) -> Self {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}
