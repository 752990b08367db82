import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct GraphVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "graph",
            abstract: "Show what an operation depends on and what depends on it.",
            discussion: """
                EXAMPLES
                  \(Program.name) graph 7QK2MX
                  \(Program.name) graph 7QK2MX --dot | dot -Tsvg > graph.svg
                  \(Program.name) graph 7QK2MX -o json

                Reads dependencies and dependents, the nearest operations first. The tree shows each operation below \
                its dependencies. An operation that appears again has the mark ↑: its dependents are drawn above. Of \
                many siblings, 20 are drawn and the others are counted by state. The critical path is the path whose \
                runs took longest in all. The estimated end is the longest chain of median runs of the last day, without \
                waits for slots, limits and pauses. \(Program.name) explain says why an operation waits.
                """
        )
    }

    @Argument(help: ArgumentHelp("The operation.", valueName: "id"))
    var id: String
    @Flag(help: "Print the graph for Graphviz.")
    var dot = false
    @Option(help: "Read at most n operations (1000).")
    var limit = 1000
    @OptionGroup package var global: GlobalOptions

    private static let most = 20_000

    package init() {}

    package func check() throws {
        guard (1...Self.most).contains(limit) else {
            throw CLIError.usage("--limit is \(limit); expected 1 to \(Self.most)", fix: "--limit 1000")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        let detail = try await Locator(client).details([try IDReference(parsing: id)])[0]
        guard let graph = try await client.broker.graph(of: detail.id, queue: detail.queue, limit: limit) else {
            throw OperationsError(.notFound, "\(detail.id) was removed while its graph was read", id: detail.id)
        }
        try await show(graph, of: detail, client, invocation)
        if graph.isCutShort { invocation.console.note("there are more operations: raise --limit") }
        return .done
    }

    private func show(
        _ graph: OperationGraph,
        of detail: OperationDetail,
        _ client: SluiceClient,
        _ invocation: Invocation
    ) async throws {
        let console = invocation.console
        let drawing = GraphDrawing(graph, of: detail, view: invocation.view)
        guard !dot else { return console.print(drawing.dot) }
        switch invocation.format {
        case .json, .jsonl:
            console.print(graph.json(of: detail, try await client.broker.estimate(of: graph)), invocation.format)
        case .id: console.print(graph.order.map { $0.queue == detail.queue ? $0.id.description : $0.description })
        case .csv:
            console.print(drawing.table, .csv, showsHeader: invocation.options.showsHeader)
        case .table, .wide:
            console.print(drawing.lines(console.output))
            let estimate = try await client.broker.estimate(of: graph)
            if let estimate, estimate.ending != nil { console.print(estimate.text) }
        }
    }
}
