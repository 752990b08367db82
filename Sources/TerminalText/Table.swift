/// A column of a table.
package struct TableColumn: Sendable, Hashable {
    /// The header.
    package var title: String
    /// The side at which the cells' text stands.
    package var alignment: TextAlignment
    /// Columns with higher numbers are left out first if the width is too small; 0 = never.
    package var dropPriority: Int
    /// The width to which cells are cut before a column is left out.
    package var minimumWidth: Int
    /// The largest width of cells, even if more space is free; `nil` = no limit.
    package var maximumWidth: Int?

    package init(
        _ title: String,
        alignment: TextAlignment = .left,
        dropPriority: Int = 0,
        minimumWidth: Int = 4,
        maximumWidth: Int? = nil
    ) {
        self.title = title
        self.alignment = alignment
        self.dropPriority = dropPriority
        self.minimumWidth = minimumWidth
        self.maximumWidth = maximumWidth
    }
}

/// A cell: untrusted text and its meaning.
package struct TableCell: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The text, which is made safe when drawn.
    package var text: String
    /// The meaning of the text.
    package var role: TextRole

    package init(_ text: String, _ role: TextRole = .plain) {
        self.text = text
        self.role = role
    }

    package init(stringLiteral value: String) { self.init(value) }
}

/// The output for which a table is drawn.
package enum TableTarget: Sendable, Hashable {
    /// A terminal this many cells wide: columns are left out and cells cut until a row fits one line.
    case terminal(width: Int)
    /// A pipe or a file: all columns, uncut and without colour. Empty cells show `-`, so that fields can be counted.
    case plain

    /// The width for a terminal of unknown width.
    package static let defaultWidth = 80
}

/// Rows under a header, one line each, never wrapped.
package struct Table: Sendable {
    package var columns: [TableColumn]
    package private(set) var rows: [[TableCell]] = []

    package init(_ columns: [TableColumn]) { self.columns = columns }

    /// Adds a row; missing cells are empty, cells beyond the columns are not shown.
    package mutating func append(_ row: [TableCell]) {
        rows.append(row)
    }

    /// The lines of the table, without newlines at their ends.
    ///
    /// - Parameter least: the minimum widths of the columns, from an earlier part of this table.
    package func lines(
        for target: TableTarget,
        style: Style = Style(),
        showsHeader: Bool = true,
        atLeast least: [Int] = []
    ) -> [String] {
        let safe = safeRows(for: target)
        let widths = naturalWidths(safe, showsHeader: showsHeader, atLeast: least)
        let layout = TableLayout(columns: columns, widths: widths, for: target)
        let style = target == .plain ? Style(usesColor: false, usesASCII: style.usesASCII) : style
        let header = columns.map { TableCell(SafeText.line($0.title), .heading) }
        return ((showsHeader ? [header] : []) + safe).map { layout.line($0, style: style) }
    }

    /// The widths of the columns in a pipe, with these minimums.
    package func widths(showsHeader: Bool, atLeast least: [Int]) -> [Int] {
        naturalWidths(safeRows(for: .plain), showsHeader: showsHeader, atLeast: least)
    }

    private func safeRows(for target: TableTarget) -> [[TableCell]] {
        rows.map { row in columns.indices.map { safeCell(row.indices.contains($0) ? row[$0] : "", for: target) } }
    }

    private func safeCell(_ cell: TableCell, for target: TableTarget) -> TableCell {
        let text = SafeText.line(cell.text)
        return TableCell(text.isEmpty && target == .plain ? "-" : text, cell.role)
    }

    private func naturalWidths(_ rows: [[TableCell]], showsHeader: Bool, atLeast least: [Int]) -> [Int] {
        var widths = columns.enumerated().map { position, column in
            max(
                showsHeader ? SafeText.line(column.title).displayWidth : 0,
                least.indices.contains(position) ? least[position] : 0
            )
        }
        for row in rows {
            for (position, cell) in row.enumerated() {
                widths[position] = max(widths[position], cell.text.displayWidth)
            }
        }
        return widths
    }
}
