import Operations
import TerminalText

/// A list of rows with the same fields.
package struct RowReport<Row> {
    package let columns: [ReportColumn<Row>]
    package let rows: [Row]
    private let object: ((Row) -> JSONValue)?

    /// Makes a report.
    ///
    /// - Parameter object: the JSON of a row; nil = made from the members of the columns.
    package init(_ rows: [Row], _ columns: [ReportColumn<Row>], object: ((Row) -> JSONValue)? = nil) {
        (self.rows, self.columns, self.object) = (rows, columns, object)
    }

    /// The rows for people.
    package func table(_ view: ReportView) -> Table {
        let shown = columns.filter { $0.heading != nil }
        var table = Table(shown.compactMap { $0.heading(view) })
        for row in rows { table.append(shown.map { $0.cell(row, view) }) }
        return table
    }

    /// The rows for CSV.
    package var csv: Table {
        let shown = columns.filter { $0.csv != nil }
        var table = Table(shown.compactMap { $0.csv.map { TableColumn($0) } })
        for row in rows { table.append(shown.map { TableCell(Self.csvText($0.value(row))) }) }
        return table
    }

    /// The rows as JSON objects.
    package var json: [JSONValue] {
        if let object { return rows.map(object) }
        let members = columns.filter { $0.field != nil }
        return rows.map { row in
            let fields = members.compactMap { column in column.field.map { ($0, column.value(row)) } }
            return .object(JSONObject([("v", 1)] + fields))
        }
    }

    private static func csvText(_ value: JSONValue) -> String {
        switch value {
        case .null: ""
        case .string(let text): text
        case .array(let values): values.map(csvText).joined(separator: " ")
        case .bool, .number, .object: value.serialized()
        }
    }
}
