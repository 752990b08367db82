import ArgumentParser
import Foundation
import Operations
import Sluice
import SluiceOperator
import TerminalText

package struct EventsVerb: Verb {
    package static let formats: Set<OutputFormat> = .lines
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "events",
            abstract: "Print what happens in queues, and what has happened.",
            discussion: """
                EXAMPLES
                  \(Program.name) events
                  \(Program.name) events state:dead,cancelled queue:mail --since 1h -o table
                  \(Program.name) events --changes --since 5m --no-follow -o table

                Without -o, and with -o jsonl, each line is a JSON object; -o table, wide and csv print one event a line, -o id only \
                the ids. Each object has the numbers from..to of its queue, and each number comes once.
                --since begins in the past, with the events that the stream of each queue still stores: retries, all \
                ends except finishes, and operations that were given back or recovered; 10,000 calls per queue. \
                Enqueues, starts and finishes are not stored: their numbers appear as a range with "kept": false, as \
                do lost messages. Names, workers and reasons are read from the records afterwards; above 50 reads a \
                second, events come without them.
                --changes prints only what clients and operators changed, with who did it: cancels, retries, edits, holds, removals, purges, \
                pauses, and settings of workers.
                Events of a new queue are printed within a second. SIGTERM ends the command at once with exit status 0. \
                Without permission to subscribe, the exit status is 77, and the error has the missing rule.
                """
        )
    }

    @Argument(help: "Print only these: state:dead queue:mail id:01J….")
    var query: [String] = []
    @Option(name: .shortAndLong, help: "Print only this queue; may be repeated.")
    var queue: [String] = []
    @Option(help: "Begin this long ago, with stored events (5m, 1h).", transform: DurationText.parse)
    var since: Duration?
    @Flag(help: "Print only changes by clients and operators, with their authors.")
    var changes = false
    @Flag(help: "End after the stored events; needs --since.")
    var noFollow = false
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        try TimeLimit.check(since, "--since")
        guard since != nil || !noFollow else {
            throw CLIError.usage("--no-follow needs --since", fix: "\(Program.name) events --since 5m --no-follow")
        }
        _ = try EventFilter(query, onlyChanges: changes)
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        EndingSignals.terminateWithSuccess()
        for queue in queue { try NameRule.check(queue, role: "queue") }
        let client = try await invocation.connect()
        for queue in queue { try await client.knownQueue(queue) }
        let console = invocation.console
        let filter = try EventFilter(query, onlyChanges: changes)
        let isAsked = invocation.settings.output.origin != .builtIn
        let rows = EventRows(
            format: isAsked ? invocation.format : .jsonl,
            width: console.tableWidth(invocation.format),
            isWhole: filter.isWhole
        )
        if invocation.options.showsHeader { console.print(rows.header) }
        let records = EventRecords(client: client, isUsed: rows.format != .id)
        let feed = EventFeed(
            client.broker,
            since: since,
            follows: !noFollow,
            queues: queue,
            filter: filter,
            now: { invocation.now }
        ) { item in
            switch item {
            case .batch(let batch, let time):
                guard let part = filter.part(of: batch) else { return }
                let details = await records.read(part)
                console.print(rows.lines(part, details, of: batch, at: time))
            case .unkept(let queue, let numbers, let time):
                if filter.isWhole { console.print(rows.lines(unkept: numbers, queue: queue, at: time)) }
            case .trimmed(let queue, let before, _):
                console.warn("queue \(queue): events before \(TimeText.rfc3339(before)) are no longer stored")
            case .outage: console.note("Redis does not answer; events continue when it does")
            }
        }
        try await feed.run()
        return .done
    }
}

/// Reads the records of transitions. Limits the reads per second, since names are not worth much load on Redis.
private actor EventRecords {
    private static let readsPerSecond = 50
    private let client: SluiceClient
    private let isUsed: Bool
    private var second: Int64 = 0
    private var reads = 0

    init(client: SluiceClient, isUsed: Bool) {
        self.client = client
        self.isUsed = isUsed
    }

    func read(_ batch: EventBatch) async -> [OperationDetail?] {
        guard isUsed, !batch.transitions.isEmpty else { return [] }
        let now = Int64(Date().timeIntervalSince1970)
        if now != second { (second, reads) = (now, 0) }
        reads += 1
        guard reads <= Self.readsPerSecond else { return [] }
        return (try? await client.broker.details(batch.transitions.map(\.id), queue: batch.queue)) ?? []
    }
}
