import Foundation
import Operations
import Testing

@testable import Schedules

@Suite("Instants of recurrences", .timeLimit(.minutes(60)))
struct InstantsTests {
    private static func instant(_ text: String) -> Int64 {
        let format = Date.ISO8601FormatStyle()
        guard let date = try? format.parse(text) else { preconditionFailure("no time: \(text)") }
        return Int64(date.timeIntervalSince1970 * 1000)
    }

    private static func text(_ instant: Int64) -> String {
        Date(timeIntervalSince1970: Double(instant) / 1000).formatted(.iso8601)
    }

    private static func instants(_ recurrence: Recurrence, after: String, _ count: Int) throws -> [String] {
        let instants = try Instants(recurrence, anchor: instant(after))
        var (last, texts) = (instant(after), [String]())
        while texts.count < count, let next = instants.next(after: last) {
            texts.append(text(next))
            last = next
        }
        return texts
    }

    @Test("match an independent program in several time zones from 2026 to 2030", arguments: ZoneTable.rows.indices)
    func zones(index: Int) throws {
        let row = ZoneTable.rows[index]
        let instants = try Instants(.cron(row.expression, zone: row.zone), anchor: 0)
        let end = Self.instant("2031-01-01T00:00:00Z")
        var (count, checksum, last) = (0, 0, Self.instant("2026-01-01T00:00:00Z") - 1)
        var found: Set<Int64> = []
        while let next = instants.next(after: last), next < end {
            #expect(next > last)
            (count, checksum, last) = (count + 1, (checksum * 31 + Int(next / 1000)) % 1_000_000_007, next)
            found.insert(next)
        }
        #expect(count == row.count && checksum == row.checksum, "\(row.expression) in \(row.zone)")
        for change in row.atChanges {
            let expected = Self.instant(change.replacingOccurrences(of: "Z", with: ":00Z"))
            #expect(found.contains(expected), "\(change)")
        }
    }

    @Test("do not depend on the start of the search, even within a repeated hour")
    func beginnings() throws {
        for (zone, around) in [
            ("Europe/Berlin", "2026-10-25T01:00:00Z"), ("Europe/Berlin", "2026-03-29T01:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"), ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
        ] {
            let instants = try Instants(.cron("*/10 * * * *", zone: zone), anchor: 0)
            let (first, last) = (Self.instant(around) - 3 * 3_600_000, Self.instant(around) + 3 * 3_600_000)
            var all: [Int64] = []
            var at = first
            while let next = instants.next(after: at), next < last {
                all.append(next)
                at = next
            }
            for start in stride(from: first, to: all.last ?? first, by: 97_000) {
                let expected = all.first { $0 > start }
                #expect(instants.next(after: start) == expected, "\(zone) from \(Self.text(start))")
                if let expected, expected > all[0] {
                    let before = all.last { $0 < expected }
                    #expect(instants.last(from: all[0], upTo: expected - 1) == before)
                }
            }
        }
    }

    @Test("A skipped time runs at the first instant after it, and a repeated time runs once")
    func rule() throws {
        let daily = Recurrence.cron("30 2 * * *", zone: "Europe/Berlin")
        #expect(
            try Self.instants(daily, after: "2026-03-28T00:00:00Z", 3)
                == ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
        )
        #expect(
            try Self.instants(daily, after: "2026-10-24T00:00:00Z", 3)
                == ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        )
        let halfHour = Recurrence.cron("15 2 * * *", zone: "Australia/Lord_Howe")
        #expect(
            try Self.instants(halfHour, after: "2026-10-03T00:00:00Z", 2)
                == ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"]
        )
    }

    @Test("Cron expressions accept seconds, names, lists, ranges, steps and shorthands")
    func fields() throws {
        for (text, expected) in [
            ("*/20 59 23 31 12 *", ["2026-12-31T23:59:00Z", "2026-12-31T23:59:20Z", "2026-12-31T23:59:40Z"]),
            ("0 9-17/4 * * mon-FRI", ["2026-11-26T13:00:00Z", "2026-11-26T17:00:00Z", "2026-11-27T09:00:00Z"]),
            ("30 8 1,15 JAN,jul ?", ["2027-01-01T08:30:00Z", "2027-01-15T08:30:00Z", "2027-07-01T08:30:00Z"]),
            ("0 0 * * 5-7", ["2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"]),
            ("0 0 * * FRI-SUN", ["2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"]),
            ("0 0 29 2 *", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z", "2036-02-29T00:00:00Z"]),
            ("50/5 12 * * *", ["2026-11-26T12:50:00Z", "2026-11-26T12:55:00Z", "2026-11-27T12:50:00Z"]),
            ("@daily", ["2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"]),
            ("@Yearly", ["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z", "2029-01-01T00:00:00Z"]),
            // Either day matches if neither field begins with *. Both days must match if one does.
            ("0 0 13 * 5", ["2026-11-27T00:00:00Z", "2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z"]),
            ("0 0 */13 * 5", ["2026-11-27T00:00:00Z", "2027-01-01T00:00:00Z", "2027-05-14T00:00:00Z"]),
        ] {
            #expect(try Self.instants(.cron(text), after: "2026-11-26T12:40:00Z", 3) == expected, "\(text)")
        }
    }

    @Test("Equal intervals are counted from an anchor")
    func every() throws {
        let instants = try Instants(.every(.seconds(600)), anchor: 1_000)
        #expect(instants.next(after: 0) == 1_000)
        #expect(instants.next(after: 1_000) == 601_000)
        #expect(instants.next(after: -600_000) == -599_000)
        #expect(instants.last(from: 1_000, upTo: 601_000) == 601_000)
        #expect(instants.last(from: 1_000, upTo: 86_400_000) == 86_401_000 - 600_000)
    }

    @Test("A day or a week is the cron expression of its time")
    func builders() throws {
        #expect(Recurrence.daily(at: "03:30", zone: "Europe/Berlin") == .cron("30 3 * * *", zone: "Europe/Berlin"))
        #expect(Recurrence.daily(at: .init(hour: 23, minute: 5)) == .cron("5 23 * * *"))
        #expect(Recurrence.TimeOfDay(hour: 3) == "03:00" && "3:00" == Recurrence.TimeOfDay(hour: 3))
        #expect(Recurrence.weekly(day: .monday, at: "8:00") == .cron("0 8 * * MON"))
        for (number, day) in Recurrence.Weekday.allCases.enumerated() {
            let next = try Self.instants(.weekly(day: day, at: "12:00"), after: "2026-02-28T12:00:00Z", 1)
            // 1 March 2026 is a Sunday.
            #expect(next == ["2026-03-0\(number + 1)T12:00:00Z"])
        }
        for time in ["24:00", "3", "03:60", "3:00:00", "", "three", "-1:00", "+3:05", "3:5"] as [Recurrence.TimeOfDay] {
            #expect(throws: OperationsError.self) { try Recurrence.daily(at: time).check() }
        }
        let error = #expect(throws: OperationsError.self) { try Recurrence.daily(at: .init(hour: 25)).check() }
        #expect(error?.message == "the time of day is \"25:00\"; expected 00:00 to 23:59")
    }

    @Test("An invalid recurrence is refused with the expected form")
    func refused() {
        for (recurrence, part) in [
            (Recurrence.every(.milliseconds(999)), "expected 1 second to 10 years"),
            (.every(.zero), "expected 1 second"), (.every(.seconds(-5)), "expected 1 second"),
            (.every(.seconds(86_400 * 366 * 11)), "10 years"),
            (.cron("0 0 30 2 *"), "never matches: FEB has no day 30"),
            (.cron("0 0 31 2,4,6 *"), "never matches: FEB,APR,JUN has no day 31"),
            (.cron("0 25 * * *"), #"the hour is "25"; expected 0 to 23"#),
            (.cron("0 3 * * MOON"), #"the day of the week is "MOON"; expected 0 to 7 or SUN to SAT"#),
            (.cron("0 3 * *"), "it has 4 fields; expected five"),
            (.cron(""), "it has 0 fields"), (.cron("* * * * * * *"), "it has 7 fields"),
            (.cron("*/0 * * * *"), #"the step "0" of the minute"#), (.cron("*/x * * * *"), #"the step "x""#),
            (.cron("0 22-6 * * *"), "runs backwards"), (.cron("0 3,,4 * * *"), #"the hour is """#),
            (.cron("@reboot"), "expected @annually"), (.cron("-1 * * * *"), "the minute is"),
            (.cron("0 3 * * *", zone: "Europe/Berln"), #"time zone "Europe/Berln" is unknown"#),
            (.cron("0 3 * * *", zone: "GMT+2"), "unknown"), (.cron("0 3 * * *", zone: ""), "unknown"),
        ] {
            let error = #expect(throws: OperationsError.self) { try recurrence.check() }
            #expect(error?.code == .invalidOption)
            #expect(error?.message.contains(part) == true, "\(String(describing: error))")
        }
    }
}
