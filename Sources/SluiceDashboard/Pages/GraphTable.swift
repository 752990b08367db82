import Operations
import SluiceOperator
import TerminalText

/// The operations of a graph as a table, level by level.
struct GraphTable {
    private static let pageSize = 100
    private static let shownNeeds = 3

    private struct Row {
        let level: Int
        let node: OperationGraph.Node
    }

    private let graph: OperationGraph
    private let subject: DependencyName
    private let visit: Visit
    /// The levels and the state of the rows to show.
    private let levels: ClosedRange<Int>?
    private let state: OperationState?
    private let page: Int
    private let rows: [Row]
    private let path: Set<DependencyName>

    init(_ graph: OperationGraph, subject: DependencyName, _ visit: Visit) throws(PageFailure) {
        (self.graph, self.subject, self.visit) = (graph, subject, visit)
        let (level, state, page) = (visit.query["level"], visit.query["state"], visit.query["page"])
        levels = level.flatMap(LevelText.parse)
        self.state = state.flatMap { OperationState(rawValue: $0) }
        if let level, levels == nil { throw .badRequest("level is \(level); expected a number, or two: 3-5") }
        if let state, self.state == nil { throw .badRequest("state is \(state), which is no state") }
        self.page = page.flatMap { Int($0) } ?? 1
        if let page, !(1...1_000).contains(self.page) || Int(page) == nil {
            throw .badRequest("page is \(page); expected a number from 1 on")
        }
        path = graph.criticalPath.milliseconds > 0 ? Set(graph.criticalPath.names) : []
        let (chosenLevels, chosenState) = (levels, self.state)
        rows = graph.levels.enumerated().filter { chosenLevels?.contains($0.offset) ?? true }.flatMap { level, names in
            names.compactMap { graph.nodes[$0] }.filter { chosenState == nil || $0.detail.state == chosenState }
                .map { Row(level: level, node: $0) }
        }
    }

    /// The page with some of the rows.
    func link(levels: ClosedRange<Int>? = nil, state: OperationState? = nil, page: Int = 1, isWhole: Bool? = nil)
        -> Link
    {
        let isWhole = isWhole ?? (visit.query["draw"] == "all")
        return visit.links.to(
            "graph",
            query: [
                "id": subject.id.description, "queue": subject.queue, "draw": isWhole ? "all" : nil,
                "level": levels.map(LevelText.text), "state": state?.rawValue, "page": page > 1 ? "\(page)" : nil,
            ]
        )
    }

    var markup: Markup {
        let shown = rows.dropFirst((page - 1) * Self.pageSize).prefix(Self.pageSize)
        return tag("section") {
            tag("h2", text: title)
            if shown.isEmpty {
                Empty.markup("There are no such operations here.")
            } else {
                TableView.markup(
                    title,
                    ["Level", "Operation", "State", "Name", "Run", "Depends on", "Needed by"],
                    shown.map(row)
                )
            }
            tag("div", .class("under")) {
                "\(QuantityText.grouped(rows.count)) of \(QuantityText.grouped(graph.nodes.count))"
                if page * Self.pageSize < rows.count {
                    tag(
                        "a",
                        .class("button"),
                        .href(link(levels: levels, state: state, page: page + 1)),
                        text: "Next page"
                    )
                }
                if levels != nil || state != nil || page > 1 { tag("a", .href(link()), text: "All operations") }
            }
        }
    }

    private var title: String {
        let level = levels.map { " of level \(LevelText.text($0))" } ?? ""
        return "Operations\(level)" + (state.map { ", \($0.rawValue)" } ?? "")
    }

    private func row(_ row: Row) -> [Cell] {
        let (node, detail) = (row.node, row.node.detail)
        let time = node.runTime(now: graph.time)
        return [
            Cell("Level", "level") { "\(row.level + 1)" },
            Cell("Operation", "id") {
                if detail.queue != subject.queue { "\(detail.queue)/" }
                OperationLink.markup(detail.id, queue: detail.queue, visit.links)
            },
            Cell("State") { StateView.markup(detail.state) },
            Cell("Name", "name") {
                detail.title(visit.view)
                let notes = [
                    node.name == subject ? "this operation" : nil, path.contains(node.name) ? "critical path" : nil,
                ]
                tag("small", text: " " + notes.compactMap { $0 }.joined(separator: ", "))
            },
            .measure("Run", time > 0 ? DurationText.precise(.milliseconds(time)) : "–"),
            Cell("Depends on") { needs(detail) },
            .count("Needed by", node.dependents.count),
        ]
    }

    /// The first dependencies, unmet ones before the others, with their policies.
    @MarkupBuilder private func needs(_ detail: OperationDetail) -> Markup {
        for need in detail.links.needs.prefix(Self.shownNeeds) {
            tag("span", .class("need" + (need.isStuck ? " dead" : ""))) {
                OperationLink.markup(need.dependency.id, queue: need.dependency.queue ?? detail.queue, visit.links)
                need.policy.word.map { " \($0)" } ?? ""
                if need.isStuck { " \(need.stateText)" }
            }
        }
        let more = detail.links.needCount - min(detail.links.needs.count, Self.shownNeeds)
        if more > 0 { tag("span", .class("need dim"), text: "\(QuantityText.grouped(more)) more") }
    }
}
