import Operations
import TerminalText

extension MonitorView {
    /// Draws lines 1 to 3 or 4: counters, rates, the sparkline if there is room, and the screens.
    ///
    /// - Returns: the next line.
    func drawTop(on grid: inout Grid) -> Int {
        drawCounts(on: &grid, y: 1)
        drawRates(on: &grid, y: 2)
        var y = 3
        if size.width >= 80, size.height >= 24 {
            drawSparkline(on: &grid, y: y)
            y += 1
        }
        drawTabs(on: &grid, y: y)
        return y + 1
    }

    /// Draws `ready 1,204 sched 88 block 31 exec 24/32 …`. Counts that do not fit are left out from the right.
    private func drawCounts(on grid: inout Grid, y: Int) {
        let board = model.board
        func item(_ word: String, _ value: (any BinaryInteger)?, _ state: OperationState, _ suffix: String = "") -> Span
        {
            let isZero = value.map { Int64(clamping: $0) == 0 } ?? true
            return Span("\(word) \(value.map { QuantityText.count($0) } ?? "–")\(suffix)", isZero ? .dim : state.role)
        }
        let ready = board?.count(.ready)
        var items = [
            Span("ready \(ready.map { QuantityText.count($0) } ?? "–")"),
            item("sched", board?.count(.scheduled), .scheduled),
            item("block", board?.count(.blocked), .blocked),
            item("exec", board?.count(.executing), .executing, board.map { "/\(QuantityText.count($0.slots))" } ?? ""),
            item("retry", board?.count(.retrying), .retrying), item("dead", board?.count(.dead), .dead),
            item("done", board.map { $0.totals["finished"] ?? 0 }, .finished),
            item("canc", board.map { $0.totals["cancelled"] ?? 0 }, .cancelled),
            item("exp", board.map { $0.totals["expired"] ?? 0 }, .expired),
        ]
        while items.count > 1, items.reduce(items.count, { $0 + $1.text.displayWidth }) > size.width - 1 {
            items.removeLast()
        }
        grid.put(items.spaced(), x: 1, y: y)
    }

    private func drawRates(on grid: inout Grid, y: Int) {
        let rates = model.board?.rates ?? Rates()
        func rate(_ word: String, _ value: Double?) -> String {
            "\(word) \(QuantityText.rate(value))" + (value == nil ? "" : "/s")
        }
        var spans = [
            Span(rate("in", rates.enqueued)), Span(rate("out", rates.ended)),
            Span(rate("err", rates.failed), rates.failed ?? 0 > 0 ? .dead : .plain),
        ]
        if let board = model.board {
            let lost = board.workers.count - board.liveWorkers.count
            spans.append(
                Span(
                    "  workers \(board.liveWorkers.count)" + (lost > 0 ? "," : ""),
                    board.liveWorkers.isEmpty ? .warning : .plain
                )
            )
            if lost > 0 { spans.append(Span("\(lost) LOST", .dead)) }
            if let first = board.unhandled.first {
                let others = board.unhandled.count - 1
                let more = others > 0 ? " and \(others) other names" : ""
                spans.append(Span("  " + SafeText.line(first.text) + more, .warning))
            }
        }
        grid.put(spans.spaced(), x: 1, y: y)
    }

    private func drawSparkline(on grid: inout Grid, y: Int) {
        let width = min(60, size.width - 20)
        let values = model.board?.throughput.suffix(width) ?? []
        guard !values.isEmpty else {
            grid.put("out/s –", x: 1, y: y, look: Look(.dim))
            return
        }
        let end = grid.put("out/s ", x: 1, y: y)
        let bars = grid.put(
            Sparkline.text(Array(values), ascii: style.usesASCII),
            x: end,
            y: y,
            look: Look(.finished)
        )
        let top = values.max() ?? 0
        grid.put(" max \(QuantityText.rate(top)) in \(values.count)s", x: bars, y: y, look: Look(.dim))
    }

    private func drawTabs(on grid: inout Grid, y: Int) {
        var spans: [Span] = []
        for screen in MonitorScreen.allCases {
            let text = "\(screen.rawValue) \(screen.title)"
            spans.append(screen == model.screen ? Span("[\(text)]", .heading) : Span(" \(text) "))
        }
        grid.put(spans.spaced(), x: 1, y: y)
    }
}

// MARK: - Overview

extension MonitorView {
    func drawOverview(on grid: inout Grid) {
        let top = drawTop(on: &grid)
        guard let board = model.board else { return drawNothing("waiting for the first answer", y: top + 1, on: &grid) }
        guard !board.queues.isEmpty else { return drawNothing("no queues yet", y: top + 1, on: &grid) }
        let space = size.height - top - 3
        let queueLines = linesForQueues(of: space, queues: board.queues.count, executing: board.executing.count)
        queueList(isOverview: true)
            .draw(on: &grid, headerAt: top, rowsFrom: top + 1, lines: queueLines, style: style)
        let second = top + 1 + queueLines
        let running = board.count(.executing)
        var title = "EXECUTING \(QuantityText.grouped(running)), longest first"
        if board.executing.count < running { title += " of \(board.executing.count) read" }
        if board.queues.count > queueLines { title += "  (\(queueLines) of \(board.queues.count) queues shown)" }
        grid.put(title, x: 1, y: second, look: Look(.heading))
        executingList(compact: false)
            .draw(on: &grid, headerAt: nil, rowsFrom: second + 1, lines: size.height - second - 2, style: style)
    }

    /// The lines for queues. Each list gets the lines that it needs; if there are too few, queues get at most the smaller half.
    private func linesForQueues(of space: Int, queues: Int, executing: Int) -> Int {
        guard queues + executing > space else { return min(queues, max(0, space)) }
        return max(1, min(queues, max(space / 2, space - executing)))
    }

    private func drawNothing(_ text: String, y: Int, on grid: inout Grid) {
        grid.put(text, x: 1, y: y, look: Look(.dim))
    }

    func drawQueues(on grid: inout Grid) {
        let top = drawTop(on: &grid)
        queueList(isOverview: false)
            .draw(on: &grid, headerAt: top, rowsFrom: top + 1, lines: size.height - top - 2, style: style)
        if let board = model.board, board.queues.isEmpty { drawNothing("no queues yet", y: top + 1, on: &grid) }
    }

    func drawWorkers(on grid: inout Grid) {
        let top = drawTop(on: &grid)
        let space = size.height - top - 2
        let workers = max(1, model.board?.workers.count ?? 0)
        // The lost workers need a heading and a header, and get at least a third of the screen.
        let lost = model.lost.isEmpty ? 0 : min(model.lost.count + 2, max(space - workers, space / 3))
        workerList.draw(on: &grid, headerAt: top, rowsFrom: top + 1, lines: space - lost, style: style)
        if let board = model.board, board.workers.isEmpty {
            drawNothing("no workers; start one with: sluice worker", y: top + 1, on: &grid)
        }
        guard lost > 2 else { return }
        let below = top + 1 + min(workers, space - lost)
        grid.put("LOST in the last 24 h, newest first", x: 1, y: below, look: Look(.heading))
        lostList.draw(on: &grid, headerAt: below + 1, rowsFrom: below + 2, lines: lost - 2, style: style)
    }
}
