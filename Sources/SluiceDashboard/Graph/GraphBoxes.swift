import Operations
import SluiceOperator

/// The boxes of a drawing of a graph: one for each operation, or, of a large graph, one for each state of a level.
struct GraphBoxes {
    struct Box {
        /// The column, from the left.
        var column: Int
        /// The levels that the box stands for.
        var levels: ClosedRange<Int>
        var state: OperationState
        var names: [DependencyName]

        /// The operation, if the box stands for one.
        var only: DependencyName? { names.count == 1 ? names[0] : nil }
    }

    struct Edge {
        var from: Int
        var to: Int
        /// The policies of the dependencies that the edge stands for.
        var policies: Set<NeedPolicy> = []
        var isCritical = false
        /// Whether the dependent no longer waits for any of these dependencies.
        var isMet = true
        /// Whether one of these dependencies has ended in a state that the dependent does not accept.
        var isFailed = false
    }

    private struct Pair: Hashable {
        var from: Int
        var to: Int
    }

    private(set) var boxes: [Box] = []
    private(set) var edges: [Edge] = []
    /// Whether boxes stand for several operations.
    let isFolded: Bool

    /// The most operations that have a box each, unless all are asked for.
    static let most = 40
    /// The most levels that have a column each in a folded drawing.
    private static let mostColumns = 8

    /// - Parameters:
    ///   - subject: the operation that always has a box of its own.
    ///   - isWhole: whether each operation has a box.
    ///   - marksPath: whether to mark the critical path.
    init(_ graph: OperationGraph, subject: DependencyName, isWhole: Bool = false, marksPath: Bool = true) {
        isFolded = !isWhole && graph.nodes.count > Self.most
        let path = marksPath && graph.criticalPath.milliseconds > 0 ? graph.criticalPath.names : []
        var places: [DependencyName: Int] = [:]
        let columns = isFolded ? Self.columns(graph, subject) : graph.levels.indices.map { $0...$0 }
        for (column, levels) in columns.enumerated() {
            let names = graph.levels[levels].flatMap { $0 }
            for names in isFolded ? Self.folded(names, graph, subject) : names.map({ [$0] }) {
                guard let state = graph.nodes[names[0]]?.detail.state else { continue }
                for name in names { places[name] = boxes.count }
                boxes.append(Box(column: column, levels: levels, state: state, names: names))
            }
        }
        join(graph.edges, places, path)
    }

    /// Columns of one level, or of several if there are many. The level of the subject is a column.
    private static func columns(_ graph: OperationGraph, _ subject: DependencyName) -> [ClosedRange<Int>] {
        let count = graph.levels.count
        guard count > mostColumns else { return (0..<count).map { $0...$0 } }
        let own = graph.levels.firstIndex { $0.contains(subject) } ?? 0
        let size = (count + mostColumns - 1) / mostColumns
        func chunks(_ range: Range<Int>) -> [ClosedRange<Int>] {
            stride(from: range.lowerBound, to: range.upperBound, by: size).map {
                $0...min($0 + size, range.upperBound) - 1
            }
        }
        return chunks(0..<own) + [own...own] + chunks(own + 1..<count)
    }

    /// The operations by state, and the subject alone.
    private static func folded(
        _ names: [DependencyName],
        _ graph: OperationGraph,
        _ subject: DependencyName
    ) -> [[DependencyName]] {
        let states = Dictionary(grouping: names.filter { $0 != subject }) { graph.nodes[$0]?.detail.state }
        return (names.contains(subject) ? [[subject]] : []) + MemberStates.order.compactMap { states[$0] }
    }

    private mutating func join(
        _ all: [OperationGraph.Edge],
        _ places: [DependencyName: Int],
        _ path: [DependencyName]
    ) {
        let steps = Dictionary(zip(path, path.dropFirst()), uniquingKeysWith: { first, _ in first })
        var indices: [Pair: Int] = [:]
        for edge in all {
            guard let from = places[edge.dependency], let to = places[edge.dependent],
                boxes[from].column < boxes[to].column
            else { continue }
            let pair = Pair(from: from, to: to)
            let index = indices[pair] ?? edges.count
            if indices.updateValue(index, forKey: pair) == nil { edges.append(Edge(from: from, to: to)) }
            edges[index].add(edge, isCritical: steps[edge.dependency] == edge.dependent)
        }
    }
}

extension GraphBoxes.Edge {
    fileprivate mutating func add(_ edge: OperationGraph.Edge, isCritical: Bool) {
        if let policy = edge.policy { policies.insert(policy) }
        if isCritical { self.isCritical = true }
        if edge.need?.isMet != true { isMet = false }
        if edge.need?.isStuck == true { isFailed = true }
    }
}
