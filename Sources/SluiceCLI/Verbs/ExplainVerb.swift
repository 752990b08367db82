import ArgumentParser
import Operations
import Sluice
import SluiceOperator
import TerminalText

package struct ExplainVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "explain",
            abstract: "Explain why operations do not run, with commands that help.",
            discussion: """
                EXAMPLES
                  \(Program.name) explain 7QK2MX
                  \(Program.name) explain -w 'queue:mail name:Send*' --limit 5
                  \(Program.name) explain 7QK2MX -o json

                Prints one sentence, every reason that applies with its facts, and commands that help. The estimated \
                start is a prediction from one second of measurement. A query without a state covers waiting and \
                running operations.
                """
        )
    }

    @OptionGroup package var selection: Selection
    @OptionGroup var scanLimit: ScanLimit
    @Option(help: "Explain at most n operations of -w and -t (10).")
    var limit = 10
    @OptionGroup package var global: GlobalOptions

    /// The largest limit. Each explained operation costs a read of its lane.
    private static let most = 200

    package init() {}

    package func check() throws {
        try selection.check()
        try scanLimit.check()
        guard (1...Self.most).contains(limit) else {
            throw CLIError.usage("--limit is \(limit); expected 1 to \(Self.most)", fix: "--limit 10")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let references = try selection.targets.references()
        guard selection.isQuery || !references.isEmpty else {
            throw CLIError.usage("nothing to explain", fix: "\(Program.name) explain ID")
        }
        let client = try await invocation.connect()
        let details: [OperationDetail]
        if selection.isQuery {
            details = try await found(client, invocation)
        } else {
            details = try await Locator(client).details(references)
        }
        show(try await SituationReader(broker: client.broker, view: invocation.view).explain(details), invocation)
        return .done
    }

    private func found(_ client: SluiceClient, _ invocation: Invocation) async throws -> [OperationDetail] {
        let console = invocation.console
        let open = OperationState.allCases.filter { !$0.isTerminal }
        let walk = ListWalk(
            client.broker,
            try await selection.query(in: open, client),
            view: invocation.view,
            limit: limit,
            scanLimit: scanLimit.count ?? ScanLimit.builtIn,
            leavesOutAbsent: true
        )
        var details: [OperationDetail] = []
        let result = try await walk.run(from: nil) { details += $0 }
        console.warn(result.absent)
        result.unknownQueues.forEach(console.warn)
        if result.isCutShort {
            let scanned = QuantityText.grouped(result.scanned)
            console.note("\(scanned) operations were examined, and there are more: raise --scan-limit")
        } else if result.next != nil {
            console.note("there are more operations: raise --limit")
        } else if details.isEmpty {
            console.note("no operations")
        }
        return details
    }

    private func show(_ explanations: [Explanation], _ invocation: Invocation) {
        let console = invocation.console
        switch invocation.format {
        case .json, .jsonl: for explanation in explanations { console.print(explanation.json, invocation.format) }
        case .id: console.print(explanations.map(\.situation.id))
        case .csv: console.print(Self.table(explanations), .csv, showsHeader: invocation.options.showsHeader)
        case .table, .wide: console.print(Array(explanations.map(\.lines).joined(separator: [""])))
        }
    }

    /// A row for each reason.
    private static func table(_ explanations: [Explanation]) -> Table {
        var table = Table(["ID", "QUEUE", "NAME", "STATE", "REASON", "TEXT", "FIX"].map { TableColumn($0) })
        for explanation in explanations {
            let situation = explanation.situation
            let subject = [situation.id, situation.queue, situation.name, situation.state.rawValue]
            for (code, reason) in explanation.reasons {
                let cells = subject + [code, reason.text, reason.fix?.command ?? ""]
                table.append(cells.map { TableCell($0) })
            }
        }
        return table
    }
}
