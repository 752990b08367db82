import Foundation
import Operations
import Testing

@testable import Schedules

@Suite("A schedule at its instant", .timeLimit(.minutes(60)))
struct StepsTests {
    private static func definition(
        _ recurrence: Recurrence = .every(.seconds(10)),
        _ rules: ScheduleRules = ScheduleRules()
    ) -> ScheduleDefinition {
        let envelope = OperationEnvelope(name: "report", arguments: Array(#"{"a":"ü\n"}"#.utf8), tags: ["t"]).encoded()
        return ScheduleDefinition(recurrence: recurrence, anchor: 5000, rules: rules, envelope: envelope)
    }

    private func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    @Test("Each instant less than a minute late is enqueued, in order")
    func late() {
        let definition = Self.definition()
        var (due, enqueued): (Int64?, [Int64]) = (15_000, [])
        while let instant = due, instant <= 74_999 {
            let step = definition.step(due: instant, now: 74_999)
            enqueued += step.enqueued.map { [$0] } ?? []
            due = step.next
        }
        #expect(enqueued == [15_000, 25_000, 35_000, 45_000, 55_000, 65_000])
        #expect(due == 75_000)
    }

    @Test("Only the latest of several missed instants is enqueued, or none")
    func missed() {
        let (day, year): (Int64, Int64) = (86_400_000, 31_536_000_000)
        let latest = Self.definition().step(due: 15_000, now: year)
        let expected = ScheduleDefinition.Step(enqueued: year - 5000, next: year + 5000, hasMissed: true)
        #expect(latest == expected)
        let alone = Self.definition(.cron("0 0 * * *")).step(due: day, now: day + day - 1)
        let single = ScheduleDefinition.Step(enqueued: day, next: day + day, hasMissed: false)
        #expect(alone == single)
        let skipped = Self.definition(.every(.seconds(10)), .init(misfire: .skip)).step(due: 15_000, now: 75_000)
        #expect(skipped == ScheduleDefinition.Step(enqueued: nil, next: 85_000, hasMissed: true))
    }

    @Test("No instant is before the start or after the end")
    func bounds() {
        let rules = ScheduleRules(start: date(25_000), end: date(45_000))
        #expect(Self.definition(.every(.seconds(10)), rules).next(9, after: 0) == [25_000, 35_000, 45_000])
        let between = ScheduleRules(start: date(25_001), end: date(44_999))
        #expect(Self.definition(.every(.seconds(10)), between).next(9, after: 0) == [35_000])
        let ended = Self.definition(.every(.seconds(10)), rules).step(due: 35_000, now: 900_000)
        #expect(ended == ScheduleDefinition.Step(enqueued: 45_000, next: nil, hasMissed: true))
    }

    @Test("The operation of an instant always has the same id and jitter")
    func operation() {
        let definition = Self.definition(.every(.seconds(10)), .init(jitter: .seconds(5)))
        func operation(_ instant: Int64, now: Int64) -> NewOperation {
            definition.operation(schedule: "s", queue: "q", instant: instant, now: now)
        }
        let first = operation(15_000, now: 15_000)
        #expect(operation(15_000, now: 15_000) == first)
        #expect(operation(15_000, now: 25_000).delayMilliseconds == 0)
        let delays = (0..<200).map { operation($0 * 10_000, now: $0 * 10_000).delayMilliseconds }
        #expect(delays.allSatisfy { (0...5000).contains($0) } && Set(delays).count > 150)
        #expect(operation(25_000, now: 0).id > first.id)
    }

    @Test("An operation names its schedule, and with ifExists has the schedule's unique key")
    func named() throws {
        func operation(_ rules: ScheduleRules) -> NewOperation {
            Self.definition(.every(.seconds(10)), rules)
                .operation(schedule: "nightly", queue: "q", instant: 15_000, now: 15_000)
        }
        let plain = operation(.init())
        #expect(plain.links == nil)
        let envelope = try OperationEnvelope(plain.envelope)
        #expect(envelope.schedule == "nightly" && envelope.tags == ["t"] && envelope.encoded() == plain.envelope)
        for policy in ScheduleRules.IfExists.allCases {
            let claim = UniqueClaim(key: "schedule:nightly", policy: policy.policy)
            #expect(policy.rawValue == policy.policy.word)
            #expect(operation(.init(ifExists: policy)).links == OperationLinks(unique: claim))
        }
    }

    @Test("A definition survives a round trip through its encoding")
    func json() throws {
        let rules = ScheduleRules(
            misfire: .skip,
            ifExists: .keepLatest,
            jitter: .seconds(3),
            start: date(1),
            end: date(2)
        )
        var definition = Self.definition(.cron(#"*/5 0  3 * * MON-FRI"#, zone: "Asia/Kathmandu"), rules)
        definition.anchor = 0
        definition.priority = .high
        definition.expiresMilliseconds = 900
        #expect(try ScheduleDefinition(definition.encoded()) == definition)
        #expect(try ScheduleDefinition(Self.definition().encoded()) == Self.definition())
        for text in [
            "{}", "[]", "", #"{"every":1000}"#, #"{"every":10,"operation":{"name":"n"}}"#,
            #"{"cron":"x","operation":{}}"#, #"{"every":1000,"overlap":"debounce","operation":{"name":"n"}}"#,
        ] {
            #expect(throws: OperationsError.self, "\(text)") { try ScheduleDefinition(Array(text.utf8)) }
        }
    }

    @Test("Local times include their offset")
    func localTimes() {
        let berlin = Recurrence.cron("0 3 * * *", zone: "Europe/Berlin")
        #expect(berlin.localTime(1_774_746_000_000) == "2026-03-29T03:00:00+02:00")
        #expect(Recurrence.cron("0 3 * * *", zone: "America/New_York").localTime(0) == "1969-12-31T19:00:00-05:00")
        #expect(
            Recurrence.cron("0 3 * * *", zone: "Asia/Kathmandu").localTime(1_774_746_000_000)
                == "2026-03-29T06:45:00+05:45"
        )
        #expect(Recurrence.every(.seconds(5400)).localTime(0) == "1970-01-01T00:00:00Z")
        #expect("\(Recurrence.every(.seconds(5400)))" == "every 1h30m")
    }
}
