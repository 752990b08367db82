import ArgumentParser
import Operations
import Sluice

package struct EventsVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "events",
            abstract: "Print changes of operations as they happen.",
            discussion: """
                EXAMPLES
                  \(Program.name) events
                  \(Program.name) events -q mail
                  \(Program.name) events -o table

                Without -o, and with -o jsonl, each line is a JSON object; -o table, wide and csv print one change a line, -o id only \
                the ids. Each object has the numbers from..to of its queue. A gap means that messages were lost: they are no log.
                Events of a new queue are printed within a second. SIGTERM ends the command at once with exit status 0. \
                Without permission to subscribe, the exit status is 77, and the error has the missing rule.
                """
        )
    }

    @Option(name: .shortAndLong, help: "Print only this queue; may be repeated.")
    var queue: [String] = []
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard global.output != .json else {
            throw CLIError.usage("events never end, so they are no JSON array", fix: "\(Program.name) events -o jsonl")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        EndingSignals.terminateWithSuccess()
        for queue in queue { try NameRule.check(queue, role: "queue") }
        let client = try await invocation.connect()
        for queue in queue { try await client.knownQueue(queue) }
        let console = invocation.console
        let isAsked = invocation.settings.output.origin != .builtIn
        let rows = EventRows(format: isAsked ? invocation.format : .jsonl, width: console.tableWidth(invocation.format))
        if invocation.options.showsHeader { console.print(rows.header) }
        let print = { @Sendable (batch: EventBatch) in console.print(rows.lines(batch, at: invocation.localNow)) }
        guard queue.isEmpty else {
            for try await batch in client.broker.events(queues: queue) { print(batch) }
            return .done
        }
        try await everything(client, print)
        return .done
    }

    /// Listens to all queues, including new ones. New queues are not announced, so the list is read again and again.
    private func everything(_ client: SluiceClient, _ print: @escaping @Sendable (EventBatch) -> Void) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            var known: Set<String> = []
            // A refused subscription cancels the group.
            while !group.isCancelled {
                let new = Set(try await queues(client, isFirst: known.isEmpty)).subtracting(known)
                known.formUnion(new)
                if !new.isEmpty {
                    let events = client.broker.events(queues: new.sorted())
                    group.addTask { for try await batch in events { print(batch) } }
                }
                try await Task.sleep(for: Self.look)
            }
        }
    }

    /// Reads the list of queues. An outage of Redis must not end a command that only listens.
    private func queues(_ client: SluiceClient, isFirst: Bool) async throws -> [String] {
        if isFirst { return try await client.queues() }
        return (try? await client.queues()) ?? []
    }

    private static let look: Duration = .seconds(1)

    static func json(_ batch: EventBatch) -> JSONValue {
        let counts = batch.counts.sorted { $0.key.rawValue < $1.key.rawValue }
        return [
            "v": 1,
            "queue": .string(batch.queue),
            "from": .number(batch.from),
            "to": .number(batch.to),
            "counts": .object(JSONObject(counts.map { ($0.key.rawValue, .number($0.value)) })),
            "transitions": .array(
                batch.transitions.map { ["id": .string($0.id.description), "state": .string($0.state.rawValue)] }
            ),
        ]
    }
}
