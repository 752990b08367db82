import ArgumentParser
import Operations
import Selectors
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct QueueLimitVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "limit",
            abstract:
                "Show or set the limits of a queue: how many of its operations run at once, and how many start in a time.",
            discussion: """
                EXAMPLES
                  \(Program.name) queue limit mail concurrency=8
                  \(Program.name) queue limit reports concurrency=1
                  \(Program.name) queue limit mail rate=100/s
                  \(Program.name) queue limit mail rate=20/1m burst=5
                  \(Program.name) queue limit mail key.concurrency=2 key:acme.concurrency=10 key:acme.weight=4
                  \(Program.name) queue limit mail key.rate=100/s key:acme.rate=20/1m key:acme.burst=5
                  \(Program.name) queue limit mail concurrency=none rate=none
                  \(Program.name) queue limit mail

                concurrency=N: at most N operations of the queue run at once, on all workers together; 1 makes it a serial queue. A change holds \
                for the next operations; what runs goes on. rate=N/TIME: N operations start in that time, on all workers together. Starts that are \
                not used are saved, up to burst=B (without it, as many as start in a second, at least 1). So in any TIME at most N + B start: with \
                rate=5/s burst=5 up to 10 in the first second, then 5. key.concurrency=N: of the operations with one limit key (enqueue --limit-key) at most N run at once; \
                key:KEY.concurrency=N sets it for one key. key.rate=N/TIME and key.burst=B: so many of one key start, likewise. Keys get equal shares of a busy queue; key:KEY.weight=N gives one key N times as much. \
                none removes a limit. Without a limit after the queue: shows its limits.
                """
        )
    }

    @Argument(help: "The queue.") var queue: String
    @Argument(
        help: ArgumentHelp(
            "concurrency=N, rate=N/TIME, burst=N, key.concurrency=N, key.rate=N/TIME, key.weight=N, key:KEY.…; none removes one.",
            valueName: "limit"
        )
    ) var limits: [String] = []
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws { _ = try TypedLimits(limits) }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try NameRule.check(queue, role: "queue")
        let limits = try TypedLimits(limits).limits
        if !limits.isEmpty { try invocation.beginChange(asking: "set limits of queue \(queue)") }
        let client = try await invocation.connect()
        if limits.isEmpty {
            try await client.knownQueue(queue)
        } else {
            let known = try await client.queues()
            if !known.contains(queue) { noteNew(known, invocation) }
            _ = try await client.broker.setLimits(limits, by: SluiceClient.identity, queue: queue)
        }
        let snapshot = try await client.broker.snapshot(queue: queue, executingRows: 0)
        let console = invocation.console
        if invocation.format.isJSON {
            console.print(QueueJSON.object(snapshot), invocation.format)
        } else if invocation.format == .id {
            console.print(queue)
        } else {
            console.print(["\(queue): \(LimitText.line(snapshot, time: invocation.settings.time.content))"])
        }
        return .done
    }

    /// Prints a note for a queue that has never been used. A limit can be set before the first enqueue, but the name
    /// may be misspelled.
    private func noteNew(_ known: [String], _ invocation: Invocation) {
        let near = Suggestion.nearest(to: queue, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
        invocation.console.note("queue \(queue) is new: it has never been used\(near)")
    }
}
