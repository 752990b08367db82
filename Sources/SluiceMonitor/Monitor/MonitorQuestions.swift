import Operations
import SluiceOperator

/// A question before a change, in a box over the screen.
package enum Dialog: Sendable, Equatable {
    /// - Parameters:
    ///   - isTyping: whether keys are added to the reason.
    case cancel(OperationAddress, name: String, reason: String, isTyping: Bool)
    case setPaused(Bool, queue: String, executing: Int)
    case control(WorkerCommand, WorkerSummary)
    case bulk(BulkQuestion)
}

extension MonitorModel {
    /// The operation that `c` cancels, with its name: the one on the detail screen, or the selected one.
    var cancellable: (address: OperationAddress, name: String)? {
        if let detail {
            guard let shown = detail.detail, !shown.state.isTerminal, !detail.isMissing else { return nil }
            return (detail.address, shown.displayName)
        }
        guard case .operation(let address) = selectedItem else { return nil }
        if let row = listed(address) { return row.state.isTerminal ? nil : (address, row.displayName) }
        return executing(address).map { (address, $0.row.name) }
    }

    /// Returns the row of an operation, if the operations screen is shown.
    func listed(_ address: OperationAddress) -> OperationDetail? {
        screen == .operations ? operations.row(address) : nil
    }

    /// The queue that `P` pauses or resumes.
    var pausable: QueueSummary? {
        if let detail { return queue(detail.address.queue) }
        switch selectedItem {
        case .queue(let name): return queue(name)
        case .operation(let address): return queue(address.queue)
        case .worker, nil: return nil
        }
    }

    mutating func askToCancel() -> [MonitorCommand] {
        if detail == nil, screen == .operations, operations.target != nil { return ask(.cancel) }
        guard let target = cancellable else {
            let isEnded = detail != nil || selectedItem.isOperation
            notice = Notice(isEnded ? "it has already ended" : "select an operation to cancel it", .warning)
            return []
        }
        dialog = .cancel(target.address, name: target.name, reason: "", isTyping: false)
        return []
    }

    mutating func askToPause() {
        guard let queue = pausable else {
            notice = Notice("select a queue to pause or resume it", .warning)
            return
        }
        dialog = .setPaused(!queue.isPaused, queue: queue.name, executing: queue.count(.executing))
    }

    /// Asks whether to stop the selected worker, to make it quiet, or to resume it.
    mutating func askToControl(stops: Bool) {
        guard case .worker(let id) = selectedItem, let worker = worker(id) else {
            notice = Notice("select a worker", .warning)
            return
        }
        guard !worker.isLost else {
            notice = Notice("\(worker.label) is lost: its operations are recovered when its lease ends", .warning)
            return
        }
        let isQuiet = worker.settings.course?.value == .quiet || worker.phase == "quiet"
        dialog = .control(stops ? .stop : isQuiet ? .resume : .quiet, worker)
    }

    mutating func answer(_ dialog: Dialog, _ key: Key) -> [MonitorCommand] {
        if case .cancel(let address, let name, let reason, isTyping: true) = dialog {
            var reason = reason
            let isTyping = TextField.edit(&reason, key, longest: Self.longestReason)
            self.dialog = .cancel(address, name: name, reason: reason, isTyping: isTyping)
            return []
        }
        if case .bulk(let question) = dialog { return answer(question, key) }
        switch (key, dialog) {
        case (.character("y"), _), (.character("Y"), _):
            self.dialog = nil
            if let pending {
                notice = pending.waiting
                return []
            }
            return Self.command(dialog).map { [$0] } ?? []
        case (.tab, .cancel(let address, let name, let reason, _)):
            self.dialog = .cancel(address, name: name, reason: reason, isTyping: true)
        case (.character("n"), _), (.character("N"), _), (.character("q"), _), (.escape, _), (.enter, _):
            self.dialog = nil
            notice = Notice("nothing was changed")
        default: break
        }
        return []
    }

    private static func command(_ dialog: Dialog) -> MonitorCommand? {
        switch dialog {
        case .cancel(let address, _, let reason, _): .cancel(address, reason: reason)
        case .setPaused(let paused, let queue, _): .setPaused(paused, queue: queue)
        case .control(let command, let worker): .control(command, worker)
        case .bulk: nil
        }
    }
}

extension MonitorItem? {
    fileprivate var isOperation: Bool { if case .operation = self { true } else { false } }
}
