import ArgumentParser
import Operations
import Sluice
import SluiceMonitor

/// Operations named on the command line.
package struct Targets: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Ids, ends of ids, texts of --id, or QUEUE/ID; - reads them from stdin.", valueName: "id")
    )
    var ids: [String] = []

    package init() {}

    /// The references, each once; `-` stands for the lines of stdin.
    package func references() throws(CLIError) -> [IDReference] {
        var texts: [String] = []
        for id in ids { texts += id == "-" ? try Self.lines(of: InputFile.read("-")) : [id] }
        var references: [IDReference] = []
        var seen: Set<IDReference> = []
        for text in texts {
            let reference = try IDReference(parsing: text)
            if seen.insert(reference).inserted { references.append(reference) }
        }
        return references
    }

    private static func lines(of bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
    }
}

/// What became of each target, for output and exit status.
package struct TargetReport: Sendable {
    package struct Row: Sendable {
        package var reference: String
        package var location: Location?
        package var status: ExitStatus
        /// What happened: `cancelled`, `already finished 3m ago`.
        package var text: String
        /// For programs.
        package var outcome: String
        package var detail: OperationDetail?

        package init(
            reference: String,
            location: Location? = nil,
            status: ExitStatus = .done,
            text: String,
            outcome: String,
            detail: OperationDetail? = nil
        ) {
            self.reference = reference
            self.location = location
            self.status = status
            self.text = text
            self.outcome = outcome
            self.detail = detail
        }
    }

    package var rows: [Row]
    /// What was to be done, as a participle: `cancelled`.
    package var participle: String
    package var namespace: String
    package var fix: String?

    package init(_ rows: [Row], participle: String, namespace: String, fix: String? = nil) {
        self.rows = rows
        self.participle = participle
        self.namespace = namespace
        self.fix = fix
    }

    package var status: ExitStatus { .of(rows.map(\.status)) }

    package var json: JSONValue {
        [
            "v": 1,
            "results": .array(
                rows.map {
                    [
                        "id": .string($0.location?.id.description ?? $0.reference),
                        "queue": JSONValue($0.location?.queue),
                        "outcome": .string($0.outcome),
                        "state": JSONValue($0.detail?.state.rawValue),
                        "exit": .number($0.status.rawValue),
                        "message": .string($0.text),
                        "cancel": OperationJSON.cancel($0.detail?.cancel),
                    ]
                }
            ),
        ]
    }

    /// Prints the done ones to stdout, and the others as one error.
    package func print(_ invocation: Invocation) -> ExitStatus {
        let console = invocation.console
        switch invocation.format {
        case .json, .jsonl: console.print(json, invocation.format)
        case .id: console.print(rows.filter { $0.status == .done }.map { $0.location?.id.description ?? $0.reference })
        case .csv: console.print(table, .csv, showsHeader: invocation.options.showsHeader)
        case .table, .wide: console.print(rows.filter { $0.status == .done }.map { "\($0.shownID) \($0.text)" })
        }
        if let error { console.report(error, asJSON: invocation.format.isJSON) }
        return status
    }

    /// The done ones.
    private var table: Table {
        var table = Table(["ID", "QUEUE", "OUTCOME", "MESSAGE"].map { TableColumn($0) })
        for row in rows where row.status == .done {
            let cells = [row.shownID, row.location?.queue ?? "", row.outcome, row.text]
            table.append(cells.map { TableCell($0) })
        }
        return table
    }

    package var error: CLIError? {
        let refused = rows.filter { $0.status != .done }
        guard let first = refused.first else { return nil }
        guard rows.count > 1 else {
            if first.status == .notFound { return .notFound(first.reference, namespace: namespace) }
            return CLIError(first.status, "\(first.shownID) \(first.text)", fix: fix)
        }
        return CLIError(
            status,
            "\(refused.count) of \(rows.count) not \(participle)",
            notes: refused.map { "\($0.shownID) \($0.text)" },
            fix: fix
        )
    }
}

extension TargetReport.Row {
    package var shownID: String { location?.id.description ?? reference }

    /// The row of a reference that leads to no single operation.
    package init?(_ finding: Locator.Finding, of reference: IDReference) {
        switch finding {
        case .found: return nil
        case .notFound:
            self.init(reference: reference.shown, status: .notFound, text: "is unknown", outcome: "unknown")
        case .ambiguous(let locations):
            let ids = locations.prefix(5).map { "\($0.queue)/\($0.id)" }.joined(separator: " ")
            self.init(
                reference: reference.shown,
                status: .usage,
                text: "names \(locations.count) operations: \(ids)\(locations.count > 5 ? " …" : "")",
                outcome: "ambiguous"
            )
        }
    }
}

extension CLIError {
    package static func notFound(_ reference: String, namespace: String) -> CLIError {
        CLIError(
            .notFound,
            "no operation \(reference) (namespace \"\(namespace)\")",
            notes: ["searched: executing, due, dead, newest \(Locator.newest) of each other place"],
            fix:
                "the full id (\(Program.name) list -o id); an untracked operation has a record only once it failed or was cancelled"
        )
    }
}
