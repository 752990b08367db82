import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct StatVerb: Verb {
    package static let formats: Set<OutputFormat> = .json
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "stat",
            abstract: "Print a line of statistics every interval.",
            discussion: """
                EXAMPLES
                  \(Program.name) stat
                  \(Program.name) stat -i 5s -o jsonl

                in/s and out/s are the growth of the stored totals between two lines. Without -n, stat runs until it is stopped; SIGTERM \
                ends it at once with exit status 0.
                """
        )
    }

    @Option(name: .shortAndLong, help: "Print a line at this interval.", transform: DurationText.parse)
    var interval: Duration = .seconds(1)
    @Option(name: [.customShort("n"), .long], help: "End after n lines.")
    var count: Int?
    @OptionGroup package var global: GlobalOptions

    /// The number of lines between two headers, on a terminal.
    private static let linesPerHeader = 20

    package init() {}

    package func check() throws {
        guard interval >= .milliseconds(100) else {
            throw CLIError.usage("--interval is \(DurationText.exact(interval)); expected at least 100ms", fix: "-i 1s")
        }
        if let count, count < 1 { throw CLIError.usage("-n is \(count); expected at least 1", fix: "-n 10") }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        if count == nil { EndingSignals.terminateWithSuccess() }
        let client = try await invocation.connect()
        let console = invocation.console
        var lines = 0
        try await SnapshotStream(client.broker, interval: interval).run(note: { console.warn($0) }) { snapshot, rates in
            let line = StatLine(snapshot, rates: rates)
            if invocation.format.isJSON {
                console.print(line.json(namespace: client.namespace), .jsonl)
            } else {
                if console.isOutputTerminal, lines.isMultiple(of: Self.linesPerHeader) { console.print(header(client)) }
                console.print(line.text)
            }
            lines += 1
            return count.map { lines < $0 } ?? true
        }
        return .done
    }

    private func header(_ client: SluiceClient) -> String {
        "namespace \(client.namespace), every \(DurationText.exact(interval)); fail = failed and to be retried"
    }
}
