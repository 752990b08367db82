import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// `cancels ls | rm`
package struct CancelsGroup: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "cancels",
            abstract: "List and remove standing cancels.",
            discussion: """
                EXAMPLES
                  \(Program.name) cancel -w 'name:Send*' --until 10m --reason "provider is down"
                  \(Program.name) cancels ls
                  \(Program.name) cancels rm mail/3
                """,
            subcommands: [CancelsListVerb.self, CancelsRemoveVerb.self]
        )
    }

    package init() {}
}

/// A standing cancel with its queue.
private struct PlacedCancel: Sendable {
    var queue: String
    var cancel: StandingCancel
    var name: String { "\(queue)/\(cancel.id)" }

    /// Reads the active standing cancels of some queues.
    static func read(_ queues: [String], _ client: SluiceClient) async throws -> [PlacedCancel] {
        var placed: [PlacedCancel] = []
        for queue in queues {
            placed += try await client.broker.standingCancels(queue: queue).cancels.map {
                PlacedCancel(queue: queue, cancel: $0)
            }
        }
        return placed
    }
}

package struct CancelsListVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ls",
            abstract: "List the standing cancels, with how many operations each has cancelled.",
            discussion: """
                EXAMPLES
                  \(Program.name) cancels ls
                  \(Program.name) cancels ls -q mail -o json
                """,
            aliases: ["list"]
        )
    }

    @Option(name: .shortAndLong, help: "List those of this queue.")
    var queue: String?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connectReadingClock()
        let known = try await client.queues()
        if let queue, !known.contains(queue) { throw LookupFailure.unknownQueue(queue, known: known) }
        let cancels = try await PlacedCancel.read(queue.map { [$0] } ?? known, client)
        invocation.print(report(cancels), names: cancels.map(\.name)) { ["v": 1, "cancels": .array($0)] }
        if cancels.isEmpty, invocation.format.isText { invocation.console.note("no standing cancels") }
        return .done
    }

    private func report(_ cancels: [PlacedCancel]) -> RowReport<PlacedCancel> {
        RowReport(
            cancels,
            [
                .text("ID", field: "id") { $0.name },
                .data("queue") { .string($0.queue) },
                .time("UNTIL", field: "endsAt") { $0.cancel.endsAt },
                .data("setAt") { OperationJSON.time($0.cancel.setAt) },
                .count("CANCELLED", field: "cancelled") { Int64($0.cancel.cancelled) },
                .text("BY", field: "by") { $0.cancel.by },
                .text("QUERY", field: "query") { $0.cancel.query },
                .text("REASON", field: "reason") { $0.cancel.reason },
            ]
        )
    }
}

package struct CancelsRemoveVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rm",
            abstract: "Remove standing cancels. What they have cancelled stays cancelled.",
            discussion: """
                EXAMPLES
                  \(Program.name) cancels rm mail/3
                  \(Program.name) cancels rm --all
                """
        )
    }

    @Argument(help: ArgumentHelp("Standing cancels, as cancels ls names them.", valueName: "queue/id"))
    var ids: [String] = []
    @Flag(help: "Remove all standing cancels of the namespace.")
    var all = false
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard ids.isEmpty == all else {
            let fix = "\(Program.name) cancels rm QUEUE/ID, or --all"
            throw CLIError.usage(all ? "ids and --all exclude each other" : "nothing to remove", fix: fix)
        }
        for id in ids { _ = try place(id) }
    }

    private func place(_ text: String) throws(CLIError) -> (queue: String, id: Int64) {
        let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, NameRule.allows(parts[0]), let id = Int64(parts[1]), id > 0 else {
            throw .usage(
                "\(OperationsError.quoted(text)) is not the id of a standing cancel; expected QUEUE/NUMBER, as mail/3",
                fix: "\(Program.name) cancels ls"
            )
        }
        return (parts[0], id)
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let many = all ? "all standing cancels" : "standing cancel \(ids.joined(separator: ", "))"
        try invocation.beginChange(asking: "remove \(many)")
        let client = try await invocation.connectReadingClock()
        let known = try await client.queues()
        var removed: [String] = []
        if all {
            for queue in known {
                removed += try await remove(nil, queue, client).map { "\(queue)/\($0)" }
            }
        }
        var unknown: [String] = []
        for text in ids {
            let (queue, id) = try place(text)
            let gone = known.contains(queue) ? try await remove([id], queue, client) : []
            if gone.isEmpty { unknown.append(text) } else { removed.append(text) }
        }
        report(removed, invocation)
        guard let first = unknown.first else { return .done }
        let error = CLIError(
            removed.isEmpty ? .notFound : .partly,
            "no standing cancel \(first)" + (unknown.count > 1 ? ", and \(unknown.count - 1) more" : ""),
            fix: "\(Program.name) cancels ls"
        )
        invocation.console.report(error, asJSON: invocation.format.isJSON)
        return error.status
    }

    private func remove(_ ids: [Int64]?, _ queue: String, _ client: SluiceClient) async throws -> [Int64] {
        try await client.broker.removeStandingCancels(ids, by: SluiceClient.identity, queue: queue)
    }

    private func report(_ removed: [String], _ invocation: Invocation) {
        let console = invocation.console
        switch invocation.format {
        case .json, .jsonl: console.print(["v": 1, "removed": .array(removed.map { .string($0) })], invocation.format)
        case .id: console.print(removed)
        case .csv, .table, .wide:
            console.print(removed.isEmpty ? ["no standing cancels"] : removed.map { "\($0) removed" })
        }
    }
}
