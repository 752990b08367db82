import Operations
import Sluice
import SluiceMonitor
import TerminalText

/// A graph of operations as text.
struct GraphDrawing {
    /// Of what depends on one operation, so many are drawn.
    private static let shownDependents = 20
    private let graph: OperationGraph
    private let detail: OperationDetail

    init(_ graph: OperationGraph, of detail: OperationDetail) { (self.graph, self.detail) = (graph, detail) }
}

// MARK: - Tree

extension GraphDrawing {
    func lines(_ style: Style) -> [String] {
        var tree = Tree(graph: graph, style: style, subject: detail.id)
        for root in graph.roots { tree.add(root, indent: "", branch: "") }
        return [summary] + tree.lines
    }

    /// `graph of 7QK2MX merge   10 operations: 5 finished, 1 executing, 4 blocked   critical path 4m10s: …`
    private var summary: String {
        let counts = OperationState.allCases.compactMap { state in
            graph.counts[state].map { "\(QuantityText.grouped($0)) \(state.rawValue)" }
        }
        let count = graph.order.count
        var text = "graph of \(detail.id) \(SafeText.line(detail.envelope.name))   "
        text +=
            "\(QuantityText.grouped(count)) \(count == 1 ? "operation" : "operations"): "
            + counts.joined(separator: ", ")
        let path = graph.criticalPath
        guard path.milliseconds > 0 else { return text }
        return text
            + "   critical path \(DurationText.precise(.milliseconds(path.milliseconds))) over \(path.ids.count)"
    }

    private struct Tree {
        let graph: OperationGraph
        let style: Style
        let subject: OperationID
        var lines: [String] = []
        private var shown: Set<OperationID> = []

        init(graph: OperationGraph, style: Style, subject: OperationID) {
            (self.graph, self.style, self.subject) = (graph, style, subject)
        }

        /// What depends on an operation stands below it once. Without recursion: a chain may have any length.
        mutating func add(_ root: OperationID, indent: String, branch: String) {
            var open: [(id: OperationID?, indent: String, branch: String)] = [(root, indent, branch)]
            while let (id, indent, branch) = open.popLast() {
                guard let id, let node = graph.nodes[id] else {
                    lines.append(branch)
                    continue
                }
                let isNew = shown.insert(id).inserted
                let above = isNew || node.dependents.isEmpty ? "" : style.usesASCII ? "  ^" : "  ↑"
                lines.append(branch + text(node) + above)
                guard isNew else { continue }
                let dependents = node.dependents.prefix(GraphDrawing.shownDependents)
                let more = node.dependents.count - dependents.count
                if more > 0 {
                    open.append((nil, "", indent + last + "\(QuantityText.grouped(more)) more depend on it"))
                }
                for (place, dependent) in dependents.enumerated().reversed() {
                    let isLast = place == dependents.count - 1 && more == 0
                    open.append((dependent, indent + (isLast ? "   " : bar), indent + (isLast ? last : between)))
                }
            }
        }

        private var bar: String { style.usesASCII ? "|  " : "│  " }
        private var between: String { style.usesASCII ? "|- " : "├─ " }
        private var last: String { style.usesASCII ? "`- " : "└─ " }

        private func text(_ node: OperationGraph.Node) -> String {
            let name = SafeText.line(node.detail.envelope.name)
            let time = node.runTime(now: graph.time)
            let ran = time > 0 ? "  \(DurationText.precise(.milliseconds(time)))" : ""
            let mark = "\(style.mark(node.detail.state)) \(node.id) \(name)  \(style.word(node.detail.state))\(ran)"
            return node.id == subject ? mark + "  " + (style.usesASCII ? "<" : "◀") : mark
        }
    }
}

// MARK: - Other forms

extension GraphDrawing {
    /// For Graphviz. An edge leads from a dependency to what depends on it.
    var dot: [String] {
        var lines = ["digraph operations {", "  rankdir=LR; node [shape=box, fontname=\"sans-serif\"];"]
        for id in graph.order {
            guard let node = graph.nodes[id] else { continue }
            let label =
                "\(Self.quoted(node.detail.envelope.name))\\n…\(id.description.suffix(6)) \(node.detail.state.rawValue)"
            lines.append("  \"\(id)\" [label=\"\(label)\"];")
        }
        for (from, to, policy) in edges {
            lines.append(
                "  \"\(from)\" -> \"\(to)\"" + (policy == .cancel ? ";" : " [label=\"\(policy?.rawValue ?? "")\"];")
            )
        }
        return lines + ["}"]
    }

    /// A row for each edge.
    var table: Table {
        var table = Table(["ID", "NEEDS", "POLICY"].map { TableColumn($0) })
        for (from, to, policy) in edges {
            table.append(["\(to)", "\(from)", policy?.rawValue ?? ""].map { TableCell($0) })
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
                "ids": .array(path.ids.map { .string($0.description) }),
                "milliseconds": .number(Int(path.milliseconds)),
            ],
            "isCutShort": .bool(graph.isCutShort),
        ]
    }

    private func operation(_ node: OperationGraph.Node) -> JSONValue {
        [
            "id": .string(node.id.description), "name": .string(node.detail.envelope.name),
            "state": .string(node.detail.state.rawValue),
            "startedAt": OperationJSON.time(node.detail.record.startedAt),
            "endedAt": OperationJSON.time(node.detail.record.endedAt),
        ]
    }

    private func edge(from: OperationID, to: OperationID, policy: DependencyFailurePolicy?) -> JSONValue {
        [
            "from": .string(from.description), "to": .string(to.description),
            "onFailure": JSONValue(policy?.rawValue),
        ]
    }

    /// nil = the policy was not read, because the operation depends on many.
    private var edges: [(from: OperationID, to: OperationID, policy: DependencyFailurePolicy?)] {
        graph.order.flatMap { id -> [(OperationID, OperationID, DependencyFailurePolicy?)] in
            guard let node = graph.nodes[id] else { return [] }
            return node.needs.map { dependency in
                let need = node.detail.links.needs.first { $0.dependency.id == dependency }
                return (dependency, id, need?.dependency.policy)
            }
        }
    }

    /// Inside of the quotes of a label.
    private static func quoted(_ text: String) -> String {
        SafeText.line(text).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
