import SluiceTesting
import Testing

private struct Tick: DistributedOperation {
    static let name = "tick"
    var number = 0

    func main(_ context: OperationContext) async throws {}
}

@Suite("Schedules in memory", .timeLimit(.minutes(60)))
struct ScheduleTests {
    private static let keys = try? OperationKeys(
        parsing:
            "sign a AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=; encrypt b AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    )

    private func finished(_ sluice: InMemorySluice) async throws -> Int64 {
        try await sluice.client.statistics()[total: .finished]
    }

    @Test(
        "follow the clock of the test, and enqueue the latest of several missed instants",
        arguments: [true, false]
    )
    func clock(isSealed: Bool) async throws {
        let sluice = InMemorySluice(keys: isSealed ? Self.keys : nil) { $0.register(Tick.self) }
        let schedules = sluice.client.schedules
        let set = try await schedules.set("tick", .every(.seconds(600)), Tick(number: 1), .priority(.high))
        #expect(
            set.state == .active && set.name == "tick"
                && set.next?.timeIntervalSince1970 == Double(sluice.clock.now) / 1000 + 600
        )
        try await sluice.drain()
        #expect(try await finished(sluice) == 0)
        for expected in 1...3 {
            sluice.clock.advance(by: .seconds(600))
            try await sluice.drain()
            #expect(try await finished(sluice) == expected)
        }
        sluice.clock.advance(by: .seconds(86_400))
        try await sluice.drain()
        #expect(try await finished(sluice) == 4)
        let schedule = try #require(try await schedules.schedule("tick"))
        #expect(schedule.enqueued == 4 && schedule.missed != nil)
    }

    @Test(
        "are unchanged by an equal set, replaced by another one, and stay paused"
    )
    func again() async throws {
        let sluice = InMemorySluice { $0.register(Tick.self) }
        let schedules = sluice.client.schedules
        let first = try await schedules.set("tick", .every(.seconds(600)), Tick(number: 1))
        sluice.clock.advance(by: .seconds(300))
        #expect(try await schedules.set("tick", .every(.seconds(600)), Tick(number: 1)) == first)
        let other = try await schedules.set("tick", .every(.seconds(600)), Tick(number: 2))
        #expect(other != first && other.next == first.next)
        #expect(try await schedules.pause("tick"))
        #expect(try await !schedules.pause("tick"))
        #expect(try await schedules.set("tick", .every(.seconds(60)), Tick()).state == .paused)
        sluice.clock.advance(by: .seconds(6000))
        try await sluice.drain()
        #expect(try await finished(sluice) == 0)
        #expect(try await schedules.resume("tick"))
        #expect(try await schedules.schedule("tick")?.state == .active)
        sluice.clock.advance(by: .seconds(60))
        try await sluice.drain()
        #expect(try await finished(sluice) == 1)
        let reference = try await schedules.runNow("tick")
        try await sluice.drain()
        #expect(try await reference.state() == .finished)
        #expect(try await schedules.all().map(\.id) == ["tick"])
        #expect(try await schedules.remove("tick"))
        #expect(try await schedules.all().isEmpty)
    }

    @Test(
        "With ifExists, instants follow its policy while an operation waits",
        arguments: [(nil, 3, 0), (.skip, 1, 0), (.join, 1, 0), (.enqueue, 3, 0), (.keepLatest, 1, 2), (.replace, 1, 2)]
            as [(ScheduleRules.IfExists?, Int64, Int64)]
    )
    func ifExists(policy: ScheduleRules.IfExists?, ran: Int64, cancelled: Int64) async throws {
        let sluice = InMemorySluice(keys: Self.keys) { $0.register(Tick.self) }
        let rules = ScheduleRules(ifExists: policy)
        let schedules = sluice.client.schedules
        try await schedules.set("tick", .every(.seconds(10)), Tick(), rules: rules)
        sluice.clock.advance(by: .seconds(30))
        try await sluice.drain()
        let statistics = try await sluice.client.statistics()
        #expect(statistics[total: .finished] == ran && statistics[total: .cancelled] == cancelled)
        for try await found in sluice.client.operations(.finished) { #expect(found.schedule == "tick") }
        let isSkipped = policy == .skip || policy == .join
        let schedule = try #require(try await schedules.schedule("tick"))
        #expect((schedule.overlapped == schedule.next?.addingTimeInterval(-10)) == isSkipped)
        #expect(schedule.enqueued == (isSkipped ? 1 : 3) && schedule.rules == rules)
        let (first, again) = (try await schedules.runNow("tick"), try await schedules.runNow("tick"))
        #expect((again.id == first.id && !again.isNew) == isSkipped)
    }

    @Test("Invalid options of a schedule are refused")
    func refused() async throws {
        let schedules = InMemorySluice().client.schedules
        let (hourly, tick): (Recurrence, Tick) = (.every(.seconds(3600)), Tick())
        for attempt: () async throws -> Void in [
            { try await schedules.set("a b", hourly, tick) },
            { try await schedules.set("s", .cron("0 0 31 2 *"), tick) },
            { try await schedules.set("s", .every(.milliseconds(10)), tick) },
            { try await schedules.set("s", hourly, tick, .delay(.seconds(1))) },
            { try await schedules.set("s", hourly, tick, .untracked) },
            { try await schedules.set("s", hourly, tick, .unique("k")) },
            { try await schedules.set("s", hourly, tick, .limitKey("k")) },
            {
                let id = String(repeating: "s", count: 120)
                try await schedules.set(id, hourly, tick, rules: ScheduleRules(ifExists: .skip))
            },
            { try await schedules.set("s", hourly, tick, .id(OperationID())) },
            { try await schedules.set("s", hourly, tick, rules: ScheduleRules(end: .distantPast)) },
            { try await schedules.pause("unknown") }, { try await schedules.resume("unknown") },
            { try await schedules.runNow("unknown") },
        ] {
            await #expect(throws: OperationsError.self) { try await attempt() }
        }
        #expect(try await schedules.all().isEmpty)
    }
}
