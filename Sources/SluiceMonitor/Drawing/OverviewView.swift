import Operations
import SluiceOperator
import TerminalText

extension MonitorView {
    /// Draws the lines from 1 to 3 or 4: counts, rates, the sparkline if the screen has room, and the screens' titles.
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

    /// Draws `ready 1,204 sched 88 block 31 exec 24/32 …`: the counts of `stats`, as Redis has them now.
    ///
    /// Counts that do not fit are left out from the right.
    private func drawCounts(on grid: inout Grid, y: Int) {
        let board = model.board
        func item(_ word: String, _ state: OperationState, _ suffix: String = "") -> Span {
            let count = board?.count(state)
            return Span(
                "\(word) \(count.map { QuantityText.count($0) } ?? "–")\(suffix)",
                count ?? 0 == 0 ? .dim : state.role
            )
        }
        let ready = board?.count(.ready)
        var items = [
            Span("ready \(ready.map { QuantityText.count($0) } ?? "–")"),
            item("sched", .scheduled), item("block", .blocked),
            item("exec", .executing, board.map { "/\(QuantityText.count($0.slots))" } ?? ""),
            item("retry", .retrying), item("dead", .dead), item("fin", .finished), item("canc", .cancelled),
            item("exp", .expired),
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
        let hasProblem = model.board.map { $0.liveWorkers.count < $0.workers.count || !$0.unhandled.isEmpty } ?? true
        let percentiles = model.statistics.map { Self.percentiles($0.sum.recent) } ?? []
        if !hasProblem { spans += percentiles }
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
        if hasProblem { spans += percentiles }
        // The number of workers is left out whole, never cut.
        let width = spans.reduce(spans.count) { $0 + $1.text.displayWidth }
        if !hasProblem, !percentiles.isEmpty, width > size.width { spans.removeLast() }
        grid.put(spans.spaced(), x: 1, y: y)
    }

    /// `wait p50 0.8s p95 4.1s   run p50 0.2s p95 2.9s`, over the recent minutes.
    private static func percentiles(_ statistics: Statistics) -> [Span] {
        [("  wait", statistics.wait), (" run", statistics.run)].map { word, histogram in
            Span(
                "\(word) p50 \(milliseconds(histogram.percentile(0.5))) p95 \(milliseconds(histogram.percentile(0.95)))"
            )
        }
    }

    static func milliseconds(_ value: Double?) -> String {
        value.map { DurationText.precise(.microseconds(Int64($0 * 1000))) } ?? "–"
    }

    /// Draws the ended operations of each second since the monitor began, and with statistics also of the last hour.
    private func drawSparkline(on grid: inout Grid, y: Int) {
        let hasHour = model.statistics != nil
        let width = hasHour ? min(30, (size.width - 34) / 2) : min(60, size.width - 20)
        let values = Array(model.board?.throughput.suffix(width) ?? [])
        let end = grid.put("out/s ", x: 1, y: y, look: Look(values.isEmpty ? .dim : .plain))
        if values.isEmpty {
            grid.put("–", x: end, y: y, look: Look(.dim))
        } else {
            let bars = Sparkline.text(values, ascii: style.usesASCII)
            let next = grid.put(bars, x: end, y: y, look: Look(.finished))
            let seconds = hasHour ? "" : " in \(values.count)s"
            grid.put(" max \(QuantityText.rate(values.max()))\(seconds)", x: next, y: y, look: Look(.dim))
        }
        if let statistics = model.statistics {
            drawHour(statistics, on: &grid, x: end + width + 13, y: y, width: width)
        }
    }

    /// Draws the ended attempts of the last hour.
    private func drawHour(_ statistics: StatisticsBoard, on grid: inout Grid, x: Int, y: Int, width: Int) {
        let values = StatisticsBoard.columns(statistics.sum.ended, count: width)
        let end = grid.put("1h ", x: x, y: y)
        let bars = Sparkline.text(values, ascii: style.usesASCII)
        let next = grid.put(bars, x: end, y: y, look: Look(.finished))
        grid.put(" \(QuantityText.count(Int64(statistics.sum.ended.reduce(0, +))))", x: next, y: y, look: Look(.dim))
    }

    private func drawTabs(on grid: inout Grid, y: Int) {
        var spans: [Span] = []
        for screen in MonitorScreen.allCases {
            let text = "\(screen.rawValue) \(screen.title)"
            spans.append(screen == model.screen ? Span("[\(text)]", .heading) : Span(" \(text) "))
        }
        grid.put(spans.spaced(by: size.width < 64 ? "" : " "), x: 1, y: y)
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

    /// Returns the number of lines for queues. Each list gets the lines that it needs. If space is short, queues get at
    /// most the smaller half unless the other list leaves more.
    private func linesForQueues(of space: Int, queues: Int, executing: Int) -> Int {
        guard queues + executing > space else { return min(queues, max(0, space)) }
        return max(1, min(queues, max(space / 2, space - executing)))
    }

    func drawNothing(_ text: String, y: Int, on grid: inout Grid) {
        grid.put(text, x: 1, y: y, look: Look(.dim))
    }
}
