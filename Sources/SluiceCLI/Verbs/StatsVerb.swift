import ArgumentParser
import Operations
import Sluice
import SluiceMonitor

package struct StatsVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "stats",
            abstract: "Show statistics of the namespace: queues, running operations, workers.",
            discussion: """
                EXAMPLES
                  \(Program.name) stats
                  \(Program.name) stats -o json | jq .counts.ready
                """
        )
    }

    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        let snapshot = try await client.snapshot(executingRows: 20)
        Self.print(snapshot, of: client, invocation)
        return .done
    }

    /// Prints the stats object or tables, depending on the format. `monitor --once` uses it as well.
    static func print(_ snapshot: NamespaceSnapshot, of client: SluiceClient, _ invocation: Invocation) {
        let console = invocation.console
        defer { console.warn(snapshot.absent) }
        guard !invocation.format.isJSON else {
            return console.print(StatsJSON.object(snapshot, namespace: client.namespace), invocation.format)
        }
        console.print(
            SnapshotText.lines(
                snapshot,
                title: "namespace \(client.namespace)",
                target: console.isOutputTerminal ? .terminal(width: console.width) : .plain,
                style: console.output,
                view: invocation.view
            )
        )
    }
}
