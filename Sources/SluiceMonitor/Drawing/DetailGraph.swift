import Operations
import SluiceOperator
import TerminalText

extension DetailText {
    /// The smallest width at which ids are shown whole.
    private static let wholeIDs = 78
    /// The cells of a line kept for an operation. The branches before it are cut at their beginning.
    private static let operationRoom = 48

    /// The connected operations, as `sluice graph` draws them.
    var graph: [[Span]] {
        guard let graph = pane.graph else { return [[Span(notRead, .dim)]] }
        let idLength = width < Self.wholeIDs ? ShortID.length(for: graph.order.map(\.id)) : OperationID.characterCount
        let tree = GraphTree(
            graph,
            subject: DependencyName(pane.address.id, queue: pane.address.queue),
            style: style,
            view: view,
            idLength: idLength
        )
        var lines = graph.summary.map { [Span($0)] }
        let summary = Array(lines.joined(separator: [Span("   ")]))
        if summary.displayWidth <= width { lines = [summary] }
        if graph.isCutShort {
            let count = QuantityText.grouped(graph.order.count)
            lines.append([Span("there are more; these are the nearest \(count)", .warning)])
        }
        return lines + tree.rows.map { [Span(cut($0.branch), .dim)] + $0.spans }
    }

    private var notRead: String {
        if pane.isMissing { return "removed before its graph was read" }
        return isFrozen ? "not read before the screen was frozen" : "reading …"
    }

    private func cut(_ branch: String) -> String {
        let room = max(6, width - Self.operationRoom)
        return branch.count > room ? style.cutMark + branch.suffix(room - 1) : branch
    }

    /// The dependencies and the dependents of the operation.
    func links(_ detail: OperationDetail) -> [[Span]] {
        let links = detail.links
        let length = ShortID.length(for: links.needs.map(\.dependency.id) + links.dependents)
        var lines: [[Span]] = []
        if links.needCount > 0 {
            let needs = links.needs.filter { !$0.isMet } + links.needs.filter(\.isMet)
            let done = QuantityText.grouped(links.needCount - links.waitCount)
            let end = "(\(done) of \(QuantityText.grouped(links.needCount)) done)"
            lines.append(
                row(detail.isGroup ? "members" : "needs", needs.map { text($0, length) }, of: links.needCount, end: end)
            )
        }
        if links.dependentCount > 0 {
            let ids = links.dependents.map { [Span(ShortID.text($0, length: length, style: style))] }
            lines.append(row("needed by", ids, of: links.dependentCount))
        }
        if !links.dependentQueues.isEmpty {
            let queues = links.dependentQueues.map { [Span($0)] }
            lines.append(row("needed in queue", queues, of: queues.count))
        }
        return lines
    }

    /// `⊘ …7QK2MX hold`
    private func text(_ need: OperationNeeds.Need, _ length: Int) -> [Span] {
        let place = need.dependency.queue.map { "\($0)/" } ?? ""
        let id = place + ShortID.text(need.dependency.id, length: length, style: style)
        let policy = need.policy.word.map { " \($0)" } ?? ""
        guard let state = need.state else { return [Span("\(id) \(need.stateText)\(policy)", .dim)] }
        return [Span(state.mark(ascii: style.usesASCII), state.role), Span(" \(id)\(policy)")]
    }

    /// Returns as many items as fit, at least one, and the number of the others.
    private func row(_ label: String, _ items: [[Span]], of count: Int, end: String = "") -> [Span] {
        var shown = items
        while true {
            let more = count > shown.count ? [[Span("\(QuantityText.grouped(count - shown.count)) more", .dim)]] : []
            let parts = [[Span(label, .dim)]] + shown + more + (end.isEmpty ? [] : [[Span(end, .dim)]])
            let line = Array(parts.joined(separator: [Span("  ")]))
            guard line.displayWidth > width, shown.count > 1 else { return line }
            shown.removeLast()
        }
    }
}
