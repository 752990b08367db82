import Operations
import SluiceOperator
import TerminalText

extension Invocation {
    /// Prints a report in the format that was asked for. Only CSV has a header without rows.
    ///
    /// - Parameters:
    ///   - names: the lines of `-o id`.
    ///   - shortIDs: the ids that the report shows.
    ///   - document: the JSON document around the rows.
    func print<Row>(
        _ report: RowReport<Row>,
        names: [String],
        shortIDs: [OperationID] = [],
        document: ([JSONValue]) -> JSONValue
    ) {
        let showsHeader = options.showsHeader
        switch format {
        case .json: console.print(document(report.json), .json)
        case .jsonl: console.print(report.json.map { $0.serialized() })
        case .id: console.print(names)
        case .csv: console.print(report.csv, .csv, showsHeader: showsHeader)
        case .table, .wide:
            guard !report.rows.isEmpty else { return }
            console.print(report.table(reportView(shortIDs)), format, showsHeader: showsHeader)
        }
    }

    private func reportView(_ ids: [OperationID]) -> ReportView {
        ReportView(
            idLength: console.isOutputTerminal ? ShortID.length(for: ids) : .max,
            style: console.output,
            time: { TimeText.format($0, settings.time.content, now: now) }
        )
    }
}
