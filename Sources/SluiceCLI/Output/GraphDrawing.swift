import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// Formats a graph of operations as text.
struct GraphDrawing {
    private let graph: OperationGraph
    private let detail: OperationDetail
    /// The keys with which names of groups are read.
    private let view: PayloadView

    init(_ graph: OperationGraph, of detail: OperationDetail, view: PayloadView) {
        (self.graph, self.detail, self.view) = (graph, detail, view)
    }
}

// MARK: - Tree

extension GraphDrawing {
    func lines(_ style: Style) -> [String] {
        let tree = GraphTree(graph, subject: detail.name, style: style, view: view)
        return [summary] + tree.rows.map { row in row.spans.reduce(row.branch) { $0 + style.paint($1.text, $1.role) } }
    }

    /// `graph of 7QK2MX merge   10 operations: 5 finished, 1 executing, 4 blocked   critical path 4m10s over 3`
    private var summary: String {
        let name = SafeText.line(detail.title(view))
        return (["graph of \(detail.id) \(name)"] + graph.summary).joined(separator: "   ")
    }
}

// MARK: - Other forms

extension GraphDrawing {
    /// The graph for Graphviz. An edge leads from a dependency to its dependent.
    var dot: [String] {
        var lines = ["digraph operations {", "  rankdir=LR; node [shape=box, fontname=\"sans-serif\"];"]
        for id in graph.order {
            guard let node = graph.nodes[id] else { continue }
            let label =
                "\(Self.quoted(node.detail.title(view)))\\n\(place(node))…\(id.id.description.suffix(6)) \(node.detail.state.rawValue)"
            lines.append("  \"\(text(id))\" [label=\"\(label)\"];")
        }
        for edge in graph.edges {
            lines.append(
                "  \"\(text(edge.dependency))\" -> \"\(text(edge.dependent))\""
                    + (edge.policy?.word.map { " [label=\"\($0)\"];" } ?? ";")
            )
        }
        return lines + ["}"]
    }

    /// A row for each edge.
    var table: Table {
        var table = Table(["ID", "NEEDS", "POLICY"].map { TableColumn($0) })
        for edge in graph.edges {
            table.append(
                [text(edge.dependent), text(edge.dependency), edge.policy.map(Self.word) ?? ""].map { TableCell($0) }
            )
        }
        return table
    }

    private static func word(_ policy: NeedPolicy) -> String {
        policy.word ?? (policy == .cancel ? policy.rawValue : "")
    }

    /// The id, with the queue if that differs from the subject's queue.
    private func text(_ name: DependencyName) -> String {
        name.queue == detail.queue ? name.id.description : name.description
    }

    private func place(_ node: OperationGraph.Node) -> String {
        node.detail.queue == detail.queue ? "" : "\(node.detail.queue)/"
    }

    /// Escapes a text for use inside a quoted label.
    private static func quoted(_ text: String) -> String {
        SafeText.line(text).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
