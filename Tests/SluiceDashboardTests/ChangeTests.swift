import Hummingbird
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Changes of many operations in the dashboard", .timeLimit(.minutes(60)))
struct ChangeTests {
    /// The hidden fields of a plan's form, as the browser sends them back.
    private func form(_ page: String, typed: String, more: String = "") -> String {
        let fields = page.matches(of: /<input type="hidden" name="([a-z]+)" value="([^"]*)">/)
            .map { "\($0.1)=\($0.2)" }
        return fields.joined(separator: "&") + "&typed=\(typed)" + more
    }

    @Test("A plan counts, and its confirmation changes each operation with name and reason")
    func complete() async throws {
        let desk = Desk()
        let ids = try await desk.enqueue("Send", "Send", "Send")
        try await desk.enqueue("Other", queue: "other")
        let page = try await desk("/changes/new?action=cancel&q=queue:mail&scope=all").text
        #expect(page.contains("Cancel 3 operations?") && page.contains("counted, exact"))
        let answer = try await desk("/changes", .post, form: form(page, typed: "3", more: "&reason=books"))
        #expect(answer.status == 303, "\(answer)")
        await desk.site.changes.finish()
        for id in ids {
            let cancel = try #require(try await desk.detail(id)?.cancel)
            #expect(cancel.by == "ann" && cancel.reason == "books")
        }
        let change = try await desk(answer.location).text
        #expect(change.contains("complete") && change.contains("3 of 3 cancelled, 0 refused"))
        #expect(try await desk("/changes").text.contains("books"))
        #expect(try await desk.broker.snapshot(queue: "other", executingRows: 0).counts[.ready] == 1)
    }

    @Test("A plan is confirmed only by its number, and only for the query that it has shown")
    func refusals() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send", "Send")[0]
        let page = try await desk("/changes/new?action=hold&q=queue:mail&scope=all").text
        #expect(try await desk("/changes", .post, form: form(page, typed: "1")).status == 409)
        let other = form(page, typed: "2").replacing("queue:mail", with: "queue:other")
        #expect(try await desk("/changes", .post, form: other).status == 409)
        try await desk.enqueue(
            "a",
            "b",
            "c",
            "d",
            "e",
            "f",
            "g",
            "h",
            "i",
            "j",
            "k"
        )
        let late = try await desk("/changes", .post, form: form(page, typed: "2"))
        #expect(late.status == 409 && late.text.contains("now they are 13"))
        #expect(try await desk.detail(id)?.state == .ready)
        #expect(try await desk.broker.changes(nil).changes.isEmpty)
    }

    @Test("Marked operations alone are changed, and a form that is sent twice makes one change")
    func marked() async throws {
        let desk = Desk()
        let ids = try await desk.enqueue("Send", "Send", "Send")
        let path = "/changes/new?action=hold&scope=marked&mark=mail/\(ids[0])&mark=mail/\(ids[2])"
        let page = try await desk(path).text
        #expect(page.contains("Hold 2 operations?"))
        let sent = form(page, typed: "2")
        let first = try await desk("/changes", .post, form: sent)
        await desk.site.changes.finish()
        #expect(first.status == 303)
        #expect(try await desk("/changes", .post, form: sent).status == 409)
        #expect(try await desk.broker.changes(nil).changes.count == 1)
        let states = [try await desk.detail(ids[0])?.state, try await desk.detail(ids[1])?.state]
        #expect(states == [.blocked, .ready])
    }

    @Test("A viewer changes nothing, an operator removes nothing, and only an admin changes everything")
    func roles() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        func status(_ path: String, _ role: Role) async throws -> Int { try await desk(path, as: role).status }
        #expect(try await status("/changes/new?action=cancel&q=queue:mail&scope=all", .viewer) == 403)
        #expect(try await status("/changes/new?action=remove&q=queue:mail&scope=all", .operate) == 403)
        #expect(try await status("/changes/new?action=cancel&scope=all", .operate) == 403)
        #expect(try await status("/changes/new?action=cancel&scope=all", .admin) == 200)
        let page = try await desk("/changes/new?action=cancel&scope=all").text
        #expect(try await desk("/changes", .post, as: .operate, form: form(page, typed: "1")).status == 403)
        #expect(try await !desk("/ops", as: .viewer).text.contains("name=\"mark\""))
        #expect(try await desk("/ops", as: .operate).text.contains("name=\"mark\""))
        let readOnly = Desk(isReadOnly: true)
        #expect([404, 405].contains(try await readOnly("/changes", .post, form: form(page, typed: "1")).status))
    }

    @Test("A change that another dashboard has begun is taken over, and retries no operation twice")
    func takeover() async throws {
        let desk = Desk()
        let ids = try await desk.enqueue("Send", "Send", "Send")
        let request = CancelRequest(reason: "", by: "x")
        _ = try await desk.broker.cancel(ids, request: request, queue: "mail")
        let plan = try await ChangePlan(
            .retry,
            .matching("queue:mail"),
            broker: desk.broker,
            view: PayloadView()
        )
        #expect(plan.count == 3)
        let job = ChangeJob(.retry, .matching("queue:mail"), reason: "", by: "ann", expected: 3)
        let id = OperationID()
        #expect(try await ChangeJobRun.store(job, as: id, starts: plan.starts, in: desk.broker) == .stored)
        // The first dashboard retries two operations, and is killed before it has stored the result.
        _ = try await desk.broker.takeChange(leaseMilliseconds: 0)
        var progress = ChangeJobProgress(starts: plan.starts)
        progress.pending = ids.prefix(2).map { OperationAddress(queue: "mail", id: $0) }
        _ = try await desk.broker.saveChange(
            id,
            fence: 1,
            progress: progress.bytes,
            isEnd: false,
            leaseMilliseconds: 0
        )
        _ = try await desk.broker.retry(Array(ids.prefix(2)), by: "ann", queue: "mail")
        // One of them ends again meanwhile.
        _ = try await desk.broker.cancel([ids[0]], request: request, queue: "mail")
        await desk.site.changes.start()
        await desk.site.changes.finish()
        let change = try #require(try await desk.broker.changes(id).changes.first)
        let end = try #require(ChangeJobProgress(change.progress))
        #expect(change.isEnded && change.fence == 2 && end.done == 3 && end.refused == 0)
        let states = [try await desk.detail(ids[0])?.state, try await desk.detail(ids[2])?.state]
        #expect(states == [.cancelled, .ready])
    }
}
