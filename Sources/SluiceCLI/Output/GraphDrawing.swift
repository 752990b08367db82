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
        for (from, to, policy) in edges {
            lines.append(
                "  \"\(text(from))\" -> \"\(text(to))\""
                    + (policy?.word.map { " [label=\"\($0)\"];" } ?? ";")
            )
        }
        return lines + ["}"]
    }

    /// A row for each edge.
    var table: Table {
        var table = Table(["ID", "NEEDS", "POLICY"].map { TableColumn($0) })
        for (from, to, policy) in edges {
            table.append([text(to), text(from), policy.map(Self.word) ?? ""].map { TableCell($0) })
        }
        return table
    }

    /// The object that `docs/schema/graph.json` describes.
    var json: JSONValue {
        let path = graph.criticalPath
        return [
            "v": 1,
            "id": .string(detail.id.description),
            "queue": .string(detail.queue),
            "time": OperationJSON.time(graph.time),
            "operations": .array(graph.order.compactMap { graph.nodes[$0].map(operation) }),
            "edges": .array(edges.map(edge)),
            "criticalPath": [
                "ids": .array(path.names.map { .string($0.id.description) }),
                "milliseconds": .number(Int(path.milliseconds)),
            ],
            "isCutShort": .bool(graph.isCutShort),
        ]
    }

    private func operation(_ node: OperationGraph.Node) -> JSONValue {
        [
            "id": .string(node.detail.id.description), "queue": .string(node.detail.queue),
            "name": .string(node.detail.envelope.name),
            "state": .string(node.detail.state.rawValue),
            "startedAt": OperationJSON.time(node.detail.record.startedAt),
            "endedAt": OperationJSON.time(node.detail.record.endedAt),
        ]
    }

    private static func word(_ policy: NeedPolicy) -> String {
        policy.word ?? (policy == .cancel ? policy.rawValue : "")
    }

    private func edge(from: DependencyName, to: DependencyName, policy: NeedPolicy?) -> JSONValue {
        [
            "from": .string(from.id.description), "fromQueue": JSONValue(from.queue),
            "to": .string(to.id.description), "toQueue": JSONValue(to.queue),
            "onFailure": policy == .member ? .null : JSONValue(policy?.shown.rawValue),
        ]
    }

    /// The edges. The policy is nil if it was not read because the operation has many dependencies.
    private var edges: [(from: DependencyName, to: DependencyName, policy: NeedPolicy?)] {
        graph.order.flatMap { id -> [(DependencyName, DependencyName, NeedPolicy?)] in
            guard let node = graph.nodes[id] else { return [] }
            return node.needs.map { dependency in
                let need = node.detail.links.needs.first {
                    $0.dependency.id == dependency.id && ($0.dependency.queue ?? node.detail.queue) == dependency.queue
                }
                return (dependency, id, need?.policy)
            }
        }
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
