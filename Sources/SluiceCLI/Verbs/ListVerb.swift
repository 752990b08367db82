import ArgumentParser
import Operations
import Selectors
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct ListVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

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
                  \(Program.name) list args.user.id:42 'age:<1h' 'priority:>=high'
                  \(Program.name) list state:dead,retrying 'error:"timed out"'
                  \(Program.name) list group:7QK2MX state:dead
                  \(Program.name) list -o id state:executing tag:nightly | \(Program.name) cancel -

                Fields of a query:
                  state, queue, name, tag   compared as they are: 'tag:v1*' also finds v10-prod, -t 'v1*' finds only the tag v1*
                  priority                  veryLow, low, normal, high or veryHigh, also with >= > <= <: 'priority:>=high'
                  age                       since the start, the end, or else the enqueue: 'age:>10m', 'age:<2h'
                  group                     a group that it is a member of: the id, the end of it, or QUEUE/ID
                  unique, limitKey          the unique key or the limit key that it has
                  schedule                  the schedule that has enqueued it
                  worker                    a worker's name, its id or the end of its id
                  id                        an id, the text of --id, or QUEUE/ID, which are looked up at once; the last 6 or more
                                            characters of an id, or its beginning: 'id:01J9*'
                  args.PATH                 a value in the arguments: args.user.id:42, 'args.to:*@example.com', 'args.n:>=41', 'args."a.b":x'
                  error                     text in the last error
                  signature                 the last error as sluice errors groups it: 'signature:"SMTP: status 550*"'
                  text                      text in name, tags, arguments, last error or progress; also a word without a field;
                                            a whole id, or … and the end of one, is id:ID also without a field

                Terms are joined by "and". A comma means or, a leading - means not, * matches anything, and quotes keep blanks, \
                commas and * as they are. The last line on stderr says how many operations were examined.

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
    @OptionGroup var scanLimit: ScanLimit
    @OptionGroup package var global: GlobalOptions

    /// The size of a page on a terminal.
    private static let page = 50

    package init() {}

    package func check() throws {
        if let limit, limit < 1 {
            throw CLIError.usage("--limit is \(limit); expected at least 1", fix: "--limit 50")
        }
        try scanLimit.check()
        _ = try parsed()
        _ = try cursor.map { text throws(QueryError) in try ListWalk.Position(text: text) }
    }

    private func parsed() throws(CLIError) -> OperationQuery { try OperationQuery(typed: query, tags: tag) }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        var query = try parsed()
        let start = try cursor.map { text throws(QueryError) in try ListWalk.Position(text: text) }
        let client = try await invocation.connectReadingClock()
        try await query.resolve(client)
        let isPaged = invocation.console.isOutputTerminal
        let walk = ListWalk(
            client.broker,
            query,
            view: invocation.view,
            limit: limit ?? (isPaged ? Self.page : .max),
            scanLimit: scanLimit.count ?? (isPaged ? ScanLimit.builtIn : .max),
            leavesOutAbsent: true
        )
        var printer = ListPrinter(invocation)
        let result: ListWalk.Result
        do { result = try await walk.run(from: start) { printer.show($0) } } catch {
            printer.printKept()
            throw error
        }
        printer.finish(cursor: result.next?.text, absent: result.absent)
        invocation.console.warn(result.absent)
        result.unknownQueues.forEach(invocation.console.warn)
        tell(result, invocation.console)
        return .done
    }

    /// Prints the search result as the last line of stderr, with the options that show more.
    private func tell(_ result: ListWalk.Result, _ console: Console) {
        let matches = "\(QuantityText.grouped(result.found)) match"
        let coverage = result.coverage.map { "\(matches); \($0)" }
        if let next = result.next, result.isCutShort {
            let examined = "\(matches); scanned \(QuantityText.grouped(result.scanned))"
            console.note("\(coverage ?? examined); more: --scan-limit, or --cursor \(next.text)")
        } else if let next = result.next {
            console.note((coverage.map { $0 + "; " } ?? "") + "more: --cursor \(next.text)")
        } else if let coverage {
            console.note(coverage)
        } else if result.found == 0 {
            console.note("no operations")
        }
    }
}
