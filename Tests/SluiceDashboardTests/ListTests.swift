import BrokerModel
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Lists of the dashboard", .timeLimit(.minutes(60)))
struct ListTests {
    private func refresh(_ page: String, _ ids: [OperationID]) throws -> String {
        let found = try #require(page.firstMatch(of: /data-rows="([^"]+)"/)).1
        let rows = ids.map { "mail/\($0)" }.joined(separator: "%20")
        return found.replacing("&amp;", with: "&") + "&rows=" + rows
    }

    @Test("The rows of an open list stay, their states change, and new operations are announced")
    func announced() async throws {
        let desk = Desk()
        let ids = try await desk.enqueue("Send", "Other")
        let path = try refresh(try await desk("/ops?q=queue:mail").text, ids)
        #expect(!(try await desk(path).text).contains("Show"))
        try await desk.enqueue("New", "New", "New")
        _ = try await desk.broker.cancel([ids[0]], request: CancelRequest(reason: "late", by: "ann"), queue: "mail")
        await desk.site.loop.expire()
        let text = try await desk(path).text
        #expect(text.contains("3 new – <a href=\"/ops?q=queue%3Amail\">Show</a>"))
        #expect(text.contains("state cancelled") && text.contains("late") && text.contains("state ready"))
        #expect(text.matches(of: /<tr>/).count == 3)
    }

    @Test("Any number since which operations are new is answered", arguments: [Int64.min, -1, 0, .max])
    func extremes(_ since: Int64) async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        #expect(try await desk("/live/ops?since=\(since)").status == 200)
    }

    @Test("A blocked operation says what it waits for, and a list of an unknown state is refused")
    func blocked() async throws {
        let desk = Desk()
        let first = try await desk.enqueue("Send", "Send")
        _ = try await desk.enqueue("One", after: [OperationDependency(first[0])])
        _ = try await desk.enqueue("Two", after: first.map { OperationDependency($0) })
        let page = try await desk("/ops?state=blocked").text
        #expect(
            page.contains("waits for …\(first[0].description.suffix(6))") && page.contains("waits for 2 operations")
        )
        #expect(try await desk("/ops?state=reday").status == 400)
    }

    @Test("The times of a list say what they are, also after an update, and a queue without work has a zero")
    func times() async throws {
        let desk = Desk()
        let ids = try await desk.enqueue("Send", "Other")
        let envelope = OperationEnvelope(name: "Later").encoded()
        _ = try await desk.broker.enqueue(
            [NewOperation(delayMilliseconds: 3_600_000, envelope: envelope)],
            queue: "mail"
        )
        let page = try await desk("/ops").text
        #expect(
            page.contains("<span class=\"dim\">enqueued </span><time")
                && page.contains("<span class=\"dim\">due </span>")
        )
        let path = try refresh(page, ids)
        _ = try await desk.broker.cancel([ids[0]], request: CancelRequest(reason: "late", by: "ann"), queue: "mail")
        await desk.site.loop.expire()
        #expect(try await desk(path).text.contains("<span class=\"dim\">ended </span>"))
        let queues = try await desk("/queues").text
        #expect(queues.contains("0 ended attempts in 10 minutes, at most 0 in a minute"))
        #expect(queues.contains("</svg><span class=\"dim\">0</span>"))
    }

    @Test("All lists together read at most one queue for a snapshot, and none if nothing has happened")
    func costs() async throws {
        let desk = Desk()
        let mail = try await desk.enqueue("Send", queue: "mail")[0]
        let video = try await desk.enqueue("Send", queue: "video")[0]
        let rows = ListRows(desk.broker, view: PayloadView())
        let addresses = [OperationAddress(queue: "mail", id: mail), OperationAddress(queue: "video", id: video)]
        let board = try #require(await desk.site.loop.current().board)
        #expect(try await rows.rows(addresses, board, sequence: 1).count == 1)
        #expect(try await rows.rows(addresses, board, sequence: 1).count == 1)
        #expect(try await rows.rows(addresses, board, sequence: 2).count == 2)
        _ = try await desk.broker.cancel([mail], request: CancelRequest(reason: "", by: "ann"), queue: "mail")
        #expect(try await rows.rows(addresses, board, sequence: 3).map(\.state) == [.ready, .ready])
        await desk.site.loop.expire()
        let later = try #require(await desk.site.loop.current().board)
        #expect(try await rows.rows(addresses, later, sequence: 4).map(\.state) == [.cancelled, .ready])
    }

    @Test("Pages of one snapshot share the read of a view")
    func shared() async throws {
        let reads = ListReads()
        let view = ListReads.View(typed: "queue:mail", state: nil, cursor: nil)
        var result = ListReading()
        result.result.found = 7
        let first = try await reads.reading(view, sequence: 1) { [result] in result }
        let second = try await reads.reading(view, sequence: 1) { ListReading() }
        let third = try await reads.reading(view, sequence: 2) { ListReading() }
        #expect([first, second, third].map(\.result.found) == [7, 7, 0])
    }

    @Test("A place of a stream is free again when its response is gone")
    func streams() {
        let count = StreamCount(limit: 1)
        var place = count.begin()
        #expect(place != nil && count.begin() == nil)
        place = nil
        #expect(count.begin() != nil)
    }

    @Test("A link from outside keeps its whole view, also with characters that browsers do not encode")
    func links() {
        let links = Links(basePath: "/jobs")
        #expect(links.inside("/jobs/ops?q=name:Send*&state=dead")?.text == "/jobs/ops?q=name%3ASend%2A&state=dead")
        #expect(links.inside("/jobs/ops?q=%22x%22+y")?.text == "/jobs/ops?q=%22x%22+y")
        #expect(links.inside("//evil.example") == nil && links.inside("/jobs//evil.example") == nil)
        #expect(links.inside("/jobs/a:b") == nil && links.inside("https://evil.example") == nil)
    }
}
