import Operations
import TerminalText

extension MonitorView {
    func drawWorkers(on grid: inout Grid) {
        let top = drawTop(on: &grid)
        drawWorkersTitle(on: &grid, y: top)
        let space = size.height - top - 3
        let workers = max(1, model.board?.workers.count ?? 0)
        let lost = linesBelow(model.lost.count, above: workers, space: space)
        workerList.draw(on: &grid, headerAt: top + 1, rowsFrom: top + 2, lines: space - lost, style: style)
        if let board = model.board, board.workers.isEmpty {
            drawNothing("no workers; start one with: sluice worker", y: top + 2, on: &grid)
        }
        guard lost > 2 else { return }
        let below = top + 2 + min(workers, space - lost)
        grid.put("LOST in the last 24 h, newest first", x: 1, y: below, look: Look(.heading))
        lostList.draw(on: &grid, headerAt: below + 1, rowsFrom: below + 2, lines: lost - 2, style: style)
    }

    /// Returns the lines for a second list with its heading and header: at most a third of the screen, or the free
    /// space if that is more.
    ///
    /// - Parameters:
    ///   - rows: the rows of the second list.
    ///   - above: the rows of the first list.
    func linesBelow(_ rows: Int, above: Int, space: Int) -> Int {
        rows == 0 ? 0 : min(rows + 2, max(space - above, space / 3))
    }

    /// `3 live, 1 LOST   busy 24 of 32 slots, 75%`
    private func drawWorkersTitle(on grid: inout Grid, y: Int) {
        guard let board = model.board else { return }
        let lost = board.workers.count - board.liveWorkers.count
        var title = [Span("\(board.liveWorkers.count) live")]
        if lost > 0 { title.append(Span("\(lost) LOST", .dead)) }
        let busy = board.liveWorkers.reduce(0) { $0 + $1.inFlight }
        let share = board.slots > 0 ? ", \(QuantityText.percent(Double(busy) / Double(board.slots)))" : ""
        title.append(Span("busy \(QuantityText.grouped(busy)) of \(QuantityText.grouped(board.slots)) slots\(share)"))
        grid.put(title.spaced(by: "   "), x: 1, y: y)
    }
}
