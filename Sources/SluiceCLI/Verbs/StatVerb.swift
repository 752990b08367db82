import ArgumentParser
import Operations
import Sluice
import SluiceMonitor

package struct StatVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "stat",
            abstract: "Print a line of numbers again and again.",
            discussion: """
                EXAMPLES
                  \(Program.name) stat
                  \(Program.name) stat -i 5s -o jsonl

                in/s and out/s are the growth of the stored totals between two readings.
                """
        )
    }

    @Option(name: .shortAndLong, help: "Time between two lines.", transform: DurationText.parse)
    var interval: Duration = .seconds(1)
    @Option(name: [.customShort("n"), .long], help: "End after so many lines.")
    var count: Int?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard interval >= .milliseconds(100) else {
            throw CLIError.usage("the interval is shorter than 100 ms", fix: "-i 1s")
        }
        guard count.map({ $0 > 0 }) ?? true else { throw CLIError.usage("-n is at least 1", fix: "-n 10") }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        var rates = NamespaceRates()
        var lines = 0
        while true {
            do {
                let snapshot = try await client.snapshot(executingRows: 0)
                rates.add(snapshot)
                let line = StatLine(snapshot, rates: rates.sum)
                if invocation.format.isJSON {
                    invocation.console.print(line.json(namespace: client.namespace), .jsonl)
                } else {
                    invocation.console.print(line.text)
                }
                lines += 1
            } catch let error as OperationsError where error.code == .unavailable {
                // A stream of numbers outlives an outage; the gap shows in the times.
                invocation.console.warn(SafeText.line(error.message))
            }
            if let count, lines >= count { return .done }
            try await Task.sleep(for: interval)
        }
    }
}
