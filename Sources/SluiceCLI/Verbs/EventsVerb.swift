import ArgumentParser
import Operations
import Sluice
import SluiceMonitor

package struct EventsVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "events",
            abstract: "Print transitions as they happen, one JSON object a line.",
            discussion: """
                EXAMPLES
                  \(Program.name) events
                  \(Program.name) events -q mail

                Each line has the numbers from..to of its queue; a gap means that messages were lost (they are hints, not a log).
                """
        )
    }

    @Option(name: .shortAndLong, help: "Only this queue; may be repeated.")
    var queue: [String] = []
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        for queue in queue { try NameRule.check(queue, role: "queue") }
        let client = try await invocation.connect()
        for queue in queue { try await client.knownQueue(queue) }
        let queues = queue.isEmpty ? try await client.broker.queues() : queue
        if queues.isEmpty {
            invocation.console.note("no queues yet; new ones are seen after a restart of this command")
        }
        for await batch in client.broker.events(queues: queues) {
            invocation.console.print(Self.json(batch).serialized())
        }
        return .done
    }

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
