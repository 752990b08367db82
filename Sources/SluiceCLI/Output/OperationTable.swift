import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// A table of operations.
struct OperationTable {
    private let operations: [OperationDetail]
    private let invocation: Invocation
    private let style: Style

    init(_ operations: [OperationDetail], _ invocation: Invocation) {
        self.operations = operations
        self.invocation = invocation
        style = invocation.console.output
    }

    var table: Table {
        let length = invocation.console.isOutputTerminal ? ShortID.length(for: operations.map(\.id)) : .max
        // A shortened id is useless, so other columns are shortened first.
        var table = Table([
            TableColumn("ID", minimumWidth: min(length, OperationID.characterCount) + 1),
            TableColumn("STATE", minimumWidth: 11), TableColumn("PRI", dropPriority: 3),
            TableColumn("NAME", minimumWidth: 8), TableColumn("QUEUE", dropPriority: 2),
            TableColumn("TRY", dropPriority: 4), TableColumn("WHEN", dropPriority: 1),
            TableColumn("PROGRESS / ERROR", minimumWidth: 12), TableColumn("ARGUMENTS", minimumWidth: 9),
        ])
        for detail in operations {
            table.append([
                TableCell(ShortID.text(detail.id, length: length, style: style)),
                TableCell("\(detail.state.mark(ascii: style.usesASCII)) \(detail.state.rawValue)", detail.state.role),
                TableCell(style.mark(detail.record.header.priority)), TableCell(detail.title(invocation.view)),
                TableCell(detail.queue), TableCell(tries(detail)), TableCell(when(detail)),
                TableCell(detail.shownNote ?? "-"),
                TableCell(ArgumentsText.line(detail.reading(invocation.view))),
            ])
        }
        return table
    }

    /// Comma-separated values. Spreadsheets do not read them as formulas.
    var csv: [String] { csv(showsHeader: true) }

    /// Comma-separated values of a page.
    ///
    /// - Parameter showsHeader: false for pages after the first.
    func csv(showsHeader: Bool) -> [String] {
        (showsHeader && invocation.options.showsHeader ? [OperationCSV.header] : []) + operations.map(OperationCSV.line)
    }

    private func tries(_ detail: OperationDetail) -> String {
        "\(detail.record.attempt)/\(detail.envelope.maxAttempts)"
    }

    private func when(_ detail: OperationDetail) -> String {
        guard let time = detail.shownTime else { return "-" }
        return TimeText.format(time, invocation.settings.time.content, now: invocation.now)
    }
}
