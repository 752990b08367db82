import Operations
import SluiceOperator
import TerminalText

/// An action outside of the model, for the session to perform.
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
    case control(WorkerCommand, WorkerSummary)
    /// Count the operations that a change would affect.
    case plan(BulkChange)
    case change(BulkChange, reason: String, expected: Int)
    /// End the counting or the change in progress.
    case stopWork
    /// Withdraw the change that waits for Redis.
    case withdraw
    /// Copy a text to the clipboard of the terminal.
    case copy(String)
    /// Change the interval between two reads.
    case interval(Duration)
    /// Save the shown data.
    case export(JSONValue, file: String)
}

extension MonitorModel {
    static let longestReason = 200
    private static let intervals: [Duration] = [
        .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(5), .seconds(10), .seconds(30),
        .seconds(60),
    ]
    private static let page = 10
    private static let farAway = Int(Int16.max)

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
        if let work { return handle(key, during: work) }
        if let dialog { return answer(dialog, key) }
        if let prompt { return answer(prompt, key) }
        if let help { return handle(key, in: help) }
        if pending != nil, key == .escape { return [.withdraw] }
        return KeyTable.action(key, in: keyPlace, isReadOnly: isReadOnly).map { perform($0) } ?? []
    }

    /// The place that decides what keys do now.
    package var keyPlace: KeyPlace { detail == nil ? screen.place : .detail }

    private mutating func perform(_ action: KeyAction) -> [MonitorCommand] {
        switch action {
        case .up: move(by: -1)
        case .down: move(by: 1)
        case .pageUp: move(by: -Self.page)
        case .pageDown: return pageDown()
        case .first: move(by: -Self.farAway)
        case .last: move(by: Self.farAway)
        case .open: return open()
        case .back: detail = nil
        case .quit: return [.quit]
        case .overview: show(.overview)
        case .operations: show(.operations)
        case .queues: show(.queues)
        case .workers: show(.workers)
        case .events: show(.events)
        case .quietWorker: askToControl(stops: false)
        case .stopWorker: askToControl(stops: true)
        case .nextScreen: show(screen.next)
        case .nextState: return showState(by: 1)
        case .previousState: return showState(by: -1)
        case .cancel: return askToCancel()
        case .retry: return ask(.retry)
        case .remove: return ask(.remove)
        case .filter: askForText()
        case .onlyChanges: events.toggleChanges()
        case .sort: operations.sortByNext()
        case .reverse: operations.reverse()
        case .mark: mark()
        case .markAll: operations.markAll()
        case .unmark: operations.unmark()
        case .pauseQueue: askToPause()
        case .info: detail?.show(.info)
        case .attempts: detail?.show(.attempts)
        case .logs: detail?.show(.logs)
        case .graph: return showGraph()
        case .timeline: detail?.show(.timeline)
        case .raw: detail?.show(.raw)
        case .followLog: detail?.toggleFollow(most: detailScroll)
        case .copy: return copy()
        case .freeze:
            setFrozen(!isFrozen)
            return readsGraph ? [.refresh] : []
        case .refresh: return [.refresh]
        case .faster: return changeInterval(by: -1)
        case .slower: return changeInterval(by: 1)
        case .follow:
            selection.follows.toggle()
            notice = Notice(selection.follows ? "the selection follows its row" : "the selection stays in its line")
        case .wide: isWide.toggle()
        case .export: return exportView()
        case .search: prompt = Prompt(purpose: .search, text: "")
        case .searchNext: search(forward: true)
        case .searchPrevious: search(forward: false)
        case .help: help = HelpPane()
        }
        return []
    }

    private mutating func move(by distance: Int) {
        if detail == nil, screen == .events {
            events.scroll(by: distance)
        } else if detail == nil {
            selection.move(by: distance, among: items)
        } else {
            detail?.scroll(by: distance, most: detailScroll)
        }
    }

    /// Moves a page down. On the operations screen, reads one more page past the last row, or if nothing was found so
    /// far.
    private mutating func pageDown() -> [MonitorCommand] {
        let items = items
        let isAtEnd = detail == nil && screen == .operations && (items.isEmpty || selection.isLast(of: items))
        if isAtEnd, operations.readMore() { return [.refresh] }
        move(by: Self.page)
        return []
    }

    private mutating func mark() {
        guard case .operation(let address) = selectedItem else { return }
        operations.toggleMark(address)
        move(by: 1)
    }

    /// Shows the graph, and reads it at once, because it is read only while it is shown.
    private mutating func showGraph() -> [MonitorCommand] {
        let wasRead = readsGraph
        detail?.show(.graph)
        return readsGraph && !wasRead ? [.refresh] : []
    }

    private mutating func changeInterval(by step: Int) -> [MonitorCommand] {
        let steps = Self.intervals
        let index = steps.lastIndex { $0 <= interval } ?? 0
        interval = steps[min(max(0, index + step), steps.count - 1)]
        notice = Notice("reads every \(DurationText.fine(interval))")
        return [.interval(interval)]
    }

    private mutating func exportView() -> [MonitorCommand] {
        guard let export, let exportName else {
            notice = Notice("nothing to save yet", .warning)
            return []
        }
        return [.export(export, file: exportName)]
    }

    private mutating func copy() -> [MonitorCommand] {
        let text: String? =
            switch selectedItem {
            case .operation(let address): address.id.description
            case .queue(let name): name
            case .worker(let id): id
            case nil: nil
            }
        guard let text = detail?.address.id.description ?? text else { return [] }
        notice = Notice("copied \(text)")
        return [.copy(text)]
    }

    private mutating func open() -> [MonitorCommand] {
        switch selectedItem {
        case .operation(let address): detail = DetailPane(address)
        case .queue(let name): listOperations("queue:\(name)")
        case .worker(let id): listOperations("worker:\(id)")
        case nil: return []
        }
        return [.refresh]
    }

    /// Shows the operations that a filter finds.
    private mutating func listOperations(_ filter: String) {
        do { try operations.filter(filter) } catch { notice = Notice(error.description, .warning) }
        show(.operations)
    }

    /// Scrolls the help; any other key closes it.
    private mutating func handle(_ key: Key, in help: HelpPane) -> [MonitorCommand] {
        switch key {
        case .character("j"), .down, .pageDown, .character(" "): self.help?.scroll += 1
        case .character("k"), .up, .pageUp: self.help?.scroll = max(0, help.scroll - 1)
        default: self.help = nil
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

/// The help over a screen.
package struct HelpPane: Sendable, Equatable {
    var scroll = 0
}

extension MonitorScreen {
    fileprivate var place: KeyPlace {
        switch self {
        case .overview: .overview
        case .operations: .operations
        case .queues: .queues
        case .workers: .workers
        case .events: .events
        }
    }

    fileprivate var next: MonitorScreen {
        let all = Self.allCases
        let index = all.firstIndex(of: self) ?? 0
        return all[(index + 1) % all.count]
    }
}
