import ArgumentParser
import Operations
import Sluice
import SluiceOperator
import TerminalText

package struct QueuePurgeVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "purge",
            abstract: "Remove all operations that wait in queues, for good.",
            discussion: """
                EXAMPLES
                  \(Program.name) queue purge mail
                  \(Program.name) queue purge mail -y

                Removes ready, scheduled, retrying and held operations with their errors and logs; they cannot be \
                retried. Running and ended operations stay, and so do operations enqueued after the purge began. \
                Repeat an interrupted purge to complete it. To end the operations as cancelled instead: \
                \(Program.name) cancel --queue
                """
        )
    }

    @Argument(help: "The queues.") var queues: [String]
    @OptionGroup var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        for queue in queues { try NameRule.check(queue, role: "queue") }
        let client = try await invocation.connect()
        var waiting: [String: Int] = [:]
        for queue in queues {
            try await client.knownQueue(queue)
            let counts = try await client.broker.snapshot(queue: queue, executingRows: 0).counts
            waiting[queue] = counts.filter(\.key.isWaiting).values.reduce(0, +)
        }
        let all = waiting.values.reduce(0, +)
        if consent.dryRun {
            invocation.print(ChangePreview(participle: "removed", matches: all, sample: []))
            return .done
        }
        let place = queues.count == 1 ? "queue \(queues[0])" : "\(queues.count) queues"
        try invocation.confirm(
            "remove \(QuantityText.grouped(Int64(all))) waiting operations of \(place) for good?",
            count: all
        )
        let interruption = Interruption()
        var removed: [(queue: String, count: Int)] = []
        var status: ExitStatus?
        for queue in queues where status == nil {
            let purged = try await purge(queue, of: waiting[queue] ?? 0, client, invocation, interruption)
            removed.append((queue, purged.removed))
            status = purged.status
        }
        report(removed, invocation)
        guard let status else { return .done }
        invocation.console.note("interrupted; go on: \(Program.name) queue purge \(queues.joined(separator: " "))")
        return status
    }

    /// Purges a queue.
    ///
    /// - Returns: the number of removed operations, and the exit status of a signal that arrived before the end.
    private func purge(
        _ queue: String,
        of count: Int,
        _ client: SluiceClient,
        _ invocation: Invocation,
        _ interruption: Interruption
    ) async throws -> (removed: Int, status: ExitStatus?) {
        var progress: PurgeProgress?
        let (begun, console) = (ContinuousClock.now, invocation.console)
        var rate = EndRate()
        defer { invocation.console.clearStatus() }
        while progress?.isDone != true {
            if let status = interruption.received.status { return (progress?.removed ?? 0, status) }
            progress = try await client.broker.purge(queue, by: SluiceClient.identity, from: progress)
            rate.add(ended: progress?.removed ?? 0, at: .now - begun)
            let line = EndProgress(ended: progress?.removed ?? 0, total: count, open: [], rate: rate)
            console.showStatus(line.line(console.errors))
        }
        return (progress?.removed ?? 0, nil)
    }

    private func report(_ removed: [(queue: String, count: Int)], _ invocation: Invocation) {
        if invocation.format.isText {
            let lines = removed.map { "\($0.queue): \(QuantityText.grouped(Int64($0.count))) removed" }
            return invocation.console.print(lines)
        }
        let report = RowReport(
            removed,
            [.text("QUEUE", field: "name") { $0.queue }, .count("REMOVED", field: "removed") { Int64($0.count) }]
        )
        invocation.print(report, names: removed.map(\.queue)) { ["v": 1, "queues": .array($0)] }
    }
}
