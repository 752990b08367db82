import Operations
import SluiceOperator
import TerminalText

/// The direct dependencies and dependents of an operation, drawn and listed.
struct NeighboursPanel {
    /// The most operations in the drawing.
    private static let most = 12

    let detail: OperationDetail
    let graph: OperationGraph
    let visit: Visit

    /// - Returns: nil, without a read, if the operation has no dependencies and no dependents.
    init?(_ detail: OperationDetail, _ visit: Visit, now: Int64?) async throws {
        let time = now ?? detail.record.enqueuedAt
        let broker = visit.site.broker
        guard let graph = try await broker.neighbours(of: detail, limit: Self.most, time: time) else { return nil }
        (self.detail, self.graph, self.visit) = (detail, graph, visit)
    }

    var markup: Markup {
        tag("section", .class("panel")) {
            tag("h2", text: detail.isGroup ? "Members" : "Dependencies")
            if graph.nodes.count > 1 { GraphChart.scrolling { chart.markup } }
            list
            if let group = GroupSummary(detail), !group.terms.isOfRun {
                tag("p") { tag("a", .href(visit.links.group(group)), text: "Progress and members by state") }
            }
            tag("p") { tag("a", .href(graphPage), text: "Whole graph") }
            CommandLineView(visit.site).markup(["graph", "\(detail.queue)/\(detail.id)"])
        }
    }

    private var graphPage: Link {
        visit.links.to("graph", query: ["id": detail.id.description, "queue": detail.queue])
    }

    private var chart: GraphChart {
        let boxes = GraphBoxes(graph, subject: detail.name, isWhole: true, marksPath: false)
        return GraphChart(graph: graph, subject: detail.name, boxes: boxes, visit: visit, metrics: .small) { _ in
            graphPage
        }
    }

    // MARK: List

    private var list: Markup {
        let links = detail.links
        let dependents = graph.nodes[detail.name]?.dependents ?? []
        return parts {
            tag("dl", .class("facts")) {
                links.needs.map { need in
                    let label = need.policy == .member ? "member" : need.isMet ? "needed" : "needs"
                    return entry(
                        label,
                        need.dependency.name,
                        need.isStuck ? "\(need.stateText), stuck" : need.stateText,
                        need.policy
                    )
                }
                dependents.map { dependent in
                    entry("needed by", dependent, graph.nodes[dependent]?.detail.state.rawValue ?? "", nil)
                }
            }
            if more > 0 { tag("p", .class("dim"), text: "\(QuantityText.grouped(more)) more") }
        }
    }

    private var more: Int {
        let links = detail.links
        let dependents = graph.nodes[detail.name]?.dependents.count ?? 0
        return links.needCount - links.needs.count + max(0, links.dependentCount - dependents)
    }

    private func entry(_ label: String, _ name: DependencyName, _ state: String, _ policy: NeedPolicy?) -> Markup {
        let queue = name.queue ?? detail.queue
        let known = graph.nodes[DependencyName(name.id, queue: queue)]?.detail
        return parts {
            tag("dt", text: label)
            tag("dd") {
                OperationLink.markup(name.id, queue: queue, visit.links)
                known.map { " \($0.title(visit.view))" } ?? ""
                " \(known?.state.rawValue ?? state)"
                policy?.word.map { " (\($0))" } ?? ""
            }
        }
    }
}
