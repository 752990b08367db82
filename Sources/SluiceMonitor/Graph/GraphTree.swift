import Operations
import SluiceOperator
import TerminalText

/// A graph of operations as a tree: each operation stands below its dependencies.
package struct GraphTree {
    /// A line of the tree, safe to print.
    package struct Row: Sendable, Equatable {
        /// The branch lines before the operation.
        package var branch: String
        package var spans: [Span]
    }

    private enum Item {
        case operation(DependencyName, indent: String, branch: String)
        /// Siblings that are only counted.
        case others([DependencyName], branch: String)
    }

    /// The most siblings that are drawn; the others are only counted.
    private static let shownSiblings = 20

    package private(set) var rows: [Row] = []
    private let graph: OperationGraph
    private let subject: DependencyName
    private let style: Style
    private let view: PayloadView
    private let idLength: Int
    private var shown: Set<DependencyName> = []
    /// The path from a root to the subject: the next operation after each one; nil = the root.
    private var way: [DependencyName?: DependencyName] = [:]

    /// - Parameters:
    ///   - subject: the marked operation, drawn even if it has many siblings.
    ///   - view: the keys that read the names of groups.
    ///   - idLength: the number of characters of ids, counted from their ends.
    package init(
        _ graph: OperationGraph,
        subject: DependencyName,
        style: Style,
        view: PayloadView = PayloadView(),
        idLength: Int = OperationID.characterCount
    ) {
        (self.graph, self.subject, self.style, self.idLength) = (graph, subject, style, idLength)
        self.view = view
        findWay()
        draw()
    }

    private mutating func findWay() {
        var known: Set<DependencyName> = []
        var id = subject
        while known.insert(id).inserted, let need = graph.nodes[id]?.needs.first {
            way[need] = id
            id = need
        }
        way[nil] = id
    }

    /// Draws each operation once, below its dependency. Works without recursion, because a chain may have any length.
    private mutating func draw() {
        var open = Array(items(graph.roots, below: nil, indent: "").reversed())
        while let item = open.popLast() {
            switch item {
            case .others(let ids, let branch): rows.append(Row(branch: branch, spans: [others(ids)]))
            case .operation(let id, let indent, let branch):
                guard let node = graph.nodes[id] else { continue }
                let isNew = shown.insert(id).inserted
                rows.append(Row(branch: branch, spans: spans(node, isRepeated: !isNew && !node.dependents.isEmpty)))
                if isNew { open += items(node.dependents, below: id, indent: indent).reversed() }
            }
        }
    }

    /// - Parameter parent: the dependency above the siblings; nil = the siblings are the roots.
    private func items(_ siblings: [DependencyName], below parent: DependencyName?, indent: String) -> [Item] {
        let drawn = drawn(siblings, below: parent)
        let others = siblings.count > drawn.count ? siblings.filter { !drawn.contains($0) } : []
        let isRoot = parent == nil
        var items = drawn.enumerated().map { place, id in
            let isLast = place == drawn.count - 1 && others.isEmpty
            return Item.operation(
                id,
                indent: isRoot ? "" : indent + (isLast ? "   " : bar),
                branch: isRoot ? "" : indent + (isLast ? last : between)
            )
        }
        if !others.isEmpty { items.append(.others(others, branch: isRoot ? "" : indent + last)) }
        return items
    }

    /// Returns the first siblings, including the one on the path to the subject.
    private func drawn(_ siblings: [DependencyName], below parent: DependencyName?) -> [DependencyName] {
        let first = Array(siblings.prefix(Self.shownSiblings))
        guard first.count < siblings.count, let wanted = way[parent], !first.contains(wanted) else { return first }
        return first.dropLast() + [wanted]
    }

    private var bar: String { style.usesASCII ? "|  " : "│  " }
    private var between: String { style.usesASCII ? "|- " : "├─ " }
    private var last: String { style.usesASCII ? "`- " : "└─ " }

    /// `► 7QK2MX merge  executing  2.1s  ◀`, with the queue before the id if it is another queue, and a group's ended
    /// members.
    private func spans(_ node: OperationGraph.Node, isRepeated: Bool) -> [Span] {
        let state = node.detail.state
        let place = node.detail.queue == subject.queue ? "" : "\(node.detail.queue)/"
        let id = place + ShortID.text(node.detail.id, length: idLength, style: style)
        let time = node.runTime(now: graph.time)
        var end = time > 0 ? "  \(DurationText.precise(.milliseconds(time)))" : ""
        if let group = GroupProgress(node.detail) { end += "  \(group.ended)/\(group.total)" }
        if node.name == subject { end += style.usesASCII ? "  <" : "  ◀" }
        if isRepeated { end += style.usesASCII ? "  ^" : "  ↑" }
        return [
            Span(state.mark(ascii: style.usesASCII), state.role),
            Span(" \(id) \(SafeText.line(node.detail.title(view)))  "), Span(state.rawValue, state.role), Span(end),
        ]
    }

    /// `… 180 more: 170 blocked, 10 finished`
    private func others(_ ids: [DependencyName]) -> Span {
        let counts = ids.compactMap { graph.nodes[$0]?.detail.state }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        return Span("\(style.cutMark) \(QuantityText.grouped(ids.count)) more: \(StateCounts.text(counts))", .dim)
    }
}
