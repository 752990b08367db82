import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import TerminalText

package struct ListVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list",
            abstract: "List operations: what runs first, what is over last.",
            discussion: """
                EXAMPLES
                  \(Program.name) list
                  \(Program.name) list state:executing,retrying queue:mail
                  \(Program.name) list state:dead 'name:Send*' -tag:test -o jsonl
                  \(Program.name) list -t nightly
                  \(Program.name) list -o id state:executing tag:nightly | \(Program.name) cancel -

                Fields: state, queue, name, tag, priority, worker. A comma means or, - in front means not, * stands for anything at
                the end: 'tag:v1*' finds v10-prod too, -t 'v1*' only what has the tag v1*. A worker is named as tables print it: by its
                name, its id or the end of its id.

                On a terminal list shows a page; into a pipe or a file it writes all, page by page.
                """,
            aliases: ["ls"]
        )
    }

    @Argument(help: ArgumentHelp("Which ones: FIELD:VALUE..", valueName: "query"))
    var query: [String] = []
    @Option(name: .shortAndLong, help: "Those with exactly this tag; may be repeated, then with any of them.")
    var tag: [String] = []
    @Option(help: "Most operations to show: 50 on a terminal, all in a pipe unless given.")
    var limit: Int?
    @Option(help: "Go on where the page before ended.")
    var cursor: String?
    @Option(help: "Most operations to look at: 100,000 on a terminal, all in a pipe unless given.")
    var scanLimit: Int?
    @OptionGroup package var global: GlobalOptions

    /// Operations that a terminal gets at once.
    private static let page = 50

    package init() {}

    package func check() throws {
        guard limit ?? 1 > 0, scanLimit ?? 1 > 0 else {
            throw CLIError.usage("a limit is at least 1", fix: "--limit 50")
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

    /// What was not shown, in the last line of stderr.
    private func tell(_ result: ListWalk.Result, _ console: Console) {
        if let next = result.next, result.isCutShort {
            let (found, scanned) = (QuantityText.grouped(result.found), QuantityText.grouped(result.scanned))
            console.note(
                "\(found) match of \(scanned) looked at, and there are more: --scan-limit, or --cursor \(next.text)"
            )
        } else if let next = result.next {
            console.note("more: --cursor \(next.text)")
        } else if result.found == 0 {
            console.note("no operations")
        }
    }
}
