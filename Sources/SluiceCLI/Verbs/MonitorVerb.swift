import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct MonitorVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "monitor",
            abstract: "Watch queues, running operations and workers; cancel and pause from there.",
            discussion: """
                EXAMPLES
                  \(Program.name) monitor
                  \(Program.name) monitor --once
                  \(Program.name) monitor --until-idle

                Keys: j k move, Enter opens, c cancels, P pauses the queue, ? shows all keys, q quits.
                Without a terminal, with TERM=dumb, or with --once, monitor prints one snapshot. With --until-idle it ends when no \
                operation waits or runs; without a terminal it then prints the running operations at each interval.
                """
        )
    }

    @Option(name: .shortAndLong, help: "Read Redis at this interval, 250ms to 60s.", transform: DurationText.parse)
    var interval: Duration = .seconds(1)
    @Flag(help: "Print one snapshot and end.")
    var once = false
    @Flag(help: "End when no operation waits or runs.")
    var untilIdle = false
    @OptionGroup package var global: GlobalOptions

    /// The number of executing operations to read for each queue.
    private static let executingRows = 200

    package init() {}

    package var formats: Set<OutputFormat> { untilIdle ? .json : Self.formats }

    package func check() throws {
        guard (.milliseconds(250) ... .seconds(60)).contains(interval) else {
            throw CLIError.usage("--interval is \(DurationText.exact(interval)); expected 250ms to 60s", fix: "-i 1s")
        }
        guard !(once && untilIdle) else {
            throw CLIError.usage("--once and --until-idle exclude each other", fix: "drop one of them")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        if !once, invocation.format == .table, let terminal = Terminal() {
            return try await watch(client, on: terminal, invocation)
        }
        if untilIdle {
            try await follow(client, invocation)
        } else {
            StatsVerb.print(try await client.snapshot(executingRows: Self.executingRows), of: client, invocation)
        }
        return .done
    }

    private func watch(_ client: SluiceClient, on terminal: Terminal, _ invocation: Invocation) async throws
        -> ExitStatus
    {
        let options = MonitorOptions(
            namespace: client.namespace,
            place: invocation.settings.redis.content?.description ?? "embedded redis",
            interval: interval,
            isReadOnly: invocation.settings.readOnly.content,
            endsWhenIdle: untilIdle,
            identity: SluiceClient.identity,
            view: invocation.view,
            style: invocation.console.output
        )
        let status = await Monitor.run(client.broker, on: terminal, options: options)
        if untilIdle, status == ExitStatus.done.rawValue {
            // The monitor clears the screen at its end, so a summary is printed.
            let snapshot = try await client.snapshot(executingRows: 0)
            invocation.console.print(StatLine(snapshot, rates: Rates()).summary)
        }
        return ExitStatus(rawValue: status) ?? .terminated
    }

    /// Prints the running operations at each interval, without a terminal.
    private func follow(_ client: SluiceClient, _ invocation: Invocation) async throws {
        let console = invocation.console
        let stream = SnapshotStream(client.broker, interval: interval, executingRows: Self.executingRows)
        try await stream.run(note: { console.warn($0) }) { snapshot, rates in
            if invocation.format.isJSON {
                console.print(StatLine(snapshot, rates: rates).json(namespace: client.namespace), .jsonl)
            } else {
                let (style, view) = (console.output, invocation.view)
                console.print(ProgressLines.lines(snapshot, rates: rates, style: style, view: view))
            }
            return !snapshot.isIdle
        }
    }
}
