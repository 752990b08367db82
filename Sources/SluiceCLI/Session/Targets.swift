import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// Operations that are named on the command line.
package struct Targets: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Ids, last characters of ids, texts of --id, or QUEUE/ID; - reads them from stdin.",
            valueName: "id"
        )
    )
    var ids: [String] = []

    package init() {}

    /// The references without duplicates. `-` reads words from stdin.
    package func references() throws(CLIError) -> [IDReference] {
        var texts: [String] = []
        for id in ids { texts += id == "-" ? try Self.words(of: InputFile.read("-", limit: .max - 1)) : [id] }
        var references: [IDReference] = []
        var seen: Set<IDReference> = []
        for text in texts {
            let reference = try IDReference(parsing: text)
            if seen.insert(reference).inserted { references.append(reference) }
        }
        return references
    }

    private static func words(of bytes: [UInt8]) -> [String] {
        bytes.split { $0 == UInt8(ascii: " ") || (9...13).contains($0) }.map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The outcomes of targets, for output and exit status.
package struct TargetReport: Sendable {
    package struct Row: Sendable {
        package var reference: String
        package var location: Location?
        package var status: ExitStatus
        /// The outcome as text: `cancelled`, `already finished 3m ago`.
        package var text: String
        /// The outcome for programs.
        package var outcome: String
        /// The kind of outcome, for counts: `already finished`.
        package var kind: String
        package var detail: OperationDetail?

        package init(
            reference: String,
            location: Location? = nil,
            status: ExitStatus = .done,
            text: String,
            outcome: String,
            kind: String? = nil,
            detail: OperationDetail? = nil
        ) {
            self.kind = kind ?? outcome
            self.reference = reference
            self.location = location
            self.status = status
            self.text = text
            self.outcome = outcome
            self.detail = detail
        }
    }

    package var rows: [Row]
    /// The change as a participle: `cancelled`.
    package var participle: String
    package var namespace: String
    package var fix: String?

    package init(_ rows: [Row], participle: String, namespace: String, fix: String? = nil) {
        self.rows = rows
        self.participle = participle
        self.namespace = namespace
        self.fix = fix
    }

    package var error: CLIError? {
        TargetSummary(rows).error(participle: participle, namespace: namespace, fix: fix)
    }

    /// A table of rows, for programs that read columns.
    static func table(_ rows: [Row]) -> Table {
        var table = Table(["ID", "QUEUE", "OUTCOME", "MESSAGE"].map { TableColumn($0) })
        for row in rows {
            let cells = [row.shownID, row.location?.queue ?? "", row.outcome, row.text]
            table.append(cells.map { TableCell($0) })
        }
        return table
    }
}

extension TargetReport.Row {
    package var shownID: String { location?.id.description ?? reference }

    package var json: JSONValue {
        [
            "id": .string(shownID),
            "queue": JSONValue(location?.queue),
            "outcome": .string(outcome),
            "state": JSONValue(detail?.state.rawValue),
            "exit": .number(status.rawValue),
            "message": .string(text),
            "cancel": OperationJSON.cancel(detail?.cancel),
        ]
    }

    /// Makes the row of a reference that does not name exactly one operation; nil for one that does.
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
                text: "matches \(locations.count) operations: \(ids)\(locations.count > 5 ? " …" : ""); "
                    + "give one of these",
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
            notes: [
                "searched: executing, due and dead operations, and the newest \(Locator.newest) of each other place"
            ],
            fix:
                "use the full id (\(Program.name) list -o id); an untracked operation has a record only if it failed or was cancelled"
        )
    }
}
