import Operations
import TerminalText

/// The earliest end of the operations of a graph, by the median runs of their names.
///
/// Waits for a free slot, for limits and for paused queues are not included, so the end may be later.
package struct GraphEstimate: Sendable, Equatable {
    /// The time from the reading of the graph to the end, in milliseconds.
    package let milliseconds: Int64
    /// Names of open operations without runs in the statistics, sorted. Their runs count as zero.
    package let unknownNames: [String]
    /// The number of operations that go on only if someone helps: held ones, and those with a failed dependency.
    package let stuckCount: Int
    /// The number of operations that already run longer than the median of their names.
    package let slowCount: Int

    /// - Parameter medians: the median run of each name in milliseconds.
    /// - Returns: nil if all operations have ended.
    package init?(_ graph: OperationGraph, medians: [String: Double]) {
        let open = graph.nodes.values.filter { !$0.detail.state.isTerminal }
        guard !open.isEmpty else { return nil }
        stuckCount = open.count { $0.isStuck }
        slowCount = open.count { node in
            node.detail.state == .executing
                && medians[node.detail.envelope.name].map { Double(node.runTime(now: graph.time)) > $0 } ?? false
        }
        unknownNames = Set(open.filter { !$0.detail.isGroup }.map(\.detail.envelope.name)).filter { medians[$0] == nil }
            .sorted()
        var ends: [DependencyName: Int64] = [:]
        for name in graph.order {
            guard let node = graph.nodes[name], !node.detail.state.isTerminal else { continue }
            let start = node.needs.compactMap { ends[$0] }.max() ?? 0
            ends[name] = node.end(from: start, median: medians[node.detail.envelope.name] ?? 0, now: graph.time)
        }
        milliseconds = ends.values.max() ?? 0
    }

    /// The time to the end in milliseconds; nil if nothing can be said.
    package var ending: Int64? { stuckCount == 0 && slowCount == 0 && milliseconds > 0 ? milliseconds : nil }

    /// `ends in 4m10s or later, by the median runs of the last day`
    package var text: String {
        guard stuckCount == 0 else {
            let count = QuantityText.grouped(stuckCount)
            return
                "no estimate: \(count) \(stuckCount == 1 ? "operation goes" : "operations go") on only if someone helps"
        }
        guard slowCount == 0 else {
            let count = QuantityText.grouped(slowCount)
            let runs = slowCount == 1 ? "operation already runs" : "operations already run"
            return "no estimate: \(count) \(runs) longer than the median of the last day"
        }
        let shown = unknownNames.prefix(3).joined(separator: ", ") + (unknownNames.count > 3 ? ", …" : "")
        let unknown = unknownNames.isEmpty ? nil : "no runs of \(shown)"
        guard let ending else { return "no estimate: " + (unknown ?? "nothing is left to run") }
        let time = DurationText.precise(.milliseconds(ending))
        return "ends in \(time) or later, by the median runs of the last day" + (unknown.map { "; \($0)" } ?? "")
    }
}

extension OperationGraph.Node {
    /// Whether the operation goes on only if an operator helps.
    fileprivate var isStuck: Bool {
        detail.hold != nil || detail.state == .blocked && detail.links.needs.contains { $0.isStuck }
    }

    /// The earliest end, in milliseconds after `now`.
    fileprivate func end(from start: Int64, median: Double, now: Int64) -> Int64 {
        guard !detail.isGroup else { return start }
        let run = Int64(median.rounded())
        if detail.state == .executing { return max(0, run - runTime(now: now)) }
        let due = [.scheduled, .retrying].contains(detail.state) ? detail.record.dueAt - now : 0
        return max(start, due, 0) + run
    }
}

extension OperatorBroker {
    /// The most queues whose statistics are read.
    private static var mostQueues: Int { 20 }

    /// Estimates the end of a graph by the statistics of the last day. Reads nothing if all operations have ended.
    package func estimate(of graph: OperationGraph) async throws -> GraphEstimate? {
        let open = graph.nodes.values.filter { !$0.detail.state.isTerminal }
        guard !open.isEmpty else { return nil }
        let queues = Set(open.map(\.detail.queue)).sorted().prefix(Self.mostQueues)
        let span = try StatisticsSpan(since: .seconds(86_400), from: .hour)
        let replies = try await StatisticsReader(self, Array(queues)).read(span.query)
        var names = NameStatisticsRow.Merge(isCompared: false)
        for (queue, reply) in replies { names.add(reply, of: queue) }
        var medians: [String: Double] = [:]
        for row in names.rows {
            guard let name = row.name, let median = row.statistics.run.percentile(0.5) else { continue }
            medians[name] = median
        }
        return GraphEstimate(graph, medians: medians)
    }
}
