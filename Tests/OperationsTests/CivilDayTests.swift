import Testing

@testable import Operations

@Suite("Days of the calendar", .timeLimit(.minutes(60)))
struct CivilDayTests {
    @Test("Every day of eight centuries comes back from its date, and months follow each other")
    func days() throws {
        var before = CivilDay(-200_001)
        for number in -200_000..<100_000 {
            let day = CivilDay(number)
            #expect(day.number == number && CivilDay(year: day.year, month: day.month, day: day.day) == day)
            #expect(day.day == 1 ? day == before.firstOfNextMonth : day.day == before.day + 1)
            before = day
        }
    }

    @Test(
        "Known days have their day numbers",
        arguments: [
            (0, 1970, 1, 1), (-1, 1969, 12, 31), (11_016, 2000, 2, 29), (20_454, 2026, 1, 1), (-719_162, 1, 1, 1),
            (-719_528, 0, 1, 1), (-719_529, -1, 12, 31), (2_932_896, 9999, 12, 31),
        ]
    )
    func known(number: Int, year: Int, month: Int, day: Int) throws {
        #expect(CivilDay(number) == CivilDay(year: year, month: month, day: day))
        #expect(CivilDay(year: year, month: month, day: day)?.number == number)
    }

    @Test(
        "A date that does not exist is no day",
        arguments: [
            (2026, 2, 29), (1900, 2, 29), (2026, 4, 31), (2026, 0, 1), (2026, 13, 1), (2026, 1, 0), (2026, 1, 32),
        ]
    )
    func none(year: Int, month: Int, day: Int) {
        #expect(CivilDay(year: year, month: month, day: day) == nil)
    }

    @Test("A quotient is rounded down, and the remainder is never negative")
    func quotients() {
        #expect([-7, -6, -1, 0, 5, 6].map { $0.floored(by: 6) } == [-2, -1, -1, 0, 0, 1])
        #expect([-7, -6, -1, 0, 5, 6].map { $0.flooredRemainder(by: 6) } == [5, 0, 5, 0, 5, 0])
    }
}
