import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct StatsVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "stats",
            abstract: "Show the namespace: queues, running operations, workers, and statistics over time.",
            discussion: """
                EXAMPLES
                  \(Program.name) stats
                  \(Program.name) stats --since 1h
                  \(Program.name) stats --since 24h -q mail -q images
                  \(Program.name) stats -o json | jq .counts.ready

                --since shows what happened in each queue: attempts that started, operations that finished or are dead \
                (FAILED), failed attempts that will be retried (RETRIED), the part of the attempts that failed (ERR), \
                wait and run times.
                IN/S and OUT/S are rates of the last 5 minutes. DONE IN is how long the waiting operations will take at \
                these rates, without new ones if none came in the last minute. grows: at least as many come in as go \
                out; stalled: none goes out, also because the queue is paused or no worker takes its operations; \
                retries: only failed operations wait, until they are retried. \
                Minutes are stored for 24 h, hours for 48 h, days for 30 d.
                Workers send statistics with their heartbeats, every 5 s, so the last seconds are missing, and the \
                last counts of a killed worker are lost. Percentiles are within a factor of 1.42.
                """
        )
    }

    @Option(help: "Show what happened in each queue since this long ago.", transform: DurationText.parse)
    var since: Duration?
    @Option(name: .shortAndLong, help: "With --since: show only this queue; may be repeated.")
    var queue: [String] = []
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard let since else {
            if queue.isEmpty { return }
            throw CLIError.usage("--queue needs --since", fix: "\(Program.name) stats --since 1h -q \(queue[0])")
        }
        _ = try StatisticsSpan(since: since, from: .minute)
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        if let since {
            let query = try StatisticsSpan(since: since, from: .minute).query
            let reader = try await StatisticsReader(client.broker, queue)
            let report = QueueStatisticsReport(
                rows: try await QueueStatisticsRow.read(reader, query),
                query: query,
                namespace: client.namespace,
                absent: reader.absent
            )
            report.print(invocation)
            return .done
        }
        let snapshot = try await client.snapshot(executingRows: 20)
        Self.print(snapshot, of: client, invocation)
        return .done
    }

    /// Prints a row for each queue, as `queue ls` does. No other table of these commands fits comma-separated values.
    static func printRows(of queues: [QueueSnapshot], _ invocation: Invocation) {
        let console = invocation.console
        if invocation.format == .id { return console.print(queues.map(\.queue)) }
        console.print(SnapshotText.queues(queues), invocation.format, showsHeader: invocation.options.showsHeader)
    }

    /// Prints the stats object or the tables, depending on the format. `monitor --once` calls this as well.
    static func print(_ snapshot: NamespaceSnapshot, of client: SluiceClient, _ invocation: Invocation) {
        let console = invocation.console
        defer {
            console.warn(snapshot.absent)
            console.warn(snapshot.refusals)
        }
        guard !invocation.format.isJSON else {
            return console.print(StatsJSON.object(snapshot, namespace: client.namespace), invocation.format)
        }
        guard invocation.format.isText else { return printRows(of: snapshot.queues, invocation) }
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
