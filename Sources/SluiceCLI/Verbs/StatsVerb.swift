import ArgumentParser
import Operations
import Sluice
import SluiceMonitor

package struct StatsVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "stats",
            abstract: "Show the numbers of the namespace: queues, what runs, workers.",
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
        let console = invocation.console
        if invocation.format.isJSON {
            console.print(StatsJSON.object(snapshot, namespace: client.namespace), invocation.format)
        } else {
            console.print(
                SnapshotText.lines(
                    snapshot,
                    title: "namespace \(client.namespace)",
                    target: console.isOutputTerminal ? .terminal(width: console.width) : .plain,
                    style: console.output
                )
            )
        }
        return .done
    }
}
