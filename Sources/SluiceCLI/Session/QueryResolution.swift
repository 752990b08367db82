import Operations
import Selectors
import Sluice
import SluiceMonitor

extension OperationQuery {
    /// Replaces what Redis has to be asked for: names of workers by ids, and groups by their members.
    ///
    /// - Throws: `CLIError` if a value names no worker or no group, or several.
    mutating func resolve(_ client: SluiceClient) async throws {
        try await resolveWorkers(client)
        try await resolveGroups { text in
            let group = try await Locator(client).details([try IDReference(parsing: text)])[0]
            guard group.isGroup else {
                throw CLIError(
                    .notFound,
                    "operation \(group.id) in queue \(group.queue) is no group",
                    fix: "\(Program.name) group ls"
                )
            }
            return try await client.broker.members(of: group.id, queue: group.queue)
        }
    }
}
