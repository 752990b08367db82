import Operations
import SluiceOperator
import TerminalText

extension MonitorView {
    func drawOperations(on grid: inout Grid) {
        let top = drawTop(on: &grid)
        let title = operationsTitle.spaced(by: "  ").truncated(toWidth: size.width - 2, mark: style.cutMark)
        grid.put(title, x: 1, y: top)
        guard model.operations.rows != nil else { return }
        operationList.draw(
            on: &grid,
            headerAt: top + 1,
            rowsFrom: top + 2,
            lines: size.height - top - 3,
            style: style
        )
    }

    /// `✗ dead  /name:Send*  12 of 31 · scanned 200 of 1,204, PgDn reads more  time ↓  3 ✱`
    private var operationsTitle: [Span] {
        let pane = model.operations
        var title: [Span] = []
        if let state = pane.state {
            title.append(Span("\(state.mark(ascii: style.usesASCII)) \(state.rawValue)", state.role))
        } else if !pane.request.filterHasStates {
            title.append(Span("all states", .heading))
        }
        if !pane.filterText.isEmpty { title.append(Span("/" + SafeText.line(pane.filterText), .heading)) }
        guard let reading = pane.reading else { return title + [Span("reading …", .dim)] }
        title.append(Span(coverage(of: reading)))
        let isUp = [.name, .queue].contains(pane.sort) != pane.isReversed
        let arrow = style.usesASCII ? (isUp ? "up" : "down") : (isUp ? "↑" : "↓")
        title.append(Span("\(pane.sort.rawValue) \(arrow)", .dim))
        if pane.marksAll {
            title.append(Span("all \(style.markedMark)", .warning))
        } else if !pane.marks.isEmpty {
            title.append(Span("\(QuantityText.grouped(pane.marks.count)) \(style.markedMark)", .warning))
        }
        return title
    }

    /// `12 of 31`, or with a filter `12 match · scanned 200 of 1,204`.
    private func coverage(of reading: OperationsReading) -> String {
        let found = QuantityText.grouped(reading.operations.count)
        // The counts are from the snapshot; the rows were read just after it.
        let total = QuantityText.grouped(max(reading.total, reading.scanned))
        let isFiltered = reading.request.query.filtersRows
        var text =
            isFiltered
            ? "\(found) match · scanned \(QuantityText.grouped(reading.scanned)) of \(total)" : "\(found) of \(total)"
        if reading.unread > 0 { text += " · \(QuantityText.grouped(reading.unread)) encrypted" }
        if reading.hasMore {
            text += reading.request.pages < OperationsPane.mostPages ? " · PgDn more" : " · more: sluice list"
        }
        return text
    }

    var operationList: ScreenList {
        let pane = model.operations
        let rows = pane.rows ?? []
        let length = model.isWide ? OperationID.characterCount : ShortID.length(for: rows.map(\.record.header.id))
        var list = ScreenList(columns: [
            ScreenColumn("ID", min(length + 1, OperationID.characterCount), .left, drop: size.width < 40 ? 9 : 0),
            ScreenColumn("PRI", 3, .left, drop: 6),
            ScreenColumn("NAME", 10, .left, isFlexible: true), ScreenColumn("QUEUE", 8, .left, drop: 4),
            ScreenColumn("TRY", 4, drop: 5), ScreenColumn("WHEN", 9, .left, drop: 3),
            ScreenColumn("PROGRESS / ERROR", 16, .left, drop: size.width < 60 ? 7 : 0, isFlexible: true),
        ])
        let hasMarks = pane.marksAll || !pane.marks.isEmpty
        if hasMarks { list.columns.insert(ScreenColumn("", 1, .left), at: 0) }
        if pane.hasManyStates { list.columns.insert(ScreenColumn("STATE", 11, .left, drop: 2), at: hasMarks ? 2 : 1) }
        let arguments = arguments(of: rows)
        if !arguments.isEmpty { list.columns.append(ScreenColumn("ARGUMENTS", 24, .left, drop: 10, isFlexible: true)) }
        list.rows = rows.map { detail in
            var cells = cells(of: detail, idLength: length)
            if !arguments.isEmpty { cells.append([Span(arguments[detail.address] ?? "")]) }
            if pane.hasManyStates { cells.insert([stateSpan(detail.state)], at: 1) }
            if hasMarks { cells.insert([Span(pane.isMarked(detail.address) ? style.markedMark : "", .warning)], at: 0) }
            let isLeaving = pane.leaving.contains(detail.address)
            return ScreenList.Row(
                cells: isLeaving ? cells.map { $0.map { Span($0.text, .dim) } } : cells,
                isSelected: model.selectedItem == .operation(detail.address)
            )
        }
        return list
    }

    /// The arguments of the rows near the selected one, if the screen is wide enough to show arguments.
    private func arguments(of rows: [OperationDetail]) -> [OperationAddress: String] {
        guard size.width >= 100 else { return [:] }
        let selected = rows.firstIndex { model.selectedItem == .operation($0.address) } ?? 0
        let near = max(0, selected - size.height)..<min(rows.count, selected + size.height)
        let texts = rows[near].map { ($0.address, SafeText.line(ArgumentsText.line($0.reading(model.view)))) }
        return Dictionary(texts.filter { !$0.1.isEmpty }) { first, _ in first }
    }

    private func cells(of detail: OperationDetail, idLength: Int) -> [[Span]] {
        let header = detail.record.header
        let envelope = try? OperationEnvelope(detail.record.envelope)
        let isLost = model.board?.isLost(detail) ?? false
        let isCancelling = detail.cancel != nil && detail.state == .executing
        let about = isLost ? ProgressText.lostText : isCancelling ? "cancelling" : detail.about
        return [
            [Span(ShortID.text(header.id, length: idLength, style: style))], [Span(style.mark(header.priority))],
            [Span(SafeText.line(detail.title(model.view)))], [Span(SafeText.line(detail.queue))],
            [Span("\(detail.record.attempt)/\(envelope.map { "\($0.maxAttempts)" } ?? "–")")], [when(detail)],
            [Span(SafeText.line(about), isLost || detail.state == .dead ? .dead : .plain)],
        ]
    }

    private func stateSpan(_ state: OperationState) -> Span {
        Span("\(state.mark(ascii: style.usesASCII)) \(state.rawValue)", state.role)
    }

    private func when(_ detail: OperationDetail) -> Span {
        guard let time = detail.shownTime, let now = model.board?.time else { return Span("–", .dim) }
        return Span(TimeText.relative(time, now: now))
    }
}

extension OperationDetail {
    /// Progress, last error or the reason of a cancel, not escaped for a terminal.
    fileprivate var about: String {
        if let group = GroupProgress(self) { return group.shortText }
        return switch state {
        case .executing: progress.map { "\(QuantityText.percent($0.fraction)) \($0.message)" } ?? ""
        case .retrying, .dead:
            errors.last?.failure.sentence ?? ""
        case .cancelled: cancel?.reason ?? ""
        case .ready where isUnhandled: "waits for a worker that knows its name"
        case .scheduled, .blocked, .ready, .finished, .expired: ""
        }
    }
}

extension Style {
    /// The mark before a marked row.
    fileprivate var markedMark: String { usesASCII ? "*" : "✱" }
}
