import ArgumentParser
import Operations
import Sluice
import SluiceMonitor

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
                """,
            aliases: ["ls"]
        )
    }

    @Argument(help: ArgumentHelp("Which ones: FIELD:VALUE..", valueName: "query"))
    var query: [String] = []
    @Option(name: .shortAndLong, help: "Those with exactly this tag; may be repeated, then with any of them.")
    var tag: [String] = []
    @Option(help: "Most operations to show.")
    var limit = 50
    @Option(help: "Go on where the page before ended.")
    var cursor: String?
    @Option(help: "Most operations to look at.")
    var scanLimit = 100_000
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard limit > 0, scanLimit > 0 else { throw CLIError.usage("a limit is at least 1", fix: "--limit 50") }
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
        let walk = ListWalk(client: client, query: query, limit: limit, scanLimit: scanLimit)
        let result = try await walk.run(from: start)
        show(result.operations, next: result.next?.text, invocation)
        tell(result, query, invocation.console)
        return .done
    }

    private func show(_ operations: [OperationDetail], next: String?, _ invocation: Invocation) {
        let console = invocation.console
        let view = invocation.view
        switch invocation.format {
        case .json:
            let all = operations.map { OperationJSON.object($0, view) }
            console.print(["v": 1, "operations": .array(all), "cursor": JSONValue(next)], .json)
        case .jsonl: console.print(operations.map { OperationJSON.object($0, view).serialized() })
        case .id: console.print(operations.map(\.id.description))
        case .table, .wide, .csv:
            let table = OperationTable(operations, invocation)
            if invocation.format == .csv { return console.print(table.csv) }
            if !operations.isEmpty {
                console.print(table.table, invocation.format, showsHeader: invocation.options.showsHeader)
            }
        }
    }

    /// What was not shown, on stderr.
    private func tell(_ result: ListWalk.Result, _ query: OperationQuery, _ console: Console) {
        if query.filtersRows, result.scanned >= scanLimit {
            let scanned = QuantityText.grouped(result.scanned)
            console.note("\(result.operations.count) matches in \(scanned) looked at; more with --scan-limit")
        }
        if let next = result.next {
            console.note("more: --cursor \(next.text)")
        } else if result.operations.isEmpty {
            console.note("no operations")
        }
    }
}
