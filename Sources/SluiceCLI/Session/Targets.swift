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

extension OperationOutcome {
    package var status: ExitStatus { ExitStatus(rawValue: result.rawValue) ?? .bug }

    /// A table of outcomes, for programs that read columns.
    static func table(_ outcomes: [OperationOutcome]) -> Table {
        var table = Table(["ID", "QUEUE", "OUTCOME", "MESSAGE"].map { TableColumn($0) })
        for outcome in outcomes {
            let cells = [outcome.shownID, outcome.address?.queue ?? "", outcome.name, outcome.text]
            table.append(cells.map { TableCell($0) })
        }
        return table
    }
}

extension OutcomeSummary {
    package var status: ExitStatus { .of(results.map { ExitStatus(rawValue: $0.rawValue) ?? .bug }) }

    /// The error for the refused operations; nil if all were changed.
    ///
    /// - Parameter participle: the change: `cancelled`.
    package func error(participle: String, namespace: String, fix: String? = nil) -> CLIError? {
        guard let first = firstRefused else { return nil }
        guard total > 1 else {
            if first.result == .unknown { return .notFound(first.reference, namespace: namespace) }
            return CLIError(first.status, "\(first.shownID) \(first.text)", fix: fix)
        }
        let numbers = "\(QuantityText.grouped(refusedCount)) of \(QuantityText.grouped(total))"
        return CLIError(status, "\(numbers) not \(participle)", notes: notes, fix: fix)
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
