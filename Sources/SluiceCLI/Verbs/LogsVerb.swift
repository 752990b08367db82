import ArgumentParser
import Operations
import Sluice

package struct LogsVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "logs",
            abstract: "Print the log of an operation.",
            discussion: """
                EXAMPLES
                  \(Program.name) logs 7QK2MX
                  \(Program.name) logs 7QK2MX -f
                """
        )
    }

    @Argument(help: "Id, end of an id, or QUEUE/ID.")
    var id: String
    @Flag(name: .shortAndLong, help: "Go on until the operation ended.")
    var follow = false
    @Option(name: [.customShort("n"), .long], help: "Only the newest lines.")
    var lines: Int?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard lines.map({ $0 >= 0 }) ?? true else { throw CLIError.usage("-n is negative", fix: "-n 100") }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let reference = try IDReference(parsing: id)
        let client = try await invocation.connect()
        let detail = try await Locator(client).details([reference])[0]
        let location = Location(queue: detail.queue, id: detail.id)
        let log = LogFollower(client, invocation)
        if follow { try await log.follow(location, last: lines) } else { try await log.print(location, last: lines) }
        return .done
    }
}
