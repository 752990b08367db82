import Operations
import SluiceOperator
import TerminalText

/// The dependencies and dependents of an operation, direct and indirect, as a drawing and as a table.
struct GraphPage {
    /// The most operations that are read, the nearest first.
    private static let mostRead = 500
    /// With more columns than this, boxes are small.
    private static let wideColumns = 4
    /// A graph with more operations is not read again and again while the page is open.
    private static let liveLimit = 100

    let visit: Visit
    let detail: OperationDetail
    let graph: OperationGraph
    private let boxes: GraphBoxes
    private let table: GraphTable
    private let estimate: GraphEstimate?

    init(_ visit: Visit) async throws {
        self.visit = visit
        let broker = visit.site.broker
        guard let text = visit.query["id"] else { throw PageFailure.badRequest("A graph is named by id= and queue=.") }
        let detail = try await OperationFinder(broker: broker).find(text, queue: visit.query["queue"])
        guard let graph = try await broker.graph(of: detail.id, queue: detail.queue, limit: Self.mostRead) else {
            throw PageFailure.notFound("The operation was removed while its graph was read.")
        }
        (self.detail, self.graph) = (detail, graph)
        boxes = GraphBoxes(graph, subject: detail.name, isWhole: visit.query["draw"] == "all")
        table = try GraphTable(graph, subject: detail.name, visit)
        estimate = try await broker.estimate(of: graph)
    }

    private var address: String { "\(detail.queue)/\(detail.id)" }

    var content: PageContent {
        let title = detail.title(visit.view)
        return PageContent(
            "Graph of \(title)",
            .operations,
            command: ["graph", address],
            isLive: graph.nodes.count <= Self.liveLimit
        ) {
            tag("div", .class("title")) {
                tag("h1", text: "Graph of \(title)")
                StateView.markup(detail.state)
                tag("span", .class("id"), text: detail.id.description)
                tag("div", .class("actions")) {
                    let link = visit.links.to("ops", detail.id.description, query: ["queue": detail.queue])
                    tag("a", .class("button"), .href(link), text: "As operation")
                }
            }
            if graph.isCutShort {
                Notice.markup(
                    .warning,
                    "There are more operations. These are the nearest \(QuantityText.grouped(graph.nodes.count))."
                )
            }
            tag("section", .class("panel drawn")) {
                tag("p") { (graph.summary + (estimate.map { [$0.text] } ?? [])).joined(separator: " · ") }
                GraphChart.scrolling { chart.markup }
                legend
            }
            table.markup
        }
    }

    private var chart: GraphChart {
        let isWide = (boxes.boxes.map(\.column).max() ?? 0) >= Self.wideColumns
        return GraphChart(
            graph: graph,
            subject: detail.name,
            boxes: boxes,
            visit: visit,
            metrics: isWide ? .narrow : .page
        ) { box in table.link(levels: box.levels, state: box.state) }
    }

    @MarkupBuilder private var legend: Markup {
        tag("ul", .class("legend")) {
            if boxes.edges.contains(where: \.isCritical) {
                tag("li") {
                    GraphChart.sample("critical")
                    tag("b", text: "critical path: ")
                    "The path whose runs took longest in all."
                }
            }
            GraphChart.legend(boxes)
            if graph.nodes.count > GraphBoxes.most {
                tag("li") {
                    if boxes.isFolded { "Operations of a level and a state share a box. " }
                    tag(
                        "a",
                        .href(table.link(isWhole: boxes.isFolded)),
                        text: boxes.isFolded ? "Draw each operation" : "Fold by level and state"
                    )
                }
            }
        }
    }
}

extension GraphChart {
    /// The box in which a wide drawing scrolls.
    static func scrolling(_ content: () -> Markup) -> Markup {
        tag("div", .class("scroll drawing"), .named("tabindex", "0"), .named("aria-label", "Drawing of the graph")) {
            content()
        }
    }

    /// The policies of a drawing in words.
    @MarkupBuilder static func legend(_ boxes: GraphBoxes) -> Markup {
        let used = boxes.edges.reduce(into: Set<NeedPolicy>()) { $0.formUnion($1.policies) }
        for policy in NeedPolicy.allCases where used.contains(policy) {
            tag("li") {
                sample(policy.rawValue)
                if let word = policy.word { tag("b", text: "\(word): ") }
                policy.consequence
            }
        }
        if boxes.edges.contains(where: \.isFailed) {
            tag("li") {
                sample("failed")
                "The dependency did not finish, and the dependent did not start."
            }
        }
    }

    /// A line of this kind.
    static func sample(_ kind: String) -> Markup {
        tag("svg", .class("graph sample"), .named("aria-hidden", "true"), .named("viewBox", "0 0 26 8")) {
            tag("g", .class("edge \(kind)")) {
                tag("path", .class("line"), .named("d", "M0 4H20"))
                tag("path", .class("tip"), .named("d", "M19 0L26 4L19 8Z"))
            }
        }
    }
}
