import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator

package struct ResultVerb: Verb {
    package static let formats: Set<OutputFormat> = .json
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "result",
            abstract: "Print the stored result of an operation, which is JSON.",
            discussion: """
                EXAMPLES
                  \(Program.name) result 7QK2MX
                  \(Program.name) result 7QK2MX | jq .sha256

                Exit status: 1 dead, 2 cancelled or expired, 5 not ended.
                """
        )
    }

    @Argument(help: "Id, last characters of an id, text of an --id, or QUEUE/ID.")
    var id: String
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let reference = try IDReference(parsing: id)
        let client = try await invocation.connect()
        let detail = try await Locator(client).details([reference])[0]
        guard detail.state.isTerminal else {
            throw CLIError(
                .refused,
                "\(detail.id) has no result yet: it is \(detail.state.rawValue)",
                fix: "\(Program.name) wait \(detail.id)"
            )
        }
        let report = EndReport([detail])
        if let error = report.error { throw error }
        // Escapes make the value safe for a terminal; a program still reads the same value.
        let result = detail.result(invocation.view) ?? []
        if !result.isEmpty { invocation.console.print(OperationJSON.json(result).serialized()) }
        return .done
    }
}
