import ArgumentParser
import Operations
import Sluice
import SluiceOperator
import TerminalText

package struct GroupOpenVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.adds

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "open",
            abstract: "Open a group, and print its id.",
            discussion: """
                EXAMPLES
                  id=$(\(Program.name) group open nightly)
                  \(Program.name) group open import -q imports --id import-2026-01-31 -t import
                  \(Program.name) group open part --group $id
                  \(Program.name) group open nightly --lease 5m --if-abandoned cancel

                With an --id that exists, open prints the existing group, which does not change. A group that has \
                finished, expired or was cancelled accepts no more members, so it is refused (5). If an open group is \
                not closed and gets no new member for the time of --lease, a worker of its queue closes or cancels it, \
                as --if-abandoned says. Members may be in any queues.
                """
        )
    }

    @Argument(help: "Name the group: 1 to 128 letters, digits, '.', '_' or '-'.") var name: String
    @Option(name: .shortAndLong, help: "Keep the group in this queue (default).") var queue = SluiceDefaults.queue
    @Option(help: ArgumentHelp("Set the id, or any text: the same text is the same group.", valueName: "key"))
    var id: String?
    @Option(name: [.short, .customLong("tag")], help: "Add a tag; may be repeated.") var tag: [String] = []
    @Option(help: ArgumentHelp("Make the new group a member of this group; may be repeated.", valueName: "group"))
    var group: [String] = []
    @Option(help: "Expire if it has not ended within this time, for example 2h.", transform: DurationText.parse)
    var expires: Duration?
    @Option(
        help: ArgumentHelp(
            "Close (default) or cancel an abandoned group; see --lease.",
            valueName: "close|cancel"
        )
    )
    var ifAbandoned: AbandonedGroupPolicy = .close
    @Option(
        help: "Treat the group as abandoned if nothing is added for this time, 1s to 7d (1h).",
        transform: DurationText.parse
    )
    var lease: Duration = .seconds(3600)
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        try NameRule.check(name, role: "group")
        try NameRule.check(queue, role: "queue")
        guard id != "" else { throw CLIError.usage("--id is empty", fix: "--id nightly-2026-01-31") }
        for text in group { _ = try IDReference(parsing: text) }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        let client = try await invocation.connect()
        var options = EnqueueOptions(.queue(queue))
        options.tags = tag
        options.expires = expires
        options.groups = try await outer(client)
        let id = id.map { OperationID(key: $0) } ?? OperationID()
        let group = try await client.openGroup(name, id: id, options, ifAbandoned, lease: lease)
        if !group.isNew { try await note(group, invocation) }
        let console = invocation.console
        if invocation.format.isJSON {
            console.print(SingleEnqueue.json(group.reference, name), invocation.format)
        } else {
            console.print(group.id.description)
        }
        return .done
    }

    private func outer(_ client: SluiceClient) async throws -> [DependencyName] {
        let references = try group.map { text throws(CLIError) in try IDReference(parsing: text) }
        guard !references.isEmpty else { return [] }
        return try await GroupLookup(client: client).find(references).map { DependencyName($0.id, queue: $0.queue) }
    }

    private func note(_ group: OperationGroup, _ invocation: Invocation) async throws {
        let state = GroupSummary(try await group.reference.detail())?.stateText ?? "gone"
        invocation.console.note("\(group.id) exists already, \(state); nothing was changed")
    }
}

extension AbandonedGroupPolicy: ExpressibleByArgument {}
