import ArgumentParser
import Operations
import Selectors
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct ErrorsVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "errors",
            abstract: "Group dead and retrying operations by their last error.",
            discussion: """
                EXAMPLES
                  \(Program.name) errors
                  \(Program.name) errors queue:mail 'age:<1h'
                  \(Program.name) errors 'name:Send*' --limit 5 -o json
                  \(Program.name) retry -w 'state:dead error:"timed out"' --dry-run

                Errors that differ only in counts, ids, times, addresses and quoted texts form one group. Codes (HTTP \
                404, exit code 3) and a quoted name after the word that introduces it (column "price", KeyError: \
                'email') keep groups apart. FIRST and LAST are the times of the first and the last failure of a group; \
                FIRST counts earlier attempts too. A query has the fields of list; with state: it may select other \
                states.
                """
        )
    }

    @Argument(help: ArgumentHelp("Select operations by FIELD:VALUE..", valueName: "query"))
    var query: [String] = []
    @Option(name: .shortAndLong, help: "Select by exactly this tag; may be repeated for any of several tags.")
    var tag: [String] = []
    @Option(help: "Show at most n groups, the largest first (20).")
    var limit = 20
    @OptionGroup var scanLimit: ScanLimit
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard limit > 0 else {
            throw CLIError.usage("--limit is \(limit); expected at least 1", fix: "--limit 20")
        }
        try scanLimit.check()
        _ = try OperationQuery(typed: query, tags: tag)
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let query = try OperationQuery(typed: query, tags: tag)
        let client = try await invocation.connectReadingClock()
        let reading = try await ErrorReading.read(
            client.broker,
            query,
            view: invocation.view,
            scanLimit: scanLimit.count ?? ScanLimit.builtIn
        )
        let (groups, result) = (reading.groups, reading.result)
        ErrorReport(groups: groups, limit: limit, result: result).print(invocation)
        invocation.console.warn(result.absent)
        result.unknownQueues.forEach(invocation.console.warn)
        return .done
    }
}

/// Prints groups of errors: `docs/schema/errors.json`.
struct ErrorReport: Sendable {
    let groups: ErrorGroups
    let limit: Int
    let result: ListWalk.Result

    func print(_ invocation: Invocation) {
        let console = invocation.console
        let all = groups.sorted
        let shown = Array(all.prefix(limit))
        let samples = shown.compactMap { $0.sample?.id }
        invocation.print(RowReport(shown), names: samples.map(\.description), shortIDs: samples) {
            self.groups.json($0, result)
        }
        console.note(note(all, shown: shown.count))
    }

    private func note(_ all: [ErrorGroup], shown: Int) -> String {
        let noun = groups.operations == 1 ? "operation" : "operations"
        let numbers = "\(QuantityText.grouped(groups.operations)) \(noun) with \(QuantityText.grouped(all.count))"
        var parts = [all.isEmpty ? "no errors" : "\(numbers) \(all.count == 1 ? "error" : "different errors")"]
        if shown < all.count { parts.append("\(shown) shown: --limit") }
        if let coverage = result.coverage { parts.append(coverage) }
        if result.isCutShort { parts.append("more: --scan-limit") }
        return parts.joined(separator: "; ")
    }
}
