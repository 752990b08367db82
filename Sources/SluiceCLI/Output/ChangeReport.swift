import Operations
import SluiceOperator
import TerminalText

/// Prints the outcome of each operation as it becomes known, and errors at the end.
struct ChangeReport {
    /// The largest number of lines on a terminal. A longer report becomes a summary, except with -v.
    private static let shownLines = 20

    private let invocation: Invocation
    private let participle: String
    private let namespace: String
    private(set) var summary = OutcomeSummary()
    private var array: JSONArrayPrinter?
    private var kept: [String] = []

    init(_ invocation: Invocation, participle: String, namespace: String) {
        self.invocation = invocation
        self.participle = participle
        self.namespace = namespace
        if invocation.format.isJSON { array = JSONArrayPrinter("results", invocation.console, invocation.format) }
        if invocation.format == .csv { print([], showsHeader: invocation.options.showsHeader) }
    }

    mutating func add(_ rows: [OperationOutcome]) {
        rows.forEach { summary.add($0) }
        let done = rows.filter { $0.result == .done }
        switch invocation.format {
        case .json, .jsonl: array?.add(rows.map(\.json))
        case .id: invocation.console.print(done.map(\.shownID))
        case .csv: if !done.isEmpty { print(done, showsHeader: false) }
        case .table, .wide:
            let lines = done.map { SafeText.line("\($0.shownID) \($0.text)") }
            if invocation.listsAll {
                invocation.console.print(lines)
            } else {
                kept += lines.prefix(Self.shownLines + 1 - kept.count)
            }
        }
        invocation.console.account("\(QuantityText.grouped(summary.doneCount)) \(participle)")
    }

    private func print(_ rows: [OperationOutcome], showsHeader: Bool) {
        invocation.console.print(OperationOutcome.table(rows), .csv, showsHeader: showsHeader)
    }

    /// Prints the rest of the report.
    ///
    /// - Parameter early: the reason for an early end; nil = the change is complete.
    mutating func finish(early: CLIError? = nil) -> ExitStatus {
        let console = invocation.console
        console.clearStatus()
        array?.finish()
        if kept.count <= Self.shownLines {
            console.print(kept)
        } else {
            console.print(summary.text)
        }
        let refused = summary.error(participle: participle, namespace: namespace)
        guard var error = early else {
            if let refused { console.report(refused, asJSON: invocation.format.isJSON) }
            return summary.status
        }
        if let refused { error.notes += [refused.message] + refused.notes }
        console.report(error, asJSON: invocation.format.isJSON)
        return error.status
    }
}
