import TerminalText

extension MonitorView {
    /// Draws the help: the keys of the place, from the table of keys.
    func drawHelp(on grid: inout Grid) {
        let bindings = KeyTable.bindings(in: model.keyPlace, isReadOnly: model.isReadOnly)
        let rows = bindings.map { [Span($0.label.padded(toWidth: 11), .heading), Span($0.help)] }
        let notes = [
            "live: read within three intervals", "STALE: older data", "DISCONNECTED: the last try failed",
            "– is unknown, which is not zero",
        ].map { [Span($0, .dim)] }
        let lines = rows + [[]] + notes
        let space = max(0, size.height - 4)
        let columns = size.width >= 80 ? 2 : 1
        let pages = max(1, (lines.count + space - 1) / max(1, space))
        // At the end, the last pages fill all columns.
        let first = min(model.help?.scroll ?? 0, max(0, pages - columns)) * space
        let more = pages > columns ? "  (j k scroll)" : ""
        grid.put([Span("KEYS", .heading), Span(more, .dim)], x: 1, y: 2)
        let width = size.width / columns
        for (index, line) in lines.dropFirst(first).prefix(space * columns).enumerated() {
            let x = 1 + index / space * width
            let shown = line.truncated(toWidth: width - 2, mark: style.cutMark)
            grid.put(shown, x: x, y: 3 + index % space, limit: x + width - 1)
        }
    }
}
