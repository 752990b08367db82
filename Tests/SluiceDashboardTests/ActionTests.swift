import HTTPTypes
import Hummingbird
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Changes in the dashboard", .timeLimit(.minutes(60)))
struct ActionTests {
    @Test("An operation is held, released, cancelled, retried and removed, with name and reason")
    func changes() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let page = "/ops/\(id)"
        func change(_ action: String, _ outcome: String) async throws {
            #expect(try await desk("\(page)/\(action)?queue=mail").text.contains("method=\"post\""))
            let answer = try await desk("\(page)/\(action)?queue=mail", .post, form: "reason=because+%3Cb%3E")
            #expect(answer.status == 303 && answer.location.hasSuffix("outcome=\(outcome)"), "\(action) \(answer)")
            #expect(try await desk(answer.location).text.contains("class=\"notice good\""))
        }
        try await change("hold", "held")
        let hold = try #require(try await desk.detail(id)?.hold)
        #expect(hold.by == "ann" && hold.reason == "because <b>")
        try await change("release", "released")
        try await change("cancel", "cancelled")
        let cancel = try #require(try await desk.detail(id)?.cancel)
        #expect(cancel.by == "ann" && cancel.reason == "because <b>")
        try await change("retry", "retried")
        #expect(try await desk.detail(id)?.state == .ready)
        try await change("remove", "removed")
        #expect(try await desk.detail(id) == nil)
    }

    @Test("A queue is paused with a reason, and resumed")
    func queues() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        #expect(try await desk("/queues/pause?queue=mail").text.contains("Pause queue mail?"))
        #expect(try await desk("/queues/pause?queue=mail", .post, form: "reason=books").status == 303)
        let pause = try await desk.broker.snapshot(queue: "mail", executingRows: 0).pause
        #expect(pause?.by == "ann" && pause?.reason == "books")
        #expect(try await desk("/queues").text.contains("by ann"))
        #expect(try await desk("/queues/resume?queue=mail", .post).status == 303)
        #expect(try await !desk.broker.snapshot(queue: "mail", executingRows: 0).paused)
        #expect(try await desk("/queues/pause?queue=none", .post).status == 404)
        #expect(try await desk.broker.queues() == ["mail"])
    }

    private func posts(_ id: OperationID) -> [String] {
        OperationAction.allCases.map { "/ops/\(id)/\($0.rawValue)?queue=mail" }
            + QueueAction.allCases.map { "/queues/\($0.rawValue)?queue=mail" }
    }

    @Test("The handler of each change checks the role: a viewer has none of them, an operator cannot remove")
    func roles() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let record = try await desk.detail(id)
        for path in posts(id) {
            #expect(try await desk(path, .post, as: .viewer, form: "reason=x").status == 403, "\(path)")
            #expect(try await desk(path, as: .viewer).status == 403, "\(path)")
        }
        #expect(try await desk("/ops/\(id)/remove?queue=mail", .post, as: .operate).status == 403)
        #expect(try await desk.detail(id) == record)
        let page = try await desk("/ops/\(id)?queue=mail", as: .viewer).text
        #expect(!page.contains("/cancel?"))
        #expect(try await desk("/ops/\(id)?queue=mail", as: .operate).text.contains("/cancel?"))
    }

    @Test("A read-only dashboard has no address that changes something, also for an admin")
    func readOnly() async throws {
        let desk = Desk(isReadOnly: true)
        let id = try await desk.enqueue("Send")[0]
        for path in posts(id) {
            let status = try await desk(path, .post).status
            #expect([404, 405].contains(status), "\(path) \(status)")
        }
        #expect(try await desk.detail(id)?.state == .ready)
        #expect(try await !desk("/ops/\(id)?queue=mail").text.contains("/cancel?"))
    }

    @Test(
        "A request from another site changes nothing",
        arguments: [
            [.fetchSite: "cross-site"], [.fetchSite: "same-site"], [.fetchSite: "none"], [:],
            [.origin: "http://evil.example"], [.origin: "null"],
        ] as [HTTPFields]
    )
    func crossSite(_ headers: HTTPFields) async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        for path in posts(id) { #expect(try await desk(path, .post, headers: headers).status == 403, "\(path)") }
        #expect(try await desk("/logout", .post, headers: headers).status == 403)
        #expect(try await desk.detail(id)?.state == .ready)
        let cancel = "/ops/\(id)/cancel?queue=mail"
        #expect(try await desk(cancel, .post, headers: [.origin: "http://localhost"]).status == 303)
    }

    @Test("A change that the state does not allow any more is refused, and the page says why")
    func late() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        _ = try await desk.broker.cancel([id], request: CancelRequest(reason: "", by: "x"), queue: "mail")
        let answer = try await desk("/ops/\(id)/hold?queue=mail", .post)
        #expect(answer.status == 409 && answer.text.contains("Nothing was changed"))
        #expect(answer.text.contains("is cancelled"))
        #expect(try await desk("/ops/\(id)/hold?queue=mail").status == 409)
        #expect(try await desk("/ops/01J9ZM2Q0000000000000000ZZ/cancel?queue=mail", .post).status == 404)
    }

    @Test("The cancel of a running operation is requested, not done")
    func running() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let worker = WorkerID()
        _ = try desk.broker.beat(
            Beat(worker: worker, epoch: 1, leaseMilliseconds: 3_600_000, intervalMilliseconds: 5_000, info: []),
            queue: "mail"
        )
        _ = try await desk.broker.claim(ClaimRequest(worker: worker, epoch: 1, capacity: 1), queue: "mail")
        let answer = try await desk("/ops/\(id)/cancel?queue=mail", .post)
        #expect(answer.location.hasSuffix("outcome=requested"))
        #expect(try await desk.detail(id)?.state == .executing)
        // The next step is a cancel by force; an older question asks once more.
        #expect(try await desk("/ops/\(id)?queue=mail").text.contains(">Cancel by force<"))
        _ = try await desk("/ops/\(id)/cancel?queue=mail", .post)
        #expect(try await desk.detail(id)?.state == .executing)
        let question = try await desk("/ops/\(id)/cancel?queue=mail").text
        #expect(question.contains("name=\"force\" value=\"yes\"") && question.contains(" cancel mail/\(id) --force<"))
        let forced = try await desk("/ops/\(id)/cancel?queue=mail", .post, form: "force=yes&reason=frozen")
        #expect(forced.location.hasSuffix("outcome=cancelled"))
        let detail = try #require(try await desk.detail(id))
        #expect(detail.state == .cancelled && detail.cancel?.forced?.by == "ann")
    }

    @Test("A question says what happens to the operations that depend on the one, and what a release means")
    func consequences() async throws {
        let desk = Desk()
        let first = try await desk.enqueue("Send")[0]
        let second = try await desk.enqueue("Next", after: [OperationDependency(first)])
        func text(_ id: OperationID, _ action: String) async throws -> String {
            try await desk("/ops/\(id)/\(action)?queue=mail").text
        }
        for action in ["cancel", "hold", "remove"] {
            #expect(try await text(first, action).contains("1 operation depends on it"), "\(action)")
            #expect(try await !text(second, action).contains("depends on it"), "\(action)")
        }
        #expect(try await text(second, "release").contains("no longer waits for its dependencies"))
        // A dependent in another queue, of which this queue knows only that there may be some
        let third = try await desk.enqueue("Third")[0]
        let far = OperationDependency(third, queue: "mail")
        _ = try await desk.enqueue("Far", after: [far], queue: "video")
        #expect(try await text(third, "cancel").contains("Operations in queue video may depend on it"))
        _ = try await desk.broker.hold([first], by: "ann", reason: "", queue: "mail")
        #expect(try await text(first, "release").contains("is held. Once released, it is the next"))
        let later = NewOperation(delayMilliseconds: 3_600_000, envelope: OperationEnvelope(name: "Later").encoded())
        _ = try await desk.broker.enqueue([later], queue: "mail")
        #expect(try await text(later.id, "retry").contains("Start this operation now?"))
    }

    @Test("A body over one megabyte is refused")
    func large() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let form = "reason=" + String(repeating: "x", count: 1 << 20)
        #expect(try await desk("/ops/\(id)/cancel?queue=mail", .post, form: form).status == 413)
        #expect(try await desk.detail(id)?.state == .ready)
    }
}
