import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Remedies in the dashboard", .timeLimit(.minutes(60)))
struct RemedyTests {
    private func panel(_ page: String) -> String {
        String(page.firstMatch(of: /<h2>(?:Why it waits|Now)<\/h2>.*?<\/section>/)?.0 ?? "")
    }

    private func hold(_ desk: Desk, _ id: OperationID) async throws {
        _ = try await desk.broker.hold([id], by: "bob", reason: "ask", queue: "mail")
    }

    @Test("A remedy that changes something is a button, and a command for a person without the right")
    func rights() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        try await hold(desk, id)
        #expect(try await desk("/ops?state=blocked").text.contains(">held by bob: ask<"))
        let page = panel(try await desk("/ops/\(id)?queue=mail", as: .operate).text)
        #expect(page.contains("href=\"/ops/\(id)/release?queue=mail\">Release<") && !page.contains(" release \(id)<"))
        let viewed = panel(try await desk("/ops/\(id)?queue=mail", as: .viewer).text)
        #expect(!viewed.contains("/release?") && viewed.contains(" release \(id)<"))
        // A worker cannot be started from here.
        #expect(page.contains(" worker -q mail<"))
        let fixed = Desk(isReadOnly: true)
        let other = try await fixed.enqueue("Send")[0]
        try await hold(fixed, other)
        #expect(panel(try await fixed("/ops/\(other)?queue=mail").text).contains(" release \(other)<"))
    }

    @Test("A paused queue is resumed, and a scheduled operation starts now")
    func others() async throws {
        let desk = Desk()
        let ready = try await desk.enqueue("Send")[0]
        try await desk.broker.setPaused(.pause(by: "bob", reason: ""), queue: "mail")
        let page = panel(try await desk("/ops/\(ready)?queue=mail").text)
        #expect(page.contains("href=\"/queues/resume?queue=mail\">Resume queue mail<"))
        let envelope = OperationEnvelope(name: "Later").encoded()
        let later = NewOperation(delayMilliseconds: 3_600_000, envelope: envelope)
        _ = try await desk.broker.enqueue([later], queue: "mail")
        let scheduled = panel(try await desk("/ops/\(later.id)?queue=mail").text)
        #expect(scheduled.contains("href=\"/ops/\(later.id)/retry?queue=mail\">Start now<"))
    }

    @Test("An operation at the end of a chain is helped where the chain begins, also in another queue")
    func chain() async throws {
        let desk = Desk()
        let first = try await desk.enqueue("First", queue: "video")[0]
        _ = try await desk.broker.hold([first], by: "bob", reason: "", queue: "video")
        let need = OperationDependency(first, queue: "video", onFailure: .cancel)
        let next = try await desk.enqueue("Next", after: [need])
        let page = panel(try await desk("/ops/\(next)?queue=mail").text)
        #expect(page.contains("href=\"/ops/\(first)/release?queue=video\">Release …\(first.description.suffix(6))<"))
    }

    @Test("Each remedy has the words of its command")
    func words() {
        let id = OperationID(key: "x")
        #expect(Remedy.retryTree(DependencyName(id, queue: "a")).words == ["retry", "a/\(id)", "--tree"])
        #expect(Remedy.waitForCancel(DependencyName(id)).words == ["cancel", "\(id)", "--wait"])
        #expect(
            Remedy.startWorker(queue: "a", handler: "Send").words == ["worker", "-q", "a", "--handler", "Send=PROGRAM"]
        )
        #expect(Remedy.removeStandingCancel(7, queue: "a").words == ["cancels", "rm", "a/7"])
        #expect(!Remedy.waitForCancel(DependencyName(id)).isChange && Remedy.resumeQueue("a").isChange)
    }
}
