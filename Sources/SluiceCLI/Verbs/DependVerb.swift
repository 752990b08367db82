import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator

package struct DependVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "depend",
            abstract: "Change what an operation waits for, before it starts.",
            discussion: """
                EXAMPLES
                  \(Program.name) depend 7QK2MX --after 01J9ZM2QW3N8B5T4D7K6R1XYPE
                  \(Program.name) depend 7QK2MX --after images/01J9ZM2QW3N8B5T4D7K6R1XYPE:run
                  \(Program.name) depend 7QK2MX --not-after 01J9ZM2QW3N8B5T4D7K6R1XYPE

                --after works as in enqueue: the operation is blocked until these operations have ended as well. A \
                dependency that waits for this operation, directly or not, is refused. --not-after removes \
                dependencies. To start an operation without its dependencies: \(Program.name) release
                """
        )
    }

    @Argument(help: ArgumentHelp("The operation.", valueName: "id"))
    var id: String
    @Option(
        help: ArgumentHelp(
            "Add these dependencies, as --after of enqueue does; may be repeated.",
            valueName: "id[:policy]"
        ),
        transform: { try OperationDependency.list(typed: $0) }
    )
    var after: [[OperationDependency]] = []
    @Option(
        help: ArgumentHelp("Remove these dependencies; may be repeated.", valueName: "id"),
        transform: { try OperationDependency.list(typed: $0) }
    )
    var notAfter: [[OperationDependency]] = []
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard after.isEmpty, notAfter.isEmpty else { return }
        throw CLIError.usage("nothing to change", fix: "\(Program.name) depend ID --after ID")
    }

    /// The dependencies to remove, with their queues. Compares them with the operation's own list, since a dependency
    /// may no longer exist.
    private func known(
        _ dependencies: [OperationDependency],
        of detail: OperationDetail,
        _ client: SluiceClient
    ) async throws -> [OperationDependency] {
        guard !dependencies.isEmpty else { return [] }
        let needs = try await client.broker.edges(.needs, of: detail.id, queue: detail.queue)
        return try dependencies.flatMap { dependency in
            let found = needs.filter { need in
                need.id == dependency.id
                    && (dependency.queue == nil || (need.queue ?? detail.queue) == dependency.queue)
            }
            guard !found.isEmpty else {
                throw OperationsError(
                    .notFound,
                    "operation \(detail.id) does not wait for \(dependency.name)",
                    id: detail.id
                )
            }
            return found.map { OperationDependency($0.id, queue: $0.queue ?? detail.queue) }
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: "change what \(id) waits for")
        let client = try await invocation.connect()
        let detail = try await Locator(client).details([try IDReference(parsing: id)])[0]
        guard detail.links.group == nil else {
            throw CLIError(
                .refused,
                "\(detail.id) is a group: it waits for its members only",
                fix: "\(Program.name) group add \(detail.id) ID.."
            )
        }
        let lookup = DependencyLookup(client: client)
        let reference = OperationReference(id: detail.id, queue: detail.queue, isNew: false, client: client)
        try await client.change(
            reference,
            adding: try await lookup.complete(after.flatMap { $0 }, of: detail.queue),
            removing: try await known(notAfter.flatMap { $0 }, of: detail, client)
        )
        let state = try await reference.state()
        if invocation.format.isJSON {
            invocation.console.print(
                OperationJSON.object(try await reference.detail(), invocation.view),
                invocation.format
            )
        } else if invocation.format == .id {
            invocation.console.print(detail.id.description)
        } else {
            invocation.console.print("\(detail.id) is \(state.rawValue)")
        }
        return .done
    }
}
