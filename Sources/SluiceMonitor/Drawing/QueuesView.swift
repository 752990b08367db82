import Operations
import SluiceOperator
import TerminalText

extension MonitorView {
    func drawQueues(on grid: inout Grid) {
        let top = drawTop(on: &grid)
        let space = size.height - top - 2
        let queues = max(1, model.board?.queues.count ?? 0)
        // Each list has a heading and a header.
        let wanted = (schedules: lines(model.schedules.count), groups: lines(min(model.groups.count, Self.mostGroups)))
        let lower = linesBelow(max(0, wanted.schedules + wanted.groups - 2), above: queues, space: space)
        let groups = min(wanted.groups, max(lower - wanted.schedules, lower / 2))
        let schedules = min(wanted.schedules, lower - groups)
        queueScreenList.draw(on: &grid, headerAt: top, rowsFrom: top + 1, lines: space - lower, style: style)
        if let board = model.board, board.queues.isEmpty { drawNothing("no queues yet", y: top + 1, on: &grid) }
        let below = top + 1 + min(queues, space - lower)
        if groups > 2 { drawGroups(on: &grid, y: below, lines: groups) }
        guard schedules > 2 else { return }
        let last = below + groups
        let shown = schedules - 2 < model.schedules.count ? " (\(schedules - 2) of \(model.schedules.count))" : ""
        grid.put("SCHEDULES, the next first" + shown, x: 1, y: last, look: Look(.heading))
        scheduleList.draw(on: &grid, headerAt: last + 1, rowsFrom: last + 2, lines: schedules - 2, style: style)
    }

    private func lines(_ rows: Int) -> Int { rows == 0 ? 0 : rows + 2 }

    private var scheduleList: ScreenList {
        var list = ScreenList(columns: [
            ScreenColumn("SCHEDULE", 10, .left, isFlexible: true),
            ScreenColumn("QUEUE", 8, .left, drop: 1, isFlexible: true), ScreenColumn("NEXT", 10, .left),
            ScreenColumn("LAST", 10, .left, drop: 2), ScreenColumn("ENQUEUED", 8, drop: 3),
        ])
        list.rows = model.schedules.map { row in
            let stored = row.stored
            return ScreenList.Row(cells: [
                [Span(SafeText.line(stored.id))], [Span(SafeText.line(row.queue))],
                row.standstill.map { [Span($0, .warning)] } ?? instant(stored.due), instant(stored.runs.last?.instant),
                count(Int(clamping: stored.runs.enqueued)),
            ])
        }
        return list
    }

    private func instant(_ milliseconds: Int64?) -> [Span] {
        guard let milliseconds, let now = model.board?.time else { return [Span("–", .dim)] }
        return [Span(TimeText.relative(milliseconds, now: now))]
    }

    private var queueScreenList: ScreenList {
        guard let statistics = model.statistics else { return withStates(queueList(isOverview: false)) }
        var list = ScreenList(columns: [
            ScreenColumn("QUEUE", 9, .left, isFlexible: true), ScreenColumn("OUT 10m", 10, .left, drop: 3),
            ScreenColumn("READY", 7), ScreenColumn("EXEC", 5), ScreenColumn("DEAD", 5, drop: 5),
            ScreenColumn("IN/s", 5, drop: 8), ScreenColumn("OUT/s", 5, drop: 7), ScreenColumn("OLDEST", 6, drop: 1),
            ScreenColumn("WAITp95", 7, drop: 4), ScreenColumn("RUNp95", 6, drop: 2), ScreenColumn("ERR%", 4, drop: 6),
            ScreenColumn("WORKERS", 7, drop: 9), ScreenColumn("STATE", 11, .left),
        ])
        list.rows = (model.board?.queues ?? []).map { queue in
            ScreenList.Row(
                cells: cells(of: queue, statistics.queues[queue.name] ?? StatisticsBoard.Queue()),
                isSelected: model.selectedItem == .queue(queue.name)
            )
        }
        return withStates(list)
    }

    private func cells(of queue: QueueSummary, _ statistics: StatisticsBoard.Queue) -> [[Span]] {
        let recent = statistics.recent
        let errors = recent.errorRate.map { QuantityText.rate($0 * 100) } ?? "–"
        return [
            [Span(SafeText.line(queue.name))],
            [Span(Sparkline.text(statistics.ended.suffix(10), ascii: style.usesASCII), .finished)],
            count(queue.count(.ready)), count(queue.count(.executing), .executing), count(queue.count(.dead), .dead),
            [Span(QuantityText.rate(queue.rates.enqueued))], [Span(QuantityText.rate(queue.rates.ended))],
            duration(queue.oldestMilliseconds), [Span(Self.milliseconds(recent.wait.percentile(0.95)))],
            [Span(Self.milliseconds(recent.run.percentile(0.95)))],
            [Span(errors, StatisticsText.role(ofErrors: recent.errorRate))], count(queue.liveWorkers), [],
        ]
    }

    private func withStates(_ list: ScreenList) -> ScreenList {
        var list = list
        let state = list.columns.count - 1
        list.columns[state].isFlexible = true
        let queues = model.board?.queues ?? []
        for (row, queue) in queues.enumerated() { list.rows[row].cells[state] = [stateSpan(of: queue)] }
        // The pause with its author is worth more space than other columns.
        if queues.contains(where: { $0.pause != nil }) { list.columns[state].width = 26 }
        return list
    }

    /// The state; for a paused queue also the age, the author and the reason of the pause.
    private func stateSpan(of queue: QueueSummary) -> Span {
        var text = queue.condition.text
        if let pause = queue.pause {
            text += " by \(pause.by)"
            if let now = model.board?.time { text += ", \(TimeText.relative(pause.at, now: now))" }
            if !pause.reason.isEmpty { text += ": \(pause.reason)" }
        }
        return Span(SafeText.line(text), queue.condition.role)
    }
}
