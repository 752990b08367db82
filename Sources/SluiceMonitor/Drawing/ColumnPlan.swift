import TerminalText
/// A column of a list on the screen.
struct ScreenColumn: Sendable {
    var title: String
    /// The minimum width. A flexible column grows with its content.
    var width: Int
    var alignment: TextAlignment
    /// Columns with higher numbers are left out first; 0 = never.
    var dropPriority: Int
    /// Whether the column grows into the remaining space, as far as the cells need.
    var isFlexible: Bool
    /// Whether a text that does not fit loses its beginning instead of its end.
    var keepsEnd: Bool

    init(
        _ title: String,
        _ width: Int,
        _ alignment: TextAlignment = .right,
        drop dropPriority: Int = 0,
        isFlexible: Bool = false,
        keepsEnd: Bool = false
    ) {
        self.title = title
        self.width = width
        self.alignment = alignment
        self.dropPriority = dropPriority
        self.isFlexible = isFlexible
        self.keepsEnd = keepsEnd
    }
}

/// A list on the screen: a header and rows of spans, with a marker before the selected row.
struct ScreenList: Sendable {
    struct Row: Sendable {
        var cells: [[Span]]
        var isSelected = false
    }

    var columns: [ScreenColumn]
    var rows: [Row] = []

    /// Returns the columns that fit, with their positions. The first cell of a line is for the marker.
    private func plan(width: Int) -> [(index: Int, x: Int, width: Int)] {
        var kept = Array(columns.indices)
        func need(_ kept: [Int]) -> Int { kept.reduce(0) { $0 + columns[$1].width } + kept.count }
        while need(kept) > width {
            let droppable = kept.filter { columns[$0].dropPriority > 0 }
            guard let next = droppable.max(by: { columns[$0].dropPriority <= columns[$1].dropPriority }) else { break }
            kept.removeAll { $0 == next }
        }
        var left = max(0, width - need(kept))
        var x = 1
        return kept.map { index in
            let wanted = columns[index].isFlexible ? widest(index) - columns[index].width : 0
            let extra = min(left, max(0, wanted))
            left -= extra
            defer { x += columns[index].width + extra + 1 }
            return (index, x, columns[index].width + extra)
        }
    }

    private func widest(_ index: Int) -> Int {
        rows.map { row in row.cells[index].reduce(0) { $0 + $1.text.displayWidth } }.max() ?? 0
    }

    /// Draws the header and the rows that fit, including the selected one.
    ///
    /// - Parameters:
    ///   - y: the header's line; nil draws no header.
    ///   - lines: the number of lines for rows.
    func draw(on grid: inout Grid, headerAt y: Int?, rowsFrom top: Int, lines: Int, style: Style) {
        let plan = plan(width: grid.size.width)
        if let y {
            for slot in plan {
                draw([Span(columns[slot.index].title, .heading)], slot, y: y, on: &grid, style: style)
            }
        }
        guard lines > 0 else { return }
        for (line, row) in visible(lines).enumerated() {
            if row.isSelected { grid.put(style.usesASCII ? ">" : "►", x: 0, y: top + line) }
            for slot in plan { draw(row.cells[slot.index], slot, y: top + line, on: &grid, style: style) }
            if row.isSelected { grid.restyle(y: top + line) { $0.isSelected = true } }
        }
    }

    /// The rows around the selected one.
    private func visible(_ lines: Int) -> ArraySlice<Row> {
        let selected = rows.firstIndex(where: \.isSelected) ?? 0
        let first = min(max(0, selected - lines / 2), max(0, rows.count - lines))
        return rows[first..<min(rows.count, first + lines)]
    }

    private func draw(
        _ spans: [Span],
        _ slot: (index: Int, x: Int, width: Int),
        y: Int,
        on grid: inout Grid,
        style: Style
    ) {
        let width = spans.displayWidth
        let isRight = columns[slot.index].alignment == .right
        let x = slot.x + (isRight ? max(0, slot.width - width) : 0)
        let cut =
            columns[slot.index].keepsEnd
            ? spans.map { Span($0.text.keepingEnd(toWidth: slot.width, mark: style.cutMark), $0.role) }
            : spans.truncated(toWidth: slot.width, mark: style.cutMark)
        grid.put(cut, x: x, y: y, limit: slot.x + slot.width)
    }
}

extension [Span] {
    var displayWidth: Int { reduce(0) { $0 + $1.text.displayWidth } }

    /// Cuts spans to a width.
    func truncated(toWidth width: Int, mark: String) -> [Span] {
        var left = width
        var result: [Span] = []
        for (position, span) in enumerated() {
            let own = span.text.displayWidth
            let isLast = self[(position + 1)...].allSatisfy { $0.text.isEmpty }
            if own < left || (own == left && isLast) {
                result.append(span)
                left -= own
            } else {
                let text = span.text + (isLast ? "" : " ")
                result.append(Span(text.truncated(toWidth: left, mark: mark), span.role))
                break
            }
        }
        return result
    }
}

extension String {
    /// Cuts the beginning of a text so that it fits a width.
    func keepingEnd(toWidth width: Int, mark: String) -> String {
        guard displayWidth > width else { return self }
        var rest = self[...]
        while !rest.isEmpty, rest.displayWidth > width - mark.displayWidth { rest = rest.dropFirst() }
        return mark + rest
    }
}
