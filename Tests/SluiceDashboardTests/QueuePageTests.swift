import Operations
import Selectors
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Errors and one queue in the dashboard", .timeLimit(.minutes(60)))
struct QueuePageTests {
    /// Claims all operations of a queue and ends them as dead, with an error that is made from the number of each.
    private func fail(_ desk: Desk, queue: String = "mail", _ message: (Int) -> String) async throws {
        let worker = WorkerID()
        try beat(desk, worker, queue: queue)
        let claim = try await desk.broker.claim(ClaimRequest(worker: worker, epoch: 0, capacity: 50), queue: queue)
        let failures = claim.operations.enumerated().map { index, operation in
            let error = OperationFailure(type: "SMTP", message: message(index), attempt: 1, delivery: 1)
            return Failure(fence: operation.fence, id: operation.id, disposition: .dead, error: error.encoded())
        }
        _ = try await desk.broker.fail(failures, worker: worker, queue: queue)
    }

    private func beat(_ desk: Desk, _ worker: WorkerID, queue: String) throws {
        let beat = Beat(worker: worker, epoch: 0, leaseMilliseconds: 3_600_000, intervalMilliseconds: 5_000, info: [])
        _ = try desk.broker.beat(beat, queue: queue)
    }

    @Test("The icon is red while operations are dead, in the head and for the script")
    func icon() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        let (plain, red) = ("/assets/" + Asset.icon.name, "/assets/" + Asset.deadIcon.name)
        let before = try await desk("/queues").text
        #expect(before.contains("rel=\"icon\" href=\"\(plain)\"") && before.contains("data-icon=\"\(plain)\""))
        try await fail(desk) { _ in "no" }
        let after = try await desk("/queues").text
        #expect(after.contains("rel=\"icon\" href=\"\(red)\"") && after.contains("data-icon=\"\(red)\""))
        #expect(try await desk(red).status == 200)
    }

    @Test("Errors are grouped by signature, and each group leads to its operations and to a retry of exactly them")
    func errors() async throws {
        let desk = Desk()
        let ids = try await desk.enqueue("Send", "Send", "Send")
        try await fail(desk) { $0 < 2 ? "status 550 \"<b>, no\" after \($0 + 11)s" : "other" }
        let page = try await desk("/errors")
        #expect(page.status == 200 && page.text.contains("SMTP: status 550 &quot;…&quot; after Ns"))
        #expect(page.text.contains("3 operations with an error"))
        let path = try #require(page.text.firstMatch(of: /href="(\/ops\?q=[^"]*550[^"]*)"/)?.1)
        let list = try await desk(String(path).replacing("&amp;", with: "&")).text
        #expect(list.contains(ids[0].description) && list.contains(ids[1].description))
        #expect(!list.contains(ids[2].description))
        let retry = try #require(page.text.firstMatch(of: /href="(\/changes\/new\?[^"]*550[^"]*)"/)?.1)
        #expect(retry.contains("action=retry&amp;q=state%3Adead%2Cretrying%20signature%3A%22SMTP"))
        #expect(try await !desk("/errors", as: .viewer).text.contains("/changes/new"))
        let none = try await desk("/errors?q=name:Other").text
        #expect(none.contains("No dead or retrying operation matches.") && none.contains("errors name:Other"))
        let others = "Failed attempts of operations that have ended well since are only counted, in Performance."
        #expect(none.contains(others) && !page.text.contains(others))
        #expect(try await desk("/errors?q=nmae:x").text.contains("did you mean"))
    }

    @Test("FIRST is the time of the first attempt with the error, even if a later attempt failed with it again")
    func firstFailure() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        var detail = try #require(try await desk.broker.details([id], queue: "mail").first ?? nil)
        let failures: [(Int64, String)] = [(100, "no route"), (200, "timed out after 3s"), (300, "timed out after 9s")]
        detail.errors = failures.map { at, text in
            let error = OperationFailure(type: "SMTP", message: text, attempt: 1, delivery: 1)
            return FailedAttempt(at: at, error: error.encoded())
        }
        var groups = ErrorGroups()
        groups.add([detail])
        let group = try #require(groups.sorted.first)
        #expect(group.count == 1 && group.first == 200 && group.last == 300)
    }

    @Test("A search for an error begins with dead and retrying operations, whatever else waits")
    func errorsFirst() async throws {
        let desk = Desk()
        try await desk.enqueue("Send", "Send")
        try await fail(desk) { _ in "timed out" }
        try await desk.enqueue("Send", "Send", "Send", "Send")
        var states: [OperationState] = []
        func walk(_ text: String) async throws -> ListWalk.Result {
            let query = try OperationQuery(parsing: text)
            return try await ListWalk(desk.broker, query, view: PayloadView(), limit: 2, scanLimit: 2).run(from: nil) {
                states += $0.map(\.state)
            }
        }
        for search in ["error:\"timed out\"", "signature:\"SMTP: timed out\""] {
            states = []
            #expect(try await walk(search).found == 2)
            #expect(states == [.dead, .dead])
        }
        states = []
        #expect(try await walk("name:Send").found == 2)
        #expect(states == [.ready, .ready])
    }

    @Test("A queue's page shows what holds its places, what waits, and why nothing starts")
    func queue() async throws {
        let desk = Desk()
        let keyed = (0..<3).map { _ in
            NewOperation(
                envelope: OperationEnvelope(name: "Send").encoded(),
                links: OperationLinks(limitKey: "acme")
            )
        }
        _ = try await desk.broker.enqueue(keyed, queue: "mail")
        try await desk.enqueue("Other")
        _ = try await desk.broker.setLimits(
            [.concurrency(4), .keyConcurrency(1, of: "acme"), .rate(QueueRate(3, per: .seconds(60), burst: 9))],
            by: "bob<b>",
            queue: "mail"
        )
        let worker = WorkerID()
        try beat(desk, worker, queue: "mail")
        let claim = try await desk.broker.claim(ClaimRequest(worker: worker, epoch: 0, capacity: 9), queue: "mail")
        let page = try await desk("/queues/show?queue=mail")
        #expect(page.status == 200 && page.text.contains("concurrency 4, rate 3/1m (burst 9)"))
        #expect(page.text.contains(/set [\w ]+ by bob&lt;b&gt;/) && page.text.contains(" 2 of 4 places"))
        for operation in claim.operations { #expect(page.text.contains(operation.id.description)) }
        #expect(page.text.contains("1/1") && page.text.contains("names of the 2 ready operations"))
        #expect(page.text.contains("<h2>Depth, estimated</h2>"))
        #expect(try await !desk("/queues/show?queue=mail&span=7d").text.contains("<h2>Depth, estimated</h2>"))
        try await desk.broker.setPaused(.pause(by: "cleo", reason: "books"), queue: "mail")
        await desk.site.loop.expire()
        let paused = try await desk("/queues/show?queue=mail").text
        #expect(paused.contains(/Paused by cleo, [\w ]+: books/))
        #expect(paused.contains("No live worker handles Send: 2 of the next 2 operations."))
        let resume = try await desk("/queues/resume?queue=mail").text
        #expect(resume.contains("Even then, no live worker handles Send: 2 of the next 2 operations."))
        #expect(!resume.contains("paused by"))
        let overview = try await desk("/").text
        #expect(
            overview.contains(/queue mail: paused by cleo, [\w ]+: books; no live worker handles Send: 2 of the next 2/)
                && overview.contains("1 of 1 queues do not shrink")
        )
        #expect(try await desk("/queues").text.contains(">stalled<"))
        #expect(try await desk("/queues/show?queue=none").status == 404)
        #expect(try await desk("/queues/show").status == 404)
        #expect(try await desk("/queues").text.contains("href=\"/queues/show?queue=mail\""))
    }

    @Test("Queues are sorted by a column, equal ones by name; the address has the order")
    func order() async throws {
        let desk = Desk()
        for (queue, count) in [("a", 1), ("b", 3), ("c", 1), ("d", 2)] {
            for _ in 0..<count { try await desk.enqueue("Send", queue: queue) }
        }
        func names(_ path: String) async throws -> [String] {
            let table = try #require(try await desk(path).text.split(separator: "<tbody>").dropFirst().first)
            return table.matches(of: /queues\/show\?queue=([a-d])"/).prefix(4).map { String($0.1) }
        }
        #expect(try await names("/queues") == ["a", "b", "c", "d"])
        #expect(try await names("/queues?sort=ready") == ["b", "d", "a", "c"])
        #expect(try await names("/queues?sort=dead") == ["a", "b", "c", "d"])
        #expect(try await desk("/").text.contains("href=\"/queues?sort=oldest\""))
        // A column that narrow pages leave out has no title there either.
        #expect(try await desk("/queues").text.contains(/<th scope="col" class="number minor"[^>]*>In\/s</))
        let wrong = try await desk("/queues?sort=x%3Cy")
        #expect(wrong.status == 400 && wrong.text.contains("sorted by x&lt;y. Use one of: ready"))
    }

    @Test("An admin sets limits after a question, and only those that were changed")
    func limits() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        _ = try await desk.broker.setLimits([.concurrency(4), .keyWeight(3, of: "acme")], by: "bob", queue: "mail")
        let form = try await desk("/queues/limit?queue=mail").text
        #expect(form.contains("name=\"concurrency\" value=\"4\"") && form.contains("method=\"get\""))
        let question = try await desk("/queues/limit/confirm?queue=mail&concurrency=4&rate=20%2F1m&burst=5").text
        #expect(question.contains("queue limit mail rate=20/1m burst=5<"))
        let target = try #require(question.firstMatch(of: /action="(\/queues\/limit\?[^"]*)"/)?.1)
        let path = String(target).replacing("&amp;", with: "&")
        for role in [Role.viewer, .operate] {
            #expect(try await desk(path, .post, as: role).status == 403)
            #expect(try await desk("/queues/limit?queue=mail", as: role).status == 403)
        }
        #expect(try await desk(path, .post).location == "/queues/show?queue=mail&outcome=limited")
        let snapshot = try await desk.broker.snapshot(queue: "mail", executingRows: 0)
        #expect(snapshot.limits.concurrency == 4 && snapshot.limits.keys["acme"]?.weight == 3)
        #expect(snapshot.limits.rate == QueueRate(20, per: .seconds(60), burst: 5) && snapshot.limitsSet?.by == "ann")
        #expect(
            try await desk("/queues/limit/confirm?queue=mail&concurrency=&rate=20/1m&burst=5").text.contains(
                "concurrency=none"
            )
        )
    }

    @Test(
        "Wrong limits are refused with a reason",
        arguments: ["concurrency=0", "concurrency=x", "rate=5", "burst=3", "rate=1/99d", "rate=1%2Fs&burst=0"]
    )
    func wrongLimits(_ fields: String) async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        let answer = try await desk("/queues/limit/confirm?queue=mail&\(fields)")
        #expect(answer.status == 400 && answer.text.contains("<main"), "\(answer.status)")
        #expect(try await desk("/queues/limit?queue=mail&limits=concurrency%3D0", .post).status == 400)
        #expect(try await desk("/queues/limit?queue=none&limits=concurrency%3D2", .post).status == 404)
        #expect(try await desk("/queues/limit?queue=mail", .post).status == 400)
        #expect(
            try await Desk(isReadOnly: true)("/queues/limit?queue=mail&limits=concurrency%3D2", .post).status == 404
        )
    }
}
