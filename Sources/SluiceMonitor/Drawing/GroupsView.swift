import Operations
import TerminalText

extension MonitorView {
    /// The most lines for groups: the rows, and one line with the number of the others.
    static let mostGroups = 6

    /// Draws the groups that have not ended: heading, header, and rows.
    ///
    /// - Parameter lines: the lines for heading, header and rows, at least 3.
    func drawGroups(on grid: inout Grid, y: Int, lines: Int) {
        let fits = model.groups.count <= lines - 2
        let rows = fits ? model.groups.count : lines - 3
        grid.put("GROUPS, the newest first", x: 1, y: y, look: Look(.heading))
        groupList(rows).draw(on: &grid, headerAt: y + 1, rowsFrom: y + 2, lines: rows, style: style)
        guard !fits else { return }
        let more = QuantityText.grouped(model.groups.count - rows)
        grid.put(
            "\(style.cutMark) \(more) more: sluice list name:\(GroupTerms.name)",
            x: 1,
            y: y + 2 + rows,
            look: Look(.dim)
        )
    }

    private func groupList(_ rows: Int) -> ScreenList {
        let groups = model.groups.prefix(rows)
        let bar = size.width >= 80 ? 10 : 0
        let length = model.isWide ? OperationID.characterCount : ShortID.length(for: groups.map(\.id))
        var list = ScreenList(columns: [
            ScreenColumn("GROUP", 10, .left, isFlexible: true),
            ScreenColumn("ID", min(length + 1, OperationID.characterCount), .left, drop: 3),
            ScreenColumn("QUEUE", 8, .left, drop: 2, isFlexible: true), ScreenColumn("STATE", 10, .left),
            ScreenColumn("ENDED", bar + 12, .left), ScreenColumn("FAILED", 6, drop: 1), ScreenColumn("AGE", 6, drop: 4),
        ])
        list.rows = groups.map { group in
            let age = model.board?.time.map { max(0, $0 - group.openedAt) }
            return ScreenList.Row(cells: [
                [Span(SafeText.line(group.name))], [Span(ShortID.text(group.id, length: length, style: style))],
                [Span(SafeText.line(group.queue))], [Span(group.place, group.isCancelled ? .cancelled : .plain)],
                ended(group.progress, bar: bar), count(group.progress.failed, .dead), duration(age),
            ])
        }
        return list
    }

    /// `███████░░░ 7/10`
    private func ended(_ progress: GroupProgress, bar: Int) -> [Span] {
        let text = "\(QuantityText.count(progress.ended))/\(QuantityText.count(progress.total))"
        guard bar > 0 else { return [Span(text)] }
        return [
            Span(QuantityText.bar(progress.fraction, width: bar, ascii: style.usesASCII), .executing), Span(" " + text),
        ]
    }
}
