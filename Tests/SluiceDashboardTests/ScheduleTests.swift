import BrokerModel
import Operations
import Sluice
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Schedules in the dashboard", .timeLimit(.minutes(60)))
struct ScheduleTests {
    private let desk = Desk()
    private var schedules: ScheduleControl { desk.site.client.schedules }

    private func set(_ id: String, _ recurrence: Recurrence = .every(.seconds(600)), queue: String = "mail")
        async throws
    {
        _ = try await schedules.set(id, recurrence, name: "Report", .queue(queue))
    }

    private func fetch(_ id: String) async throws -> OperationSchedule? {
        try await schedules.schedule(id, queue: "mail")
    }

    @Test("A schedule is paused, resumed, run and removed, and Redis has the name of the person")
    func changes() async throws {
        try await set("nightly", .cron("30 2 * * *", zone: "Europe/Berlin"))
        func change(_ action: String) async throws -> Desk.Answer {
            let question = try await desk("/schedules/\(action)?schedule=mail%2Fnightly")
            #expect(question.status == 200 && question.text.contains("value=\"mail/nightly\""))
            let answer = try await desk("/schedules/\(action)", .post, form: "schedule=mail%2Fnightly")
            #expect(answer.status == 303, "\(action) \(answer)")
            #expect(try await desk(answer.location).text.contains("class=\"notice good\""))
            return answer
        }
        _ = try await change("pause")
        let paused = try #require(try await fetch("nightly"))
        #expect(paused.state == .paused && paused.changed.by == "ann")
        #expect(try await desk("/schedules").text.contains("paused"))
        _ = try await change("resume")
        #expect(try await fetch("nightly")?.state == .active)
        let answer = try await change("run")
        #expect(answer.location.hasPrefix("/ops/") && answer.location.contains("outcome=scheduleRan"))
        #expect(try await desk.broker.snapshot(queue: "mail", executingRows: 0).counts[.ready] == 1)
        let events = try await desk.broker.storedEvents(queue: "mail", after: nil, agoMilliseconds: .max / 2, limit: 9)
        let event = try #require(events.entries.last?.batch)
        #expect(event.change == QueueChange(.runSchedule, by: "ann", count: 1, detail: "nightly"))
        #expect(event.subject.map { answer.location.contains("\($0)") } ?? false)
        _ = try await change("remove")
        #expect(try await fetch("nightly") == nil)
        #expect(try await desk("/schedules/show?queue=mail&id=nightly").status == 404)
    }

    @Test("Marked schedules are listed on one page and paused together; one that is paused already stays out")
    func many() async throws {
        for id in ["one", "two", "three"] { try await set(id) }
        _ = try await schedules.pause("three", queue: "mail")
        let fields = "schedule=mail%2Fone&schedule=mail%2Ftwo&schedule=mail%2Fthree"
        let question = try await desk("/schedules/pause?\(fields)").text
        #expect(question.contains("Pause: 2 schedules?") && question.contains("Marked, but already so: 1."))
        #expect(question.contains("value=\"mail/two\"") && !question.contains("value=\"mail/three\""))
        #expect(
            try await desk("/schedules/pause", .post, form: fields).location == "/schedules?outcome=schedulesPaused"
        )
        for id in ["one", "two"] { #expect(try await fetch(id)?.state == .paused) }
    }

    @Test("A change of unknown schedules, or of none, changes nothing and says why")
    func wrong() async throws {
        try await set("one")
        let answer = try await desk("/schedules/pause", .post, form: "schedule=mail%2Fone&schedule=mail%2Fnone")
        #expect(answer.status == 404 && answer.text.contains("Queue mail has no schedule none."))
        #expect(try await fetch("one")?.state == .active)
        #expect(try await desk("/schedules/pause").status == 400)
        #expect(try await desk("/schedules/pause", .post, form: "schedule=%3Cb%3E").status == 400)
        #expect(try await desk("/schedules/resume?schedule=mail%2Fone").status == 409)
        #expect(try await desk("/schedules/show?queue=mail&id=%3Cb%3E").status == 404)
        #expect(try await desk("/schedules?queue=none").status == 404)
    }

    @Test("A viewer changes no schedule, an operator removes none, and a read-only dashboard has no such address")
    func roles() async throws {
        try await set("one")
        for action in ScheduleAction.allCases {
            let path = "/schedules/\(action.rawValue)"
            #expect(try await desk(path, .post, as: .viewer, form: "schedule=mail%2Fone").status == 403)
            #expect(try await desk(path + "?schedule=mail%2Fone", as: .viewer).status == 403)
            let status = try await Desk(isReadOnly: true)(path, .post, form: "schedule=mail%2Fone").status
            #expect([404, 405].contains(status))
        }
        #expect(try await desk("/schedules/remove", .post, as: .operate, form: "schedule=mail%2Fone").status == 403)
        #expect(try await fetch("one")?.state == .active)
        #expect(try await !desk("/schedules", as: .viewer).text.contains("checkbox"))
        #expect(try await desk("/schedules", as: .operate).text.contains("checkbox"))
    }

    @Test("The next five instants are shown in the zone of the schedule and in UTC")
    func next() async throws {
        try await set("nightly", .cron("0 3 * * *", zone: "Asia/Kolkata"))
        let text = try await desk("/schedules/show?queue=mail&id=nightly").text
        #expect(text.contains("Asia/Kolkata"))
        #expect(text.matches(of: /T03:00:00\+05:30</).count == 5)
        #expect(text.matches(of: /data-label="UTC">[^<]*T21:30:00[.0]*Z</).count == 5)
    }

    @Test("The last runs have the states of their operations; an instant without a record is not called missed")
    func history() async throws {
        let time = try await desk.broker.serverTime()
        var definition = ScheduleDefinition(
            recurrence: .every(.seconds(60)),
            anchor: time - 600_000,
            envelope: OperationEnvelope(name: "Report").encoded()
        )
        definition.rules.ifExists = .skip
        let instants = definition.last(3, upTo: time)
        #expect(instants.count == 3 && instants[2] <= time && instants[2] - instants[0] == 120_000)
        let operation = definition.operation(schedule: "s", queue: "mail", instant: instants[2], now: time)
        _ = try await desk.broker.enqueue([operation], queue: "mail")
        var stored = StoredSchedule(
            id: "s",
            revision: 1,
            isPaused: false,
            changedAt: time - 600_000,
            changedBy: "x",
            definition: definition.encoded(),
            due: time + 60_000
        )
        stored.runs.missedAt = instants[1]
        let schedule = OperationSchedule(stored, queue: "mail")
        let history = try await ScheduleHistory.read([schedule], count: 3, now: time, desk.broker)[0]
        #expect(history.runs.map(\.outcome) == [.unknown, .missed, .enqueued(.ready)])
        #expect(history.runs[2].id == operation.id)
    }

    @Test("The list of schedules explains its marks of runs only if it has some")
    func legend() async throws {
        try await set("nightly", .cron("0 3 * * *", zone: "UTC"))
        let page = try await desk("/schedules").text
        #expect(page.contains("id=nightly") && !page.contains("oldest first"))
        let definition = try #require(try await fetch("nightly")?.definition)
        let time = try await desk.broker.serverTime()
        let instant = try #require(definition.last(1, upTo: time).first)
        let operation = definition.operation(schedule: "nightly", queue: "mail", instant: instant, now: time)
        _ = try await desk.broker.enqueue([operation], queue: "mail")
        #expect(try await desk("/schedules").text.contains("oldest first"))
    }

    @Test(
        "The last instants of a cron expression are those that were next before",
        arguments: ["0 3 * * *", "*/7 9 * * 1"]
    )
    func last(_ expression: String) {
        let definition = ScheduleDefinition(
            recurrence: .cron(expression, zone: "Europe/Berlin"),
            anchor: 0,
            envelope: OperationEnvelope(name: "Report").encoded()
        )
        let start: Int64 = 1_793_000_000_000
        let expected = definition.next(20, after: start)
        #expect(definition.last(8, upTo: expected[19]) == Array(expected.suffix(8)))
        #expect(definition.last(8, upTo: expected[19] - 1) == Array(expected.dropLast().suffix(8)))
    }
}
