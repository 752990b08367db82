import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Graphs in the dashboard", .timeLimit(.minutes(60)))
struct GraphTests {
    /// A diamond: Merge waits for Left, and holds if Right fails; both wait for Split.
    private func diamond(_ desk: Desk) async throws -> (split: OperationID, right: OperationID, merge: OperationID) {
        let split = try await desk.enqueue("Split", after: [])
        let left = try await desk.enqueue("Left", after: [OperationDependency(split)])
        let right = try await desk.enqueue("Right", after: [OperationDependency(split, onFailure: .run)])
        let needs = [OperationDependency(left), OperationDependency(right, onFailure: .hold)]
        return (split, right, try await desk.enqueue("Merge", after: needs))
    }

    private func cancel(_ desk: Desk, _ id: OperationID) async throws {
        _ = try await desk.broker.cancel([id], request: CancelRequest(reason: "r", by: "bob"), queue: "mail")
    }

    @Test("The page draws operations by level with links and policies, and has the same as a table")
    func diamond() async throws {
        let desk = Desk()
        let (split, _, merge) = try await diamond(desk)
        let page = try await desk("/graph?id=\(merge)&queue=mail").text
        #expect(page.contains("4 operations: 3 blocked, 1 ready"))
        #expect(page.components(separatedBy: "class=\"box ").count == 5)
        #expect(page.components(separatedBy: "<tr>").count == 6)
        #expect(page.contains("class=\"box blocked own\"") && page.contains("href=\"/ops/\(split)?queue=mail\""))
        #expect(page.contains("class=\"policy\"") && page.contains(">hold</text>") && page.contains(">run</text>"))
        #expect(page.contains(NeedPolicy.hold.consequence) && page.contains(NeedPolicy.cancel.consequence))
        #expect(!page.contains(NeedPolicy.death.consequence) && !page.contains("critical path"))
        #expect(page.contains(" graph mail/\(merge)<") && page.contains("no runs of Left, Merge, Right, …"))
        #expect(!page.contains("style="))
    }

    @Test("A failed dependency is marked, and the operation's page draws the neighbours with their policies")
    func failed() async throws {
        let desk = Desk()
        let (_, right, merge) = try await diamond(desk)
        try await cancel(desk, right)
        let page = try await desk("/graph?id=\(merge)&queue=mail").text
        #expect(page.contains("class=\"edge failed hold\"") && page.contains("goes on only if someone helps"))
        let operation = try await desk("/ops/\(merge)?queue=mail").text
        #expect(operation.contains(" Right cancelled (hold)") && operation.contains(" Left blocked"))
        #expect(operation.components(separatedBy: "class=\"box ").count == 4)
        #expect(operation.contains("href=\"/graph?id=\(merge)&amp;queue=mail\""))
        #expect(operation.contains("href=\"/ops/\(right)/retry?queue=mail\""))
        let alone = try await desk.enqueue("Alone", after: [])
        #expect(try await !desk("/ops/\(alone)?queue=mail").text.contains("class=\"graph\""))
    }

    @Test("Neighbours are those of all queues, and at most 12 operations are drawn")
    func neighbours() async throws {
        let desk = Desk()
        let hub = try await desk.enqueue("Hub", after: [])
        for _ in 0..<15 { _ = try await desk.enqueue("Next", after: [OperationDependency(hub)]) }
        let page = try await desk("/ops/\(hub)?queue=mail").text
        #expect(page.components(separatedBy: "class=\"box ").count == 13 && page.contains(">4 more<"))
        let far = OperationDependency(hub, queue: "mail", onFailure: .cancel)
        let other = try await desk.enqueue("Far", after: [far], queue: "video")
        let remote = try await desk("/ops/\(other)?queue=video").text
        #expect(remote.contains("href=\"/ops/\(hub)?queue=mail\"") && remote.contains(" Hub ready"))
    }

    @Test("A graph of more than 40 operations is folded by level and state, and each box leads to its operations")
    func folded() async throws {
        let desk = Desk()
        let first = try await desk.enqueue("Split", after: [])
        var parts: [OperationID] = []
        for _ in 0..<45 { parts.append(try await desk.enqueue("Part", after: [OperationDependency(first)])) }
        let last = try await desk.enqueue("Merge", after: parts.map { OperationDependency($0, onFailure: .run) })
        for id in parts.prefix(5) { try await cancel(desk, id) }
        let page = try await desk("/graph?id=\(last)&queue=mail").text
        #expect(page.components(separatedBy: "class=\"box ").count == 5)
        #expect(page.contains("40 blocked</text>") && page.contains("5 cancelled</text>"))
        #expect(page.contains("level=2&amp;state=cancelled") && page.contains("draw=all"))
        let some = try await desk("/graph?id=\(last)&queue=mail&level=2&state=cancelled").text
        #expect(some.contains("5 of 47") && some.components(separatedBy: "<tr>").count == 7)
        let all = try await desk("/graph?id=\(last)&queue=mail&draw=all").text
        #expect(all.components(separatedBy: "class=\"box ").count == 48)
    }

    @Test("A long chain is folded over levels, and the operation has a box of its own")
    func chain() async throws {
        let desk = Desk()
        var ids = [try await desk.enqueue("Step", after: [])]
        for _ in 1..<60 { ids.append(try await desk.enqueue("Step", after: [OperationDependency(ids.last!)])) }
        let page = try await desk("/graph?id=\(ids[30])&queue=mail").text
        #expect(page.contains("60 operations: 59 blocked, 1 ready") && page.contains("level=1-8&amp;state=blocked"))
        #expect(page.components(separatedBy: " own\"").count == 2)
        #expect(page.components(separatedBy: "class=\"box ").count == 11)
    }

    @Test("Hostile text is shown as text, and wrong addresses are error pages")
    func hostile() async throws {
        let desk = Desk()
        let name = "<script>alert(1)</script>\u{202e}\"'&"
        let group = NewOperation(
            envelope: OperationEnvelope(
                name: GroupTerms.name,
                arguments: (["name": .string(name)] as JSONValue).serializedBytes()
            ).encoded(),
            links: OperationLinks(group: GroupTerms(ifAbandoned: .close, leaseMilliseconds: 60_000))
        )
        _ = try await desk.broker.enqueue([group], queue: "mail")
        let next = try await desk.enqueue("Next", after: [OperationDependency(group.id)])
        for path in ["/graph?id=\(next)&queue=mail", "/ops/\(next)?queue=mail"] {
            let text = try await desk(path).text
            #expect(!text.contains("<script>alert") && text.contains("group &lt;script&gt;alert(1)"), "\(path)")
        }
        #expect(try await desk("/graph").status == 400)
        #expect(try await desk("/graph?id=01J9ZM2Q0000000000000000ZZ&queue=mail").status == 404)
        for field in ["level=0", "level=5-3", "level=x", "state=none", "page=0", "page=x"] {
            #expect(try await desk("/graph?id=\(next)&queue=mail&\(field)").status == 400, "\(field)")
        }
    }

    @Test("The end is estimated by the longest chain of medians, unless someone has to help or a run is late")
    func estimate() async throws {
        let desk = Desk()
        let (split, right, merge) = try await diamond(desk)
        func graph() async throws -> OperationGraph {
            try #require(try await desk.broker.graph(of: merge, queue: "mail", limit: 10))
        }
        let medians = ["Split": 1_000.0, "Left": 20_000, "Right": 5_000, "Merge": 2_000]
        let whole = try #require(GraphEstimate(try await graph(), medians: medians))
        #expect(
            whole.milliseconds == 23_000 && whole.text == "ends in 23s or later, by the median runs of the last day"
        )
        let subject = try #require(try await desk.detail(merge))
        let json = try await graph().json(of: subject, whole)
        #expect(json["estimate"]?["endsInMilliseconds"] == 23_000)
        let part = try #require(GraphEstimate(try await graph(), medians: ["Left": 20_000]))
        #expect(part.text.hasSuffix("; no runs of Merge, Right, Split"))
        try await cancel(desk, right)
        let stuck = try #require(GraphEstimate(try await graph(), medians: medians))
        #expect(stuck.text == "no estimate: 1 operation goes on only if someone helps")
        try await cancel(desk, split)
        try await cancel(desk, merge)
        #expect(GraphEstimate(try await graph(), medians: medians) == nil)
    }
}
