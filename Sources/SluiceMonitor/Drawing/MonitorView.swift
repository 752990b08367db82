import Operations
import TerminalText

/// Draws the model for one size of the terminal.
package struct MonitorView: Sendable {
    let model: MonitorModel
    let size: ScreenSize
    /// The time of the drawing, by the model's clock.
    let now: Duration
    let style: Style

    package init(_ model: MonitorModel, size: ScreenSize, now: Duration, style: Style) {
        self.model = model
        self.size = size
        self.now = now
        self.style = style
    }

    /// Draws the screen.
    package func grid() -> Grid {
        var grid = Grid(size, isASCII: style.usesASCII)
        guard size.width > 0, size.height > 0 else { return grid }
        if size.width < 30 || size.height < 4 {
            drawOneLine(on: &grid)
        } else if size.width < 60 || size.height < 15 {
            drawSmall(on: &grid)
        } else {
            drawFull(on: &grid)
        }
        if !freshness.isLive { dimData(on: &grid) }
        drawDialog(on: &grid)
        return grid
    }

    var freshness: Freshness { model.truth.freshness(at: now) }

    private func drawFull(on grid: inout Grid) {
        drawHeader(on: &grid)
        drawFooter(on: &grid)
        if model.help != nil { return drawHelp(on: &grid) }
        if model.detail != nil { return drawDetail(on: &grid) }
        switch model.screen {
        case .overview: drawOverview(on: &grid)
        case .operations: drawOperations(on: &grid)
        case .queues: drawQueues(on: &grid)
        case .workers: drawWorkers(on: &grid)
        case .events: drawEvents(on: &grid)
        }
    }

    /// Dims data that is not live. The header shows the reason.
    private func dimData(on grid: inout Grid) {
        for y in 1..<max(1, size.height - 1) { grid.restyle(y: y) { $0.isDim = true } }
    }
}

// MARK: - Header and footer

extension MonitorView {
    /// `Redis takes no writes: it is a replica of 10.0.0.5:6379 · …`, in red, instead of the title.
    private var refusal: [Span]? {
        guard let refusal = model.board?.refusals.first else { return nil }
        return [
            Span(SafeText.line(refusal.sentence), .dead), Span(" · \(SafeText.line(refusal.fix))", .warning),
        ]
    }

    private func drawHeader(on grid: inout Grid) {
        var right = [Span(freshness.text(dataTime: model.board?.time), freshness.role)]
        if case .live = freshness { right.append(Span(" · every \(DurationText.fine(model.truth.interval))", .dim)) }
        if model.isFrozen { right.append(Span(" · FROZEN", .warning)) }
        if let time = model.board?.time { right.append(Span(" · \(TimeText.clock(time).prefix(5)) UTC", .dim)) }
        let x = max(1, size.width - right.displayWidth - 1)
        grid.put(right, x: x, y: 0)
        let title = [
            Span("sluice", .heading), Span(" ns:\(SafeText.line(model.namespace))"),
            Span("  \(SafeText.line(model.place))", .dim),
        ]
        let left = refusal ?? title
        grid.put(left.truncated(toWidth: max(0, x - 3), mark: style.cutMark), x: 1, y: 0, limit: max(1, x - 1))
    }
}

// MARK: - Small screens

extension MonitorView {
    /// `►24 ∘1,204 ✗3 STALE 4s`
    private func drawOneLine(on grid: inout Grid) {
        let marks = counters([.executing, .ready, .dead])
        grid.put(
            (marks + noWrites + [Span(freshness.text(dataTime: nil, isShort: true), freshness.role)]).spaced(),
            x: 0,
            y: 0
        )
    }

    /// Counters and the list of running operations.
    private func drawSmall(on grid: inout Grid) {
        let clock = model.board?.time.map { "\(TimeText.clock($0)) UTC" } ?? ""
        let state = [Span(freshness.text(dataTime: nil, isShort: true), freshness.role)]
        let frozen = model.isFrozen ? [Span("FROZEN", .warning)] : []
        let end = grid.put((noWrites + state + frozen).spaced(), x: 1, y: 0)
        if end + clock.count + 2 < size.width {
            grid.put(clock, x: size.width - clock.count - 1, y: 0, look: Look(.dim))
        }
        if model.help != nil { return drawHelp(on: &grid) }
        if model.detail != nil { return drawDetail(on: &grid) }
        grid.put(counters([.ready, .scheduled, .executing, .retrying, .dead]).spaced(), x: 1, y: 1)
        let list = model.screen == .operations ? operationList : executingList(compact: true)
        list
            .draw(on: &grid, headerAt: nil, rowsFrom: 2, lines: size.height - 3, style: style)
        let hint = (model.notice ?? model.pending?.waiting)?.text ?? "q quit  needs 60x15 for lists"
        grid.put(SafeText.line(hint), x: 1, y: size.height - 1, look: Look(.dim))
    }

    private var noWrites: [Span] {
        model.board?.refusals.isEmpty == false ? [Span("NO WRITES", .dead)] : []
    }

    private func counters(_ states: [OperationState]) -> [Span] {
        states.map { state in
            guard let board = model.board else { return Span(state.mark(ascii: style.usesASCII) + "–", .dim) }
            let slots = state == .executing && size.width >= 60 ? "/\(QuantityText.count(board.slots))" : ""
            return Span(
                state.mark(ascii: style.usesASCII) + QuantityText.count(board.count(state)) + slots,
                board.count(state) == 0 ? .dim : state.role
            )
        }
    }
}

extension [Span] {
    /// The spans with a space between them.
    func spaced(by space: String = " ") -> [Span] { Array(map { [$0] }.joined(separator: [Span(space)])) }
}
