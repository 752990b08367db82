import BrokerModel
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Plans of changes in the dashboard", .timeLimit(.minutes(60)))
struct ChangePlanTests {
    private let desk = Desk()

    @Test("An admin purges a queue by a plan of what waits in it; what has ended, and other queues, stay")
    func purge() async throws {
        let ids = try await desk.enqueue("Send", "Send", "Send")
        let other = try await desk.enqueue("Send", queue: "other")[0]
        let request = CancelRequest(reason: "", by: "x")
        _ = try await desk.broker.cancel([ids[0]], request: request, queue: "mail")
        _ = try await desk.broker.hold([ids[1]], by: "x", reason: "", queue: "mail")
        await desk.site.loop.expire()
        let page = try await desk("/queues/show?queue=mail").text
        let link = try #require(page.firstMatch(of: /href="([^"]*action=remove[^"]*)"[^>]*>Purge/)?.1)
        #expect(try await !desk("/queues/show?queue=mail", as: .operate).text.contains(">Purge"))
        let path = String(link).replacing("&amp;", with: "&")
        #expect(try await desk(path, as: .operate).status == 403)
        let plan = try await desk(path).text
        #expect(plan.contains("Remove 2 operations?") && plan.contains("counted, exact"))
        let fields = plan.matches(of: /<input type="hidden" name="([a-z]+)" value="([^"]*)">/)
            .map { "\($0.1)=\($0.2)" }
        let answer = try await desk("/changes", .post, form: fields.joined(separator: "&") + "&typed=2")
        #expect(answer.status == 303, "\(answer)")
        await desk.site.changes.finish()
        #expect(try await desk.detail(ids[0])?.state == .cancelled)
        for id in ids.dropFirst() { #expect(try await desk.detail(id) == nil) }
        #expect(try await desk.detail(other, queue: "other")?.state == .ready)
    }

    @Test("A count beyond the limit has no untracked operations: a change that needs records would leave them")
    func untracked() async throws {
        let operations = (0..<250).map { _ in
            NewOperation(tracked: false, envelope: OperationEnvelope(name: "Send").encoded())
        }
        _ = try await desk.broker.enqueue(operations, queue: "mail")
        try await desk.enqueue("Send")
        func plan(_ kind: ChangeKind) async throws -> ChangePlan {
            let target = ChangeJob.Target.matching("queue:mail state:ready")
            return try await ChangePlan(kind, target, broker: desk.broker, view: PayloadView(), scanLimit: 1)
        }
        let remove = try await plan(.remove)
        #expect(remove.count <= 1 && !remove.isExact && remove.leavesUntracked)
        let cancel = try await plan(.cancel)
        #expect(cancel.count == 251 && cancel.isExact && !cancel.leavesUntracked)
        let page = try await desk("/changes/new?action=remove&q=queue:mail&scope=all").text
        #expect(page.contains("Remove 1 operation?") && page.contains("sluice queue purge"))
    }

    @Test("The states that a purge removes are those in which operations wait, and each allows a remove")
    func states() {
        #expect(Set(OperationState.waiting) == [.ready, .scheduled, .blocked, .retrying])
        #expect(OperationState.waiting.allSatisfy(ChangeKind.remove.allowed.contains))
    }

    @Test("A plan says how many operations of each queue it is for, and where none of them would start")
    func shares() async throws {
        let first = try await desk.enqueue("Send", "Send", "Send")
        let second = try await desk.enqueue("Send", queue: "other")
        try await desk.enqueue("Send", queue: "third")
        let request = CancelRequest(reason: "", by: "x")
        _ = try await desk.broker.cancel(first, request: request, queue: "mail")
        _ = try await desk.broker.cancel(second, request: request, queue: "other")
        try await desk.broker.setPaused(.pause(by: "bob", reason: "books"), queue: "mail")
        try desk.beat()
        await desk.site.loop.expire()
        let plan = try await ChangePlan(
            .retry,
            .matching("state:cancelled"),
            broker: desk.broker,
            view: PayloadView()
        )
        #expect(plan.shares.map(\.queue) == ["mail", "other"] && plan.shares.map(\.count) == [3, 1])
        #expect(plan.queues == ["mail", "other"])
        #expect(plan.shares[0].obstacle?.hasPrefix("paused by bob") ?? false)
        #expect(plan.shares[1].obstacle == "no live worker takes work of it")
        #expect(plan.consequences.contains("3 are in paused queues and will wait."))
        #expect(plan.consequences.contains { $0.hasPrefix("1 is in a queue of which no live worker") })
        let page = try await desk("/changes/new?action=retry&q=state:cancelled&scope=all").text
        #expect(page.contains(/paused by bob, [\w ]+: books/) && page.contains("no live worker takes work of it"))
        #expect(page.contains("Operations by queue"))
        #expect(page.contains("data-label=\"Error\"") && page.contains("data-label=\"When\""))
        let cancel = try await desk("/changes/new?action=cancel&q=queue:third&scope=all").text
        #expect(!cancel.contains("data-label=\"Error\"") && cancel.contains("data-label=\"When\""))
    }

    @Test("The page of an ended change shows its queues as they are now, and the next step")
    func ended() async throws {
        let ids = try await desk.enqueue("Send", "Send")
        try await desk.enqueue("Send", queue: "other")
        let request = CancelRequest(reason: "", by: "x")
        _ = try await desk.broker.cancel(ids, request: request, queue: "mail")
        let job = ChangeJob(.retry, .matching("queue:mail"), reason: "", by: "bob", expected: 2)
        let starts = try await desk.broker.snapshot(queue: "mail", executingRows: 0).sequence
        let id = OperationID()
        let stored = try await ChangeJobRun.store(
            job,
            as: id,
            starts: ["mail": starts],
            queues: ["mail"],
            in: desk.broker
        )
        #expect(stored == .stored)
        #expect(try await !desk("/changes/\(id)").text.contains("The queues of the change now"))
        await desk.site.changes.start()
        await desk.site.changes.finish()
        await desk.site.loop.expire()
        let page = try await desk("/changes/\(id)").text
        #expect(page.contains("2 of 2 retried, 0 refused") && page.contains("The queues of the change now"))
        #expect(page.contains("/ops?state=ready&amp;q=queue%3Amail") && !page.contains("queue=other"))
        #expect(page.contains("/errors?q=queue%3Amail") && !page.contains("New plan for the rest"))
    }
}
