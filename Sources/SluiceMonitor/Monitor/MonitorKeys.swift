import Operations

/// An action that the model has decided on.
package enum MonitorCommand: Sendable, Equatable {
    case quit
    /// Ctrl-C: quit from any screen.
    case interrupt
    case suspend
    /// Read again now.
    case refresh
    case redraw
    case cancel(OperationAddress, reason: String)
    case setPaused(Bool, queue: String)
}

/// A question before a change, in a box over the screen.
package enum Dialog: Sendable, Equatable {
    /// - Parameters:
    ///   - isTyping: whether keys are added to the reason.
    case cancel(OperationAddress, name: String, reason: String, isTyping: Bool)
    case setPaused(Bool, queue: String, executing: Int)
}

extension MonitorModel {
    private static let longestReason = 200
    private static let page = 10

    /// Handles a key.
    ///
    /// - Returns: the actions outside of the model.
    package mutating func handle(_ key: Key) -> [MonitorCommand] {
        switch key {
        case .control("c"): return [.interrupt]
        case .control("z"): return [.suspend]
        case .control("l"): return [.redraw]
        default: break
        }
        notice = nil
        if let dialog { return answer(dialog, key) }
        if showsHelp {
            showsHelp = false
            return []
        }
        return detail == nil ? handleInList(key) : handleInDetail(key)
    }

    private mutating func handleInList(_ key: Key) -> [MonitorCommand] {
        switch key {
        case .character("q"): return [.quit]
        case .character("j"), .down: selection.move(by: 1, among: items)
        case .character("k"), .up: selection.move(by: -1, among: items)
        case .pageDown: selection.move(by: Self.page, among: items)
        case .pageUp: selection.move(by: -Self.page, among: items)
        case .character("g"), .home: selection.move(by: -items.count, among: items)
        case .character("G"), .end: selection.move(by: items.count, among: items)
        case .tab where screen == .operations: return showState(by: 1)
        case .backTab where screen == .operations: return showState(by: -1)
        case .tab: show(screen.next)
        case .character(let digit) where digit.wholeNumberValue != nil:
            if let screen = digit.wholeNumberValue.flatMap(MonitorScreen.init) { show(screen) }
        case .enter:
            guard case .operation(let address) = selectedItem else { break }
            detail = DetailPane(address)
            return [.refresh]
        default: return handleAnywhere(key)
        }
        return []
    }

    private mutating func handleInDetail(_ key: Key) -> [MonitorCommand] {
        switch key {
        case .escape, .character("q"), .left: detail = nil
        case .character("j"), .down: detail?.scroll += 1
        case .character("k"), .up: detail?.scroll -= 1
        case .pageDown: detail?.scroll += Self.page
        case .pageUp: detail?.scroll -= Self.page
        case .character("g"), .home: detail?.scroll = 0
        case .character("G"), .end: detail?.scroll = Int(Int16.max)
        default: return handleAnywhere(key)
        }
        return []
    }

    private mutating func handleAnywhere(_ key: Key) -> [MonitorCommand] {
        switch key {
        case .character("?"): showsHelp = true
        case .character("p"): setFrozen(!isFrozen)
        case .character("r"): return [.refresh]
        case .character("c") where !isReadOnly: askToCancel()
        case .character("P") where !isReadOnly: askToPause()
        default: break
        }
        return []
    }

    /// Shows the next state on the operations' screen.
    private mutating func showState(by distance: Int) -> [MonitorCommand] {
        operations.step(by: distance)
        selection.reset(among: items)
        return [.refresh]
    }

    private mutating func show(_ screen: MonitorScreen) {
        guard screen != self.screen else { return }
        self.screen = screen
        selection.reset(among: items)
    }
}

// MARK: - Questions

extension MonitorModel {
    /// The operation that `c` cancels, with its name: that of the detail screen, or the selected one.
    var cancellable: (address: OperationAddress, name: String)? {
        if let detail {
            guard let shown = detail.detail, !shown.state.isTerminal, !detail.isMissing else { return nil }
            return (detail.address, shown.displayName)
        }
        guard case .operation(let address) = selectedItem else { return nil }
        if let row = listed(address) { return row.state.isTerminal ? nil : (address, row.displayName) }
        return executing(address).map { (address, $0.row.name) }
    }

    /// The row of an operation, if the operations' screen is shown.
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

    private mutating func askToCancel() {
        guard let target = cancellable else {
            let isEnded = detail != nil || selectedItem.isOperation
            notice = Notice(isEnded ? "it has already ended" : "select an operation to cancel it", .warning)
            return
        }
        dialog = .cancel(target.address, name: target.name, reason: "", isTyping: false)
    }

    private mutating func askToPause() {
        guard let queue = pausable else {
            notice = Notice("select a queue to pause or resume it", .warning)
            return
        }
        dialog = .setPaused(!queue.isPaused, queue: queue.name, executing: queue.count(.executing))
    }

    private mutating func answer(_ dialog: Dialog, _ key: Key) -> [MonitorCommand] {
        if case .cancel(let address, let name, let reason, isTyping: true) = dialog {
            let (reason, isTyping) = Self.edit(reason, key)
            self.dialog = .cancel(address, name: name, reason: reason, isTyping: isTyping)
            return []
        }
        switch (key, dialog) {
        case (.character("y"), _), (.character("Y"), _):
            self.dialog = nil
            return [Self.command(dialog)]
        case (.tab, .cancel(let address, let name, let reason, _)):
            self.dialog = .cancel(address, name: name, reason: reason, isTyping: true)
        case (.character("n"), _), (.character("N"), _), (.character("q"), _), (.escape, _), (.enter, _):
            self.dialog = nil
            notice = Notice("nothing was changed")
        default: break
        }
        return []
    }

    private static func edit(_ reason: String, _ key: Key) -> (reason: String, isTyping: Bool) {
        switch key {
        case .character(let character):
            return (reason.count < longestReason ? reason + String(character) : reason, true)
        case .backspace: return (String(reason.dropLast()), true)
        case .control("u"): return ("", true)
        case .enter, .tab, .escape: return (reason, false)
        default: return (reason, true)
        }
    }

    private static func command(_ dialog: Dialog) -> MonitorCommand {
        switch dialog {
        case .cancel(let address, _, let reason, _): .cancel(address, reason: reason)
        case .setPaused(let paused, let queue, _): .setPaused(paused, queue: queue)
        }
    }
}

extension MonitorItem? {
    fileprivate var isOperation: Bool { if case .operation = self { true } else { false } }
}

extension MonitorScreen {
    fileprivate var next: MonitorScreen {
        let all = Self.allCases
        let index = all.firstIndex(of: self) ?? 0
        return all[(index + 1) % all.count]
    }
}
