import ArgumentParser
import Operations
import Sluice
import SluiceOperator

/// The argument that names a group.
package struct GroupTarget: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Id of the group, last characters of the id, text of --id, or QUEUE/ID.",
            valueName: "group"
        )
    )
    var group: String

    package init() {}

    func check() throws(CLIError) { _ = try IDReference(parsing: group) }

    /// Finds the group, with its details.
    ///
    /// - Throws: `CLIError` with `.notFound` if the operation does not exist or is not a group; `.usage` if several
    ///   operations match.
    func find(_ client: SluiceClient) async throws -> GroupSummary {
        try await GroupLookup(client: client).find([try IDReference(parsing: group)])[0]
    }
}

/// Finds groups, and adds operations to groups before they are enqueued.
struct GroupLookup: Sendable {
    let client: SluiceClient

    /// Finds the groups with these names, in order.
    func find(_ references: [IDReference]) async throws -> [GroupSummary] {
        try await Locator(client).details(references).map { detail throws(CLIError) in
            guard let summary = GroupSummary(detail) else {
                throw CLIError(
                    .notFound,
                    "operation \(detail.id) in queue \(detail.queue) is not a group",
                    fix: "\(Program.name) group ls"
                )
            }
            return summary
        }
    }

    /// Adds the operations to their groups, or makes them callbacks. A callback is enqueued into the queue of its
    /// group.
    ///
    /// - Throws: `CLIError` if a group does not exist or is not a group, or if the group of a callback has ended.
    func complete(_ requests: inout [EnqueueInput]) async throws {
        let references = Array(Set(requests.flatMap { $0.groups + ($0.callback.map { [$0.group] } ?? []) }))
        guard !references.isEmpty else { return }
        let found = Dictionary(uniqueKeysWithValues: zip(references, try await find(references)))
        for index in requests.indices {
            do throws(CLIError) { try requests[index].enter(found) } catch {
                guard requests[index].line > 0 else { throw error }
                throw CLIError(error.status, "line \(requests[index].line): \(error.message)", fix: error.fix)
            }
        }
    }
}

extension EnqueueInput {
    fileprivate mutating func enter(_ found: [IDReference: GroupSummary]) throws(CLIError) {
        var names: [DependencyName] = []
        for case let group? in groups.map({ found[$0] }) {
            let name = DependencyName(group.id, queue: group.queue)
            if !names.contains(name) { names.append(name) }
        }
        if !names.isEmpty {
            if operation.links == nil { operation.links = OperationLinks(entering: names) }
            operation.links?.entering = names
        }
        guard let callback, let group = found[callback.group] else { return }
        if let queue = givenQueue, queue != group.queue {
            throw .usage(
                "\(callback.option) enqueues into the queue of the group, \(group.queue), and not into \(queue)",
                fix: "drop -q"
            )
        }
        guard !group.detail.state.isTerminal else {
            throw CLIError(
                .refused,
                "group \(group.id) has ended, \(group.detail.state.rawValue): nothing was enqueued",
                fix: "to run it now drop \(callback.option)"
            )
        }
        queue = group.queue
        operation.links = OperationLinks(callback: GroupCallback(callback.when, of: group.id))
    }
}
