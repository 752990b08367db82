import Operations
import TerminalText

/// One field of a report's rows, described once: the column that people see, the column of CSV, and the member in JSON.
package struct ReportColumn<Row> {
    /// The column for people, with its width rule; nil = only programs get it.
    package let heading: TableColumn?
    /// The title in CSV; nil = CSV leaves it out.
    package let csv: String?
    /// The member in JSON; nil = JSON leaves it out.
    package let field: String?
    /// The value for programs, in JSON and CSV.
    package let value: (Row) -> JSONValue
    /// The cell for people.
    package let cell: (Row, ReportView) -> TableCell
    private var isID = false

    package init(
        _ heading: TableColumn?,
        csv: String?,
        field: String? = nil,
        value: @escaping (Row) -> JSONValue,
        cell: @escaping (Row, ReportView) -> TableCell
    ) {
        (self.heading, self.csv, self.field, self.value, self.cell) = (heading, csv, field, value, cell)
    }

    /// The heading, with the width of the ids that this view shows.
    func heading(_ view: ReportView) -> TableColumn? {
        var heading = heading
        if isID { heading?.minimumWidth = min(view.idLength, OperationID.characterCount) + 1 }
        return heading
    }
}

/// How a person wants to see values that have several forms.
package struct ReportView {
    /// Formats a time in milliseconds of server time.
    package let time: (Int64) -> String
    /// The number of characters that tell the shown ids apart.
    package let idLength: Int
    package let style: Style

    package init(idLength: Int, style: Style, time: @escaping (Int64) -> String) {
        (self.idLength, self.style, self.time) = (idLength, style, time)
    }
}

extension ReportColumn {
    /// A text. CSV and people see the same, unless a title or cell is given.
    package static func text(
        _ title: String,
        field: String? = nil,
        csv: String? = nil,
        drop: Int = 0,
        minimum: Int = 4,
        _ text: @escaping (Row) -> String?
    ) -> Self {
        Self(
            TableColumn(title, dropPriority: drop, minimumWidth: minimum),
            csv: csv ?? title,
            field: field,
            value: { JSONValue(text($0)) },
            cell: { row, _ in TableCell(text(row) ?? "") }
        )
    }

    /// A whole number.
    package static func count(
        _ title: String,
        field: String? = nil,
        drop: Int = 0,
        _ number: @escaping (Row) -> Int64?
    ) -> Self {
        Self(
            TableColumn(title, alignment: .right, dropPriority: drop),
            csv: title,
            field: field,
            value: { JSONValue(number($0)) },
            cell: { row, _ in TableCell(number(row).map { QuantityText.grouped($0) } ?? "–") }
        )
    }

    /// A time in milliseconds of server time; nil or 0 = none.
    package static func time(
        _ title: String,
        field: String? = nil,
        drop: Int = 0,
        _ milliseconds: @escaping (Row) -> Int64?
    ) -> Self {
        Self(
            TableColumn(title, dropPriority: drop),
            csv: title,
            field: field,
            value: { OperationJSON.time(milliseconds($0) ?? 0) },
            cell: { row, view in TableCell(milliseconds(row).flatMap { $0 > 0 ? view.time($0) : nil } ?? "-") }
        )
    }

    /// The id of an operation, which tables do not cut.
    package static func id(_ title: String, field: String? = nil, _ id: @escaping (Row) -> OperationID?) -> Self {
        var column = Self(
            TableColumn(title),
            csv: title,
            field: field,
            value: { JSONValue(id($0)?.description) },
            cell: { row, view in
                TableCell(id(row).map { ShortID.text($0, length: view.idLength, style: view.style) } ?? "-")
            }
        )
        column.isID = true
        return column
    }

    /// A value that only programs get.
    package static func data(
        _ field: String?,
        csv: String? = nil,
        _ value: @escaping (Row) -> JSONValue
    ) -> Self {
        Self(nil, csv: csv, field: field, value: value, cell: { _, _ in "" })
    }

    /// A value that only people see.
    package static func shown(_ heading: TableColumn, _ cell: @escaping (Row, ReportView) -> TableCell) -> Self {
        Self(heading, csv: nil, value: { _ in .null }, cell: cell)
    }
}
