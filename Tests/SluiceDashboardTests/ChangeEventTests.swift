import BrokerModel
import HTTPTypes
import Operations
import Sluice
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Changes in the dashboard are events", .timeLimit(.minutes(60)))
struct ChangeEventTests {
    private let desk = Desk()

    /// A request that changes something, by the pattern of its path, and the event that it leaves.
    private struct Step {
        let pattern: String
        let verb: QueueChange.Verb
        let path: String
        var form = ""
        /// The end of the change is the event; nil = that of the request.
        var waits = false
    }

    private static let withoutChange: Set = ["/theme", "/login", "/logout"]

    private func changes() async throws -> [EventBatch] {
        try await desk.broker.storedEvents(queue: "mail", after: nil, agoMilliseconds: .max / 2, limit: 1_000)
            .entries.map(\.batch).filter { $0.change != nil }
    }

    private func hidden(_ name: String, _ page: String) throws -> String {
        let parts = page.split(separator: "name=\"\(name)\" value=\"")
        return String(try #require(parts.dropFirst().first).prefix { $0 != "\"" })
    }

    // MARK: The requests

    private func operations() async throws -> [Step] {
        let id = try await desk.enqueue("Send")[0]
        let version = try hidden("version", try await desk("/ops/\(id)/edit?queue=mail").text)
        let rerun = try hidden("id", try await desk("/ops/\(id)/rerun?queue=mail").text)
        func action(_ name: String, _ verb: QueueChange.Verb) -> Step {
            Step(pattern: "/ops/{id}/\(name)", verb: verb, path: "/ops/\(id)/\(name)?queue=mail", form: "reason=books")
        }
        let fields = "name=Send&queue=mail&priority=low&arguments=%7B%7D"
        return [
            Step(pattern: "/ops/new", verb: .enqueue, path: "/ops/new", form: "id=\(OperationID())&" + fields),
            Step(
                pattern: "/ops/{id}/rerun",
                verb: .rerun,
                path: "/ops/\(id)/rerun?queue=mail",
                form: "id=\(rerun)&" + fields
            ),
            Step(
                pattern: "/ops/{id}/edit",
                verb: .edit,
                path: "/ops/\(id)/edit?queue=mail",
                form: "version=\(version)&priority=high"
            ),
            action("hold", .hold), action("release", .release), action("cancel", .cancel), action("retry", .retry),
            action("remove", .remove),
        ]
    }

    private func queuesAndSchedules() async throws -> [Step] {
        _ = try await desk.site.client.schedules.set(
            "nightly",
            .every(.seconds(600)),
            name: "Report",
            .queue("mail")
        )
        func schedule(_ name: String, _ verb: QueueChange.Verb) -> Step {
            Step(
                pattern: "/schedules/\(name)",
                verb: verb,
                path: "/schedules/\(name)",
                form: "schedule=mail%2Fnightly"
            )
        }
        return [
            Step(pattern: "/queues/pause", verb: .pause, path: "/queues/pause?queue=mail", form: "reason=books"),
            Step(pattern: "/queues/resume", verb: .resume, path: "/queues/resume?queue=mail"),
            Step(
                pattern: "/queues/limit",
                verb: .limit,
                path: "/queues/limit?queue=mail&limits=concurrency%3D3"
            ),
            schedule("run", .runSchedule), schedule("pause", .pauseSchedule), schedule("resume", .resumeSchedule),
            schedule("remove", .removeSchedule),
        ]
    }

    private func workers() throws -> [Step] {
        let worker = try desk.beat(host: "h1")
        _ = try desk.beat(host: "h2")
        return ["quiet", "resume", "slots", "stop"].map {
            Step(
                pattern: "/workers/\($0)",
                verb: .control,
                path: "/workers/\($0)?id=\(worker)",
                form: $0 == "slots" ? "slots=3" : ""
            )
        }
            + ["quiet", "resume", "stop"].map {
                Step(pattern: "/workers/hosts/\($0)", verb: .control, path: "/workers/hosts/\($0)?host=h2")
            }
    }

    private func manyAtOnce() async throws -> [Step] {
        try await desk.enqueue("Other", "Other")
        let page = try await desk("/changes/new?action=hold&q=name:Other&scope=all").text
        let fields = [
            "action=hold", "q=name:Other", "scope=all", "typed=2", "count=\(try hidden("count", page))",
            "digest=\(try hidden("digest", page))", "change=\(try hidden("change", page))",
        ].joined(separator: "&")
        let job = ChangeJob(.hold, .matching("name:Other"), reason: "", by: "bob", expected: 2)
        let (open, unreadable) = (OperationID(), OperationID())
        let stored = try await ChangeJobRun.store(job, as: open, starts: [:], queues: ["mail"], in: desk.broker)
        #expect(stored == .stored)
        let progress = ChangeJobProgress(starts: [:]).bytes
        _ = try await desk.broker.addChange(unreadable, definition: Array("{".utf8), progress: progress)
        return [
            Step(pattern: "/changes/{id}/stop", verb: .endChange, path: "/changes/\(open)/stop", waits: true),
            Step(pattern: "/changes/{id}/remove", verb: .removeChange, path: "/changes/\(unreadable)/remove"),
            Step(pattern: "/changes", verb: .startChange, path: "/changes", form: fields),
        ]
    }

    @Test("Each request that changes something leaves an event with the name of the person")
    func all() async throws {
        let steps =
            try await operations() + (try await queuesAndSchedules()) + (try workers()) + (try await manyAtOnce())
        for step in steps {
            let before = try await changes().count
            let answer = try await desk(step.path, .post, form: step.form)
            #expect(answer.status == 303, "\(step.path): \(answer)")
            if step.waits {
                await desk.site.changes.start()
                await desk.site.changes.finish()
            }
            let new = try await changes().dropFirst(before).compactMap(\.change)
            #expect(new.contains { $0.verb == step.verb && $0.by == "ann" }, "\(step.path): \(new)")
        }
        let posts = Routes(site: desk.site).router().routes.filter { $0.method == .post }.map { "\($0.path)" }
        #expect(Set(posts).subtracting(Self.withoutChange) == Set(steps.map(\.pattern)))
    }

    @Test("An enqueue and a rerun by form say in plain words who made what from which operation, and where")
    func forms() async throws {
        let (steps, page) = (try await operations(), try await desk("/ops").text)
        #expect(page.contains("Send"))
        for step in steps.prefix(2) { #expect(try await desk(step.path, .post, form: step.form).status == 303) }
        let old = steps[1].path.dropFirst("/ops/".count).prefix(OperationID.characterCount)
        let (made, copied) = (steps[0].form.dropFirst(3).prefix(26), steps[1].form.dropFirst(3).prefix(26))
        let events = try await changes()
        #expect(
            events.compactMap(\.change) == [
                QueueChange(.enqueue, by: "ann", count: 1, detail: "Send, from the dashboard on host"),
                QueueChange(
                    .rerun,
                    by: "ann",
                    count: 1,
                    detail: "Send, rerun of mail/\(old), from the dashboard on host"
                ),
            ]
        )
        #expect(events.compactMap { $0.subject?.description } == [String(made), String(copied)])
        let shown = try await desk("/events?changes=only").text
        #expect(shown.contains("/ops/\(made)?queue=mail") && shown.contains("/ops/\(copied)?queue=mail"))
        #expect(shown.contains("rerun of mail/\(old)"))
        #expect(try await desk("/api/v1/events?changes=1").text.contains("\"rerun\""))
        // The forms are sent once more: nothing is enqueued, and nothing is said.
        for step in steps.prefix(2) { #expect(try await desk(step.path, .post, form: step.form).status == 409) }
        #expect(try await changes().count == 2)
    }

    @Test("Changes only is a switch, and events that do not fit on a page are on an older one, each once")
    func olderEvents() async throws {
        try await desk.enqueue("Send")
        for number in 0..<230 {
            try await desk.broker.setPaused(.pause(by: "bob", reason: "number-\(number)."), queue: "mail")
        }
        let first = try await desk("/events?changes=only").text
        #expect(first.contains("role=\"button\" aria-pressed=\"true\"") && first.contains("paused the queue"))
        #expect(try await desk("/events").text.contains("role=\"button\" aria-pressed=\"false\""))
        let link = try #require(first.firstMatch(of: /href="([^"]*before=[^"]*)"[^>]*>Older/)?.1)
        let second = try await desk(String(link).replacing("&amp;", with: "&")).text
        func numbers(_ page: String) -> [String] { page.matches(of: /number-(\d+)\./).map { String($0.1) } }
        #expect(numbers(first).count == 200 && numbers(second).count == 30)
        #expect(Set(numbers(first) + numbers(second)).count == 230)
        #expect(!second.contains(">Older") && second.contains("No more in the last 1h"))
        for wrong in ["nonsense", "1-x", "-1-0", "1-4000000000"] {
            #expect(try await desk("/events?before=\(wrong)").status == 400, "\(wrong)")
        }
        #expect(try await desk("/events?since=banana").status == 400)
        let empty = try await desk("/events?before=1-0").text
        #expect(empty.contains("No older event is stored for this time.") && empty.contains(">Newest<"))
    }

    @Test("A worker's step shows the reason that a person gave for it")
    func reasons() async throws {
        let id = try await desk.enqueue("Send")[0]
        let worker = try desk.beat(host: "h1")
        let request = ClaimRequest(worker: worker, epoch: 1, capacity: 1)
        let fence = try #require(try await desk.broker.claim(request, queue: "mail").operations.first?.fence)
        #expect(try await desk("/ops/\(id)/cancel?queue=mail", .post, form: "reason=books").status == 303)
        let before = try await desk("/events").text.matches(of: /books/).count
        let failure = Failure(fence: fence, id: id, disposition: .cancelled, error: [])
        _ = try await desk.broker.fail([failure], worker: worker, queue: "mail")
        #expect(try await desk.detail(id)?.state == .cancelled)
        #expect(try await desk("/events").text.matches(of: /books/).count == before + 1)
    }

    @Test("The reason of an operation's newest end is not shown at an older one, nor at a failed attempt before it")
    func olderEnds() async throws {
        let id = try await desk.enqueue("Send")[0]
        let worker = try desk.beat(host: "h1")
        for (disposition, text) in [(Failure.Disposition.retry(afterMilliseconds: 0), "first"), (.dead, "second")] {
            let request = ClaimRequest(worker: worker, epoch: 1, capacity: 1)
            let fence = try #require(try await desk.broker.claim(request, queue: "mail").operations.first?.fence)
            let error = OperationFailure(type: "SMTP", message: text, attempt: 1, delivery: 1).encoded()
            let failure = Failure(fence: fence, id: id, disposition: disposition, error: error)
            _ = try await desk.broker.fail([failure], worker: worker, queue: "mail")
        }
        let page = try await desk("/events").text
        #expect(page.contains("after a failed attempt") && page.matches(of: /second/).count == 1)
        let stored = try await desk.broker.storedEvents(queue: "mail", after: nil, agoMilliseconds: .max / 2, limit: 9)
        let died = try #require(stored.entries.last?.batch)
        let end = try #require(try await desk.detail(id)).record.endedAt
        let reasons = await EndReasons(of: [.batch(died, at: end)], desk.broker)
        #expect(reasons.text(of: died, at: end)?.contains("second") == true)
        #expect(reasons.text(of: died, at: end - 60_000) == nil)
    }
}
