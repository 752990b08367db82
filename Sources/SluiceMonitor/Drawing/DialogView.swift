import Operations
import SluiceOperator
import TerminalText

extension MonitorView {
    /// Draws the question in a box, or in the last line of a small screen.
    func drawDialog(on grid: inout Grid) {
        guard let (title, lines) = model.work.map(text(of:)) ?? model.dialog.map(text(of:)) else { return }
        let width = min(size.width - 2, max(40, min(70, size.width - 4)))
        let height = lines.count + 2
        guard size.width >= 30, size.height >= height + 2 else {
            grid.clear(x: 0..<size.width, y: (size.height - 1)..<size.height)
            grid.put("\(title) y/N", x: 0, y: size.height - 1, look: Look(.warning))
            return
        }
        let (x, y) = ((size.width - width) / 2, (size.height - height) / 2)
        grid.clear(x: x..<(x + width), y: y..<(y + height))
        drawBox(title, x: x, y: y, width: width, height: height, on: &grid)
        for (index, line) in lines.enumerated() {
            let shown = line.truncated(toWidth: width - 4, mark: style.cutMark)
            grid.put(shown, x: x + 2, y: y + 1 + index, limit: x + width - 1)
        }
    }

    private func drawBox(_ title: String, x: Int, y: Int, width: Int, height: Int, on grid: inout Grid) {
        let (corners, horizontal, vertical) =
            style.usesASCII ? (["+", "+", "+", "+"], "-", "|") : (["┌", "┐", "└", "┘"], "─", "│")
        let line = String(repeating: horizontal, count: max(0, width - 2))
        let look = Look(.warning)
        grid.put(corners[0] + line + corners[1], x: x, y: y, look: look)
        grid.put(corners[2] + line + corners[3], x: x, y: y + height - 1, look: look)
        for row in (y + 1)..<max(y + 1, y + height - 1) {
            grid.put(vertical, x: x, y: row, look: look)
            grid.put(vertical, x: x + width - 1, y: row, look: look)
        }
        grid.put([Span(" \(title) ", .heading)].truncated(toWidth: width - 4, mark: style.cutMark), x: x + 1, y: y)
    }

    private func text(of dialog: Dialog) -> (title: String, lines: [[Span]]) {
        switch dialog {
        case .bulk(let question): return text(of: question)
        case .control(let command, let worker):
            let (verb, what) = Self.consequence(command)
            let running = "\(worker.inFlight) running, queues \(worker.servedQueues.joined(separator: ","))"
            return (
                "\(verb) worker \(SafeText.line(worker.label))?",
                [[Span(SafeText.line(running))], [Span(what)], [Span("[y] yes   [N] no", .heading)]]
            )
        case .cancel(let address, let name, let reason, let isTyping):
            return (
                "Cancel \(SafeText.line(name))?",
                [
                    [Span("\(address.id)  queue \(SafeText.line(address.queue))")],
                    [Span(consequence(address))],
                    reasonLine(reason, isTyping),
                    isTyping
                        ? [Span("Enter done typing", .dim)]
                        : [Span("[y] yes   [N] no   [Tab] type a reason", .heading)],
                ]
            )
        case .setPaused(let paused, let queue, let executing):
            return (
                "\(paused ? "Pause" : "Resume") queue \(SafeText.line(queue))?",
                [
                    [
                        Span(
                            paused
                                ? "No more operations are claimed; the \(executing) running ones continue."
                                : "Waiting operations start again."
                        )
                    ],
                    [Span("[y] yes   [N] no", .heading)],
                ]
            )
        }
    }

    private static func consequence(_ command: WorkerCommand) -> (verb: String, what: String) {
        switch command {
        case .quiet: ("Quiet", "It claims nothing more. Running operations continue.")
        case .resume: ("Resume", "It claims again.")
        case .stop: ("Stop", "It claims nothing more, drains, gives the rest back, and ends.")
        case .slots(let count): ("Slots of", "It runs at most \(count) operations at the same time.")
        }
    }

    private func consequence(_ address: OperationAddress) -> String {
        if let entry = model.executing(address) {
            return "It runs on \(SafeText.line(entry.workerLabel)), which gets a cancel request."
        }
        let state = model.detail?.detail?.state ?? model.listed(address)?.state
        return state == .executing
            ? "Its worker gets a cancel request." : "It has not started and ends at once."
    }
}
