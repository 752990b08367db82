import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// The effect of a change, determined without a change: `docs/schema/dry-run.json`.
struct DryRun: Sendable {
    /// The largest number of operations to show.
    static let sample = 10

    /// `cancelled`
    var participle: String
    var matches: Int
    /// The number of selected operations that would be refused because of their states.
    var refused = 0
    /// The examined part of the queues; nil if the command names its operations.
    var coverage: Coverage?
    /// The first affected operations.
    var sample: [OperationDetail]

    func print(_ invocation: Invocation) {
        let console = invocation.console
        console.clearStatus()
        switch invocation.format {
        case .json, .jsonl: console.print(json(invocation.view), invocation.format)
        case .id: console.print(sample.map(\.id.description))
        case .csv: console.print(OperationTable(sample, invocation).csv)
        case .table, .wide:
            if !sample.isEmpty {
                let table = OperationTable(sample, invocation).table
                console.print(table, invocation.format, showsHeader: invocation.options.showsHeader)
            }
        }
        console.note(text)
    }

    /// `dry run: 42 would be cancelled, 10 of them shown; scanned 1,000 of 1,000; nothing was changed`
    private var text: String {
        let shown = matches > sample.count ? ", \(sample.count) of them shown" : ""
        let count = "dry run: \(QuantityText.grouped(matches)) would be \(participle)\(shown)"
        let refusals = refused == 0 ? nil : "\(QuantityText.grouped(refused)) would be refused"
        return [count, refusals, coverage?.text, "nothing was changed"].compactMap { $0 }.joined(separator: "; ")
    }

    private func json(_ view: PayloadView) -> JSONValue {
        [
            "v": 1, "dryRun": true,
            "matches": .number(matches),
            "refused": .number(refused),
            "scanned": JSONValue(coverage?.scanned),
            "total": JSONValue(coverage?.total),
            "unread": JSONValue(coverage?.unread),
            "sample": .array(sample.map { OperationJSON.object($0, view) }),
        ]
    }
}
