import Operations
import TerminalText

extension MonitorModel {
    /// Selects the next row that contains the text, or scrolls the log to the next such line.
    mutating func search(forward: Bool) {
        guard !searched.isEmpty else {
            notice = Notice("type / and a text first", .warning)
            return
        }
        let wanted = searched.lowercased()
        if detail != nil {
            guard detail?.findLine(wanted, forward: forward) == true else { return notFound() }
            return
        }
        let items = items
        guard !items.isEmpty else { return notFound() }
        let start = selectedItem.flatMap { items.firstIndex(of: $0) } ?? 0
        for step in 1...items.count {
            let index = (start + (forward ? step : items.count - step)) % items.count
            if text(of: items[index]).lowercased().contains(wanted) { return selection.choose(index, of: items) }
        }
        notFound()
    }

    private mutating func notFound() { notice = Notice("not found: \(searched)", .warning) }

    /// Returns the text of a row to search in.
    private func text(of item: MonitorItem) -> String {
        switch item {
        case .queue(let name): return name
        case .worker(let id):
            return worker(id).map { "\($0.label) \($0.info?.host ?? "") \($0.servedQueues.joined(separator: " "))" }
                ?? id
        case .operation(let address):
            let entry = executing(address)
            let name = entry?.row.name ?? listed(address)?.displayName ?? ""
            return "\(name) \(address.queue) \(address.id) \(entry?.workerLabel ?? "")"
        }
    }
}
