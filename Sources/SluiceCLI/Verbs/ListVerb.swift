import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import TerminalText

package struct ListVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list",
            abstract: "List operations: executing ones first, ended ones last.",
            discussion: """
                EXAMPLES
                  \(Program.name) list
                  \(Program.name) list state:executing,retrying queue:mail
                  \(Program.name) list state:dead 'name:Send*' -tag:test -o jsonl
                  \(Program.name) list -t nightly
                  \(Program.name) list -o id state:executing tag:nightly | \(Program.name) cancel -

                Fields: state, queue, name, tag, priority, worker. A comma means or, a leading - means not, and * at the end of a value \
                matches anything: 'tag:v1*' also finds v10-prod, -t 'v1*' finds only the tag v1*. Name a worker by its name, its id or \
                the end of its id.

                On a terminal, list shows one page. In a pipe or a file it writes all operations.
                """,
            aliases: ["ls"]
        )
    }

    @Argument(help: ArgumentHelp("Select operations by FIELD:VALUE..", valueName: "query"))
    var query: [String] = []
    @Option(name: .shortAndLong, help: "Select by exactly this tag; may be repeated for any of several tags.")
    var tag: [String] = []
    @Option(help: "Show at most n operations (50 on a terminal, all in a pipe).")
    var limit: Int?
    @Option(help: "Continue after the previous page.")
    var cursor: String?
    @Option(help: "Examine at most n operations (100,000 on a terminal, all in a pipe).")
    var scanLimit: Int?
    @OptionGroup package var global: GlobalOptions

    /// The size of a page on a terminal.
    private static let page = 50

    package init() {}

    package func check() throws {
        guard limit ?? 1 > 0, scanLimit ?? 1 > 0 else {
            throw CLIError.usage("--limit and --scan-limit are at least 1", fix: "--limit 50")
        }
        _ = try parsed()
        _ = try cursor.map { text throws(CLIError) in try ListWalk.Position(text: text) }
    }

    private func parsed() throws(CLIError) -> OperationQuery {
        var parsed = try OperationQuery(parsing: query)
        if !tag.isEmpty { parsed.terms.append(.tags(tag)) }
        return parsed
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        var query = try parsed()
        let start = try cursor.map { text throws(CLIError) in try ListWalk.Position(text: text) }
        let client = try await invocation.connect()
        try await query.resolveWorkers(client)
        let isPaged = invocation.console.isOutputTerminal
        let walk = ListWalk(
            client: client,
            query: query,
            limit: limit ?? (isPaged ? Self.page : .max),
            scanLimit: scanLimit ?? (isPaged ? Selection.readingLimit : .max),
            leavesOutAbsent: true
        )
        var printer = ListPrinter(invocation)
        let result = try await walk.run(from: start) { printer.show($0) }
        printer.finish(cursor: result.next?.text, absent: result.absent)
        invocation.console.warn(result.absent)
        tell(result, invocation.console)
        return .done
    }

    /// Prints how to see more, as the last line of stderr.
    private func tell(_ result: ListWalk.Result, _ console: Console) {
        if let next = result.next, result.isCutShort {
            let (found, scanned) = (QuantityText.grouped(result.found), QuantityText.grouped(result.scanned))
            console.note(
                "\(found) of \(scanned) examined operations match, and there are more: --scan-limit, or --cursor \(next.text)"
            )
        } else if let next = result.next {
            console.note("more: --cursor \(next.text)")
        } else if result.found == 0 {
            console.note("no operations")
        }
    }
}
