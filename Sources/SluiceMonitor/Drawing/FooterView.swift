import Operations
import SluiceOperator
import TerminalText

extension MonitorView {
    /// Draws the last line: a prompt, a notice, a pending change, the reason for old data, or key hints.
    func drawFooter(on grid: inout Grid) {
        let y = size.height - 1
        let line: [Span]
        if let prompt = model.prompt {
            // The end of a long text stays visible.
            let text = SafeText.line(prompt.text)
            let typed = [Span("/\(text.suffix(max(10, size.width / 2)))_", .heading)]
            line = typed + (prompt.error.map { [Span("  " + SafeText.line($0), .dead)] } ?? [])
        } else if let notice = model.notice {
            line = [Span(SafeText.line(notice.text), notice.role)]
        } else if let pending = model.pending {
            line = [Span(SafeText.line(pending.waiting.text), pending.waiting.role)]
        } else if let failure = model.truth.failureMessage {
            line = [Span(SafeText.line(failure), .dead)]
        } else {
            line = [Span(hints, .dim)]
        }
        grid.put(line.truncated(toWidth: size.width - 2, mark: style.cutMark), x: 1, y: y)
    }

    /// The hints for the keys that work here. Hints of the highest rank are left out until the rest fits.
    private var hints: String {
        if model.help != nil { return "any key back" }
        var bindings = KeyTable.bindings(in: model.keyPlace, isReadOnly: model.isReadOnly)
            .filter { binding in !binding.hint.isEmpty && binding.actions.values.contains(where: model.offers) }
        func text() -> String {
            bindings.map { "\($0.label) \(model.hint(of: $0))" }.joined(separator: "  ")
        }
        while text().displayWidth > size.width - 2, let last = bindings.map(\.rank).max(), last > 0,
            let index = bindings.lastIndex(where: { $0.rank == last })
        {
            bindings.remove(at: index)
        }
        return text()
    }
}

extension MonitorModel {
    /// Whether an action can work on the selected item.
    func offers(_ action: KeyAction) -> Bool {
        switch action {
        case .open: selectedItem != nil
        case .quietWorker, .stopWorker:
            if case .worker(let id) = selectedItem { worker(id).map { !$0.isLost } ?? false } else { false }
        case .cancel: cancellable != nil || (detail == nil && screen == .operations && operations.target != nil)
        case .retry, .remove: bulkTarget.map { offers(action == .retry ? .retry : .remove, for: $0) } ?? false
        case .mark: if case .operation = selectedItem { true } else { false }
        case .pauseQueue: pausable != nil
        default: true
        }
    }

    /// Whether a change may be possible for a target. Several marked operations always count as possible, because their
    /// states are not counted yet.
    private func offers(_ kind: ChangeKind, for target: BulkTarget) -> Bool {
        guard case .marked(let addresses) = target, addresses.count == 1 else { return true }
        guard let state = detail?.detail?.state ?? listed(addresses[0])?.state else { return false }
        return kind.allowed.contains(state)
    }

    /// The hint of keys; some depend on the selected item.
    func hint(of binding: KeyBinding) -> String {
        if binding.actions.values.contains(.pauseQueue), pausable?.isPaused == true { return "resume queue" }
        if binding.actions.values.contains(.quietWorker), case .worker(let id) = selectedItem,
            worker(id)?.phase == "quiet"
        {
            return "resume"
        }
        if binding.actions.values.contains(.onlyChanges), events.onlyChanges { return "all events" }
        if binding.actions.values.contains(.freeze), isFrozen { return "go on" }
        if binding.actions.values.contains(.down), detail != nil { return "scroll" }
        return binding.hint
    }
}
