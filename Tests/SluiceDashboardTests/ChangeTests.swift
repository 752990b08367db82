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
        // A number that no plan has shown
        let query = ChangeTarget(.hold, .matching("queue:mail"))
        let fields = "action=hold&q=queue:mail&scope=all&change=\(OperationID())&count=\(Int.min)&typed=\(Int.min)"
        let forged = try await desk("/changes", .post, form: fields + "&digest=\(query.digest(count: .min))")
        #expect(forged.status == 409)
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
        let second = try await desk("/changes", .post, form: sent)
        #expect(first.status == 303 && second.status == 303 && first.location == second.location)
        #expect(try await desk.broker.changes(nil).changes.count == 1)
        let states = [try await desk.detail(ids[0])?.state, try await desk.detail(ids[1])?.state]
        #expect(states == [.blocked, .ready])
    }

    @Test("After a wrong number, the new plan keeps reason and spread, but not the number")
    func keepsFields() async throws {
        let desk = Desk()
        let ids = try await desk.enqueue("Send", "Send")
        _ = try await desk.broker.cancel(ids, request: CancelRequest(reason: "", by: "x"), queue: "mail")
        let page = try await desk("/changes/new?action=retry&q=queue:mail&scope=all&typed=2").text
        #expect(!page.contains("name=\"typed\" value=\"2\""))
        let sent = form(page, typed: "3") + "&reason=a%3Cb&spread=10m"
        let answer = try await desk("/changes", .post, form: sent)
        #expect(answer.status == 409)
        let link = try #require(answer.text.firstMatch(of: /href="([^"]*)"[^>]*>New plan/)?.1)
        let again = try await desk(String(link).replacing("&amp;", with: "&")).text
        #expect(again.contains("name=\"reason\" value=\"a&lt;b\"") && again.contains("name=\"spread\" value=\"10m\""))
        #expect(!again.contains("name=\"typed\" value=\"3\""))
    }

    @Test("A refused operation is stored with its queue, since other queues may have its id")
    func refusedQueue() throws {
        var progress = ChangeJobProgress(starts: [:])
        progress.refused = 1
        progress.refusals = [BulkRefusal(id: OperationID(), queue: "mail", reason: "is finished")]
        #expect(try #require(ChangeJobProgress(progress.bytes)).refusals == progress.refusals)
    }

    @Test("Author and reason of a change are as Redis stores them with operations, in bounded length")
    func normalized() {
        let job = ChangeJob(.hold, .matching(""), reason: "two\nlines", by: "Ann Smith", expected: 1)
        #expect(job.by == "Ann_Smith" && job.reason == "two lines")
        // A single character of 100,001 scalars
        let long = "a" + String(repeating: "\u{301}", count: 100_000)
        let other = ChangeJob(.hold, .matching(""), reason: long, by: long, expected: 1)
        #expect(other.reason.utf8.count <= 2_000 && other.by.utf8.count <= 256)
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
        // Words that leave out nothing are the same as none.
        for text in ["+", "queue:*", "name:*+queue:**", "*", "%22%22", "id:*", "text:*+-tag:x", "-queue:other"] {
            #expect(try await status("/changes/new?action=cancel&scope=all&q=\(text)", .operate) == 403, "\(text)")
            #expect(try await status("/changes/new?action=cancel&scope=all&q=\(text)", .admin) == 200, "\(text)")
        }
        #expect(try await status("/changes/new?action=cancel&scope=all&state=ready", .operate) == 200)
        for path in ["/changes/new?action=cancel&scope=all&state=reday", "/export/operations.csv?state=reday"] {
            #expect(try await status(path, .admin) == 400, "\(path)")
        }
        let page = try await desk("/changes/new?action=cancel&scope=all").text
        #expect(try await desk("/changes", .post, as: .operate, form: form(page, typed: "1")).status == 403)
        #expect(try await !desk("/ops", as: .viewer).text.contains("name=\"mark\""))
        #expect(try await desk("/ops", as: .operate).text.contains("name=\"mark\""))
        let all = "value=\"all\""
        #expect(try await desk("/ops?q=queue:mail", as: .operate).text.contains(all))
        for path in ["/ops", "/ops?q=queue:*"] {
            #expect(try await !desk(path, as: .operate).text.contains(all), "\(path)")
            #expect(try await desk(path).text.contains(all), "\(path)")
        }
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

    /// The change events of a queue.
    private func events(_ desk: Desk, queue: String = "mail") async throws -> [QueueChange] {
        let stored = try await desk.broker.storedEvents(queue: queue, after: nil, agoMilliseconds: .max / 2, limit: 100)
        return stored.entries.compactMap(\.batch.change).filter { $0.storedChange != nil }
    }

    @Test("The beginning and the end of a change are events of its queues, with person, query, reason, host and totals")
    func begunAndEnded() async throws {
        let desk = Desk()
        try await desk.enqueue("Send", "Send")
        try await desk.enqueue("Send", queue: "other")
        try await desk.enqueue("Other", queue: "third")
        let page = try await desk("/changes/new?action=hold&q=name:Send&scope=all").text
        let answer = try await desk("/changes", .post, form: form(page, typed: "3", more: "&reason=books"))
        await desk.site.changes.finish()
        let id = answer.location.suffix(26)
        for queue in ["mail", "other"] {
            let events = try await events(desk, queue: queue)
            #expect(events.map(\.verb) == [.startChange, .endChange] && events.allSatisfy { $0.by == "ann" })
            #expect(events.map(\.count) == [3, 3])
            #expect(
                events.first?.detail == "\(id) hold 3 operations: name:Send, from the dashboard on host, books"
            )
            #expect(events.last?.detail == "\(id) complete, 3 held, 0 refused, hold name:Send, books")
        }
        #expect(try await events(desk, queue: "third").isEmpty)
        let shown = try await desk("/events?changes=only").text
        #expect(shown.contains("change started") && shown.contains("change ended"))
        #expect(shown.contains("href=\"/changes/\(id)\"") && shown.contains(" hold 3 operations: name:Send"))
        #expect(try await desk("/api/v1/events?changes=1").text.contains("\"endChange\""))
    }

    @Test("The event of a stopped change names who stopped it and who began it")
    func stopped() async throws {
        let desk = Desk()
        try await desk.enqueue("Send", "Send")
        let starts = ["mail": Int64(2)]
        let job = ChangeJob(.hold, .matching("queue:mail"), reason: "", by: "bob", expected: 2)
        let id = OperationID()
        let answer = try await ChangeJobRun.store(job, as: id, starts: starts, queues: ["mail"], in: desk.broker)
        #expect(answer == .stored)
        #expect(try await desk("/changes/\(id)/stop", .post).status == 303)
        await desk.site.changes.start()
        await desk.site.changes.finish()
        let end = try #require(try await events(desk).last)
        #expect(end.verb == .endChange && end.by == "ann" && end.count == 0)
        #expect(end.detail == "\(id) stopped, 0 held, 0 refused, hold queue:mail, begun by bob")
    }

    @Test("A change that cannot be read is left alone, is shown as such, and only an admin removes it")
    func unreadable() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        let progress = ChangeJobProgress(starts: [:]).bytes
        let good = ChangeJob(.hold, .matching("queue:mail"), reason: "", by: "bob", expected: 1)
        let newer = String(decoding: good.bytes, as: UTF8.self).replacing("\"v\":1", with: "\"v\":2")
        let texts = [
            newer, "", "{", "[[[[", "\u{0}", "{\"v\":1,\"kind\":\"hold\",\"by\":\"x\",\"expected\":1}",
            "{\"kind\":\"hold\",\"by\":\"x\",\"expected\":1,\"ids\":[\"mail/<script>\"]}",
            "{\"kind\":\"<script>\",\"by\":\"x\",\"expected\":1,\"query\":\"\"}",
        ]
        var ids: [OperationID] = []
        for text in texts {
            ids.append(OperationID())
            _ = try await desk.broker.addChange(ids[ids.count - 1], definition: Array(text.utf8), progress: progress)
        }
        let last = OperationID()
        _ = try await desk.broker.addChange(last, definition: good.bytes, progress: progress)
        for _ in 0..<2 {
            await desk.site.changes.start()
            await desk.site.changes.finish()
        }
        let stored = try await desk.broker.changes(nil).changes
        #expect(stored.filter { ids.contains($0.id) }.allSatisfy { $0.fence == 0 && !$0.isEnded })
        #expect(stored.first { $0.id == last }?.isEnded ?? false)
        #expect(try await desk("/changes").text.matches(of: /unreadable/).count == texts.count)
        let place = "/changes/\(ids[0])"
        #expect(try await desk(place).text.contains("cannot read this change"))
        #expect(try await desk(place, as: .operate).text.contains("\(place)/remove") == false)
        #expect(try await desk("\(place)/stop", .post).status == 409)
        #expect(try await desk("\(place)/remove", .post, as: .operate).status == 403)
        #expect(try await desk("/changes/\(last)/remove", .post).status == 409)
        #expect(try await desk("\(place)/remove").text.contains("Remove this change?"))
        #expect(try await desk("\(place)/remove", .post).location == "/changes")
        #expect(try await desk(place).status == 404)
        #expect(try await events(desk).last?.verb == .removeChange)
    }

    @Test("The plan of a retry counts the keys that others have now, and links three of them")
    func busyKeys() async throws {
        let desk = Desk()
        func enqueue(_ key: String) async throws -> OperationID {
            let operation = NewOperation(
                envelope: OperationEnvelope(name: "Send", arguments: Array("{}".utf8)).encoded(),
                links: OperationLinks(unique: UniqueClaim(key: key, policy: .enqueue))
            )
            _ = try await desk.broker.enqueue([operation], queue: "mail")
            return operation.id
        }
        var old: [OperationID] = []
        for key in ["a", "b", "c", "d", "e"] { old.append(try await enqueue(key)) }
        _ = try await desk.broker.cancel(old, request: CancelRequest(reason: "", by: "x"), queue: "mail")
        var holders: [OperationID] = []
        for key in ["a", "b", "c", "d"] { holders.append(try await enqueue(key)) }
        let page = try await desk("/changes/new?action=retry&q=queue:mail+state:cancelled&scope=all").text
        #expect(page.contains("4 have unique keys that other operations have now, and are refused"))
        #expect(page.contains("1 has a unique key that is free now"))
        #expect(holders.count { page.contains("/ops/\($0)?") } == 3)
        let cancel = try await desk("/changes/new?action=cancel&q=queue:mail&scope=all").text
        #expect(!cancel.contains("unique key") && cancel.contains("cancelled at once"))
    }
}
