import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Groups in the dashboard", .timeLimit(.minutes(60)))
struct GroupTests {
    private static let hostile = "<script>alert(1)</script>\u{202e}\"'&"

    /// Opens a group with members, a callback for its success, and one for the first death.
    private func open(_ desk: Desk, name: String, members: Int = 3) async throws -> OperationID {
        let group = NewOperation(
            envelope: OperationEnvelope(
                name: GroupTerms.name,
                arguments: (["name": .string(name)] as JSONValue).serializedBytes()
            ).encoded(),
            links: OperationLinks(group: GroupTerms(ifAbandoned: .close, leaseMilliseconds: 60_000))
        )
        _ = try await desk.broker.enqueue([group], queue: "mail")
        let news = (0..<members).map { NewOperation(envelope: envelope("Part\($0)")) }
        let callback = OperationLinks(callback: GroupCallback(.success, of: group.id))
        let report = NewOperation(envelope: envelope("Report"), links: callback)
        _ = try await desk.broker.enqueue(news + [report], queue: "mail")
        if members > 0 {
            let change = NeedsChange(group.id, added: OperationLinks(members: news.map { DependencyName($0.id) }))
            _ = try await desk.broker.change(change, by: "ann", queue: "mail")
            _ = try await desk.broker.cancel(
                [news[0].id],
                request: CancelRequest(reason: "r", by: "bob"),
                queue: "mail"
            )
        }
        return group.id
    }

    private func envelope(_ name: String) -> [UInt8] { OperationEnvelope(name: name).encoded() }

    @Test("A group is no dependent of its members, and neither it nor its callback is released")
    func questions() async throws {
        let desk = Desk()
        let id = try await open(desk, name: "nightly")
        let detail = try #require(try await desk.detail(id))
        let member = try #require(detail.links.needs.first { !$0.isMet }).dependency.id
        #expect(try #require(try await desk.detail(member)).links.dependentCount == 1)
        #expect(try await !desk("/ops/\(member)/cancel?queue=mail").text.contains("depends on it"))
        for blocked in [id] + detail.links.dependents {
            #expect(try await !desk("/ops/\(blocked)?queue=mail").text.contains("/release?"))
            #expect(try await desk("/ops/\(blocked)/release?queue=mail").status == 409)
        }
    }

    @Test("Groups are listed with their progress, and ended ones only if asked for")
    func list() async throws {
        let desk = Desk()
        let id = try await open(desk, name: "nightly")
        let page = try await desk("/groups").text
        #expect(page.contains("/groups/show?id=\(id)&amp;queue=mail\">nightly<"))
        #expect(page.contains("1 of 3 members have ended") && page.contains(" group ls<"))
        let ended = try await open(desk, name: "ended", members: 1)
        _ = try await desk.broker.cancel([ended], request: CancelRequest(reason: "", by: "bob"), queue: "mail")
        #expect(try await !desk("/groups").text.contains(">ended<"))
        let all = try await desk("/groups?all=yes&queue=mail").text
        #expect(all.contains(">ended<") && all.contains(" group ls -q mail -a<"))
        #expect(try await desk("/groups?queue=none").text.contains("no open group"))
    }

    @Test("A group's page has members by state, failed members, the reasons why it has not ended, and callbacks")
    func group() async throws {
        let desk = Desk()
        let id = try await open(desk, name: "nightly")
        let page = try await desk("/groups/show?id=\(id)&queue=mail").text
        #expect(page.contains("1 of 3 members has ended, 1 of these has not finished."))
        #expect(page.contains("<title>1 cancelled</title>") && page.contains("<title>2 ready</title>"))
        #expect(page.contains("state=ready&amp;q=group%3Amail%2F\(id)"))
        #expect(page.contains("2 of 3 members have not ended") && page.contains("on success"))
        #expect(page.contains(">Part0<") && page.contains("action=retry&amp;q=group%3Amail%2F\(id)%20state%3Adead"))
        #expect(page.contains("/ops/\(id)/cancel?queue=mail") && page.contains(" group show mail/\(id)<"))
        #expect(try await desk("/ops?state=ready&q=group:mail/\(id)").text.contains("2 shown"))
        let viewed = try await desk("/groups/show?id=\(id)&queue=mail", as: .viewer).text
        #expect(!viewed.contains("/cancel?") && !viewed.contains("action=retry"))
    }

    @Test("A group's page draws the runs of its members, and lists them in a table")
    func runs() async throws {
        let desk = Desk()
        let id = try await open(desk, name: "nightly")
        #expect(try await !desk("/groups/show?id=\(id)&queue=mail").text.contains("Runs of members"))
        let worker = WorkerID()
        let beat = Beat(worker: worker, epoch: 0, leaseMilliseconds: 3_600_000, intervalMilliseconds: 5_000, info: [])
        _ = try desk.broker.beat(beat, queue: "mail")
        let claim = try await desk.broker.claim(ClaimRequest(worker: worker, epoch: 0, capacity: 2), queue: "mail")
        #expect(claim.operations.count == 2)
        let page = try await desk("/groups/show?id=\(id)&queue=mail").text
        #expect(page.contains("Runs of members") && page.contains("2 runs; the table below has them"))
        for operation in claim.operations { #expect(page.matches(of: try Regex("/ops/\(operation.id)")).count >= 2) }
    }

    @Test("A cancelled group says so, and its members end")
    func cancel() async throws {
        let desk = Desk()
        let id = try await open(desk, name: "nightly")
        #expect(try await desk("/ops/\(id)/cancel?queue=mail", .post, form: "reason=wrong+day").status == 303)
        let page = try await desk("/groups/show?id=\(id)&queue=mail").text
        #expect(page.contains("wrong day") && page.contains("<title>3 cancelled</title>"))
        #expect(!page.contains("/cancel?"))
    }

    @Test("Hostile names are shown as text, and an address that is no group is an error page")
    func hostile() async throws {
        let desk = Desk()
        let id = try await open(desk, name: Self.hostile, members: 0)
        for path in ["/groups", "/groups/show?id=\(id)&queue=mail"] {
            let text = try await desk(path).text
            #expect(!text.contains("<script>alert") && text.contains("&lt;script&gt;alert(1)"), "\(path)")
        }
        let other = try await desk.enqueue("Send")[0]
        let answer = try await desk("/groups/show?id=\(other)&queue=mail")
        #expect(answer.status == 404 && answer.text.contains("is not a group"))
        #expect(try await desk("/groups/show").status == 400)
        #expect(try await desk("/groups/show?id=%3Cscript%3E&queue=mail").status == 404)
    }
}
