import Operations
import TerminalText

extension MonitorView {
    func drawOperations(on grid: inout Grid) {
        let top = drawTop(on: &grid)
        let state = model.operations.state
        var title = [Span("\(state.mark(ascii: style.usesASCII)) \(state.rawValue)", state.role)]
        let count = model.board?.count(state)
        guard let rows = model.operations.rows else {
            title.append(Span("reading …", .dim))
            grid.put(title.spaced(by: "  "), x: 1, y: top)
            return
        }
        // The count is of the snapshot; the rows were read just after it.
        title.append(Span("\(rows.count) shown of \(count.map { QuantityText.grouped($0) } ?? "–"), newest first"))
        title.append(Span("Tab next state", .dim))
        grid.put(title.spaced(by: "  ").truncated(toWidth: size.width - 2, mark: style.cutMark), x: 1, y: top)
        operationList.draw(
            on: &grid,
            headerAt: top + 1,
            rowsFrom: top + 2,
            lines: size.height - top - 3,
            style: style
        )
    }

    var operationList: ScreenList {
        let rows = model.operations.rows ?? []
        let length = ShortID.length(for: rows.map(\.record.header.id))
        var list = ScreenList(columns: [
            ScreenColumn("ID", min(length + 1, OperationID.characterCount), .left, drop: size.width < 40 ? 9 : 0),
            ScreenColumn("PRI", 3, .left, drop: 6),
            ScreenColumn("NAME", 10, .left, isFlexible: true), ScreenColumn("QUEUE", 8, .left, drop: 4),
            ScreenColumn("TRY", 4, drop: 5), ScreenColumn("WHEN", 9, .left, drop: 3),
            ScreenColumn("PROGRESS / ERROR", 16, .left, drop: size.width < 60 ? 7 : 0, isFlexible: true),
        ])
        list.rows = rows.map { detail in
            ScreenList.Row(
                cells: cells(of: detail, idLength: length),
                isSelected: model.selectedItem == .operation(detail.address)
            )
        }
        return list
    }

    private func cells(of detail: OperationDetail, idLength: Int) -> [[Span]] {
        let header = detail.record.header
        let envelope = try? OperationEnvelope(detail.record.envelope)
        let about = detail.cancel != nil && detail.state == .executing ? "cancelling" : detail.about
        return [
            [Span(ShortID.text(header.id, length: idLength, style: style))], [Span(style.mark(header.priority))],
            [Span(SafeText.line(envelope?.name ?? "?"))], [Span(SafeText.line(detail.queue))],
            [Span("\(detail.record.attempt)/\(envelope.map { "\($0.maxAttempts)" } ?? "–")")], [when(detail)],
            [Span(SafeText.line(about), detail.state == .dead ? .dead : .plain)],
        ]
    }

    private func when(_ detail: OperationDetail) -> Span {
        guard let time = detail.shownTime, let now = model.board?.time else { return Span("–", .dim) }
        return Span(TimeText.relative(time, now: now))
    }
}

extension OperationDetail {
    /// Progress, last error or reason of a cancel, not escaped for a terminal.
    fileprivate var about: String {
        switch state {
        case .executing: progress.map { "\(QuantityText.percent($0.fraction)) \($0.message)" } ?? ""
        case .retrying, .dead:
            errors.last?.failure.sentence ?? ""
        case .cancelled: cancel?.reason ?? ""
        case .ready where isUnhandled: "waits for a worker that knows its name"
        case .scheduled, .blocked, .ready, .finished, .expired: ""
        }
    }
}
