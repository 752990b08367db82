import TerminalText

/// Measurements as a table: name, value, reference, budget, and whether the budget is met.
struct BenchTable {
    private let style: Style
    private(set) var table: Table

    init(style: Style) {
        self.style = style
        table = Table([
            TableColumn("GROUP"), TableColumn("WHAT"), TableColumn("MEASURED", alignment: .right),
            TableColumn("RATIO", alignment: .right), TableColumn("TO"), TableColumn("BUDGET"), TableColumn("MET"),
        ])
    }

    mutating func append(_ measurement: Measurement) {
        let dot = style.usesASCII ? ", " : " · "
        let verdict = measurement.isMet.map { $0 ? TableCell("yes", .finished) : TableCell("no", .dead) }
        table.append([
            TableCell(measurement.group.rawValue), TableCell(FigureText.name(measurement, dot: dot)),
            TableCell(FigureText.value(measurement)),
            TableCell(measurement.ratio.map { FigureText.number($0) } ?? ""),
            TableCell(measurement.reference?.name ?? ""),
            TableCell(measurement.budgets.joined(separator: ", ")),
            verdict ?? TableCell(""),
        ])
    }
}
