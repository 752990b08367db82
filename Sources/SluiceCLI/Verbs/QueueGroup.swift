import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// `queue ls | show | pause | resume | limit | purge`
package struct QueueGroup: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "queue",
            abstract: "List, show, pause, resume, limit and purge queues.",
            discussion: """
                EXAMPLES
                  \(Program.name) queue ls
                  \(Program.name) queue show mail
                  \(Program.name) queue pause mail --for 1h --reason "mail server down"
                  \(Program.name) queue resume mail
                  \(Program.name) queue limit mail concurrency=8 rate=100/s
                  \(Program.name) queue purge mail
                """,
            subcommands: [
                QueueListVerb.self, QueueShowVerb.self, QueuePauseVerb.self, QueueResumeVerb.self, QueueLimitVerb.self,
                QueuePurgeVerb.self,
            ]
        )
    }

    package init() {}
}

package struct QueueListVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ls",
            abstract: "List the queues of the namespace.",
            discussion: """
                EXAMPLES
                  \(Program.name) queue ls
                  \(Program.name) queue ls -o json
                """,
            aliases: ["list"]
        )
    }

    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        let snapshot = try await client.snapshot(executingRows: 0)
        let console = invocation.console
        defer { console.warn(snapshot.absent) }
        switch invocation.format {
        case .json:
            let queues = JSONValue.array(snapshot.queues.map(StatsJSON.queue))
            console.print(["v": 1, "queues": queues, "absentNodes": AbsentNode.json(snapshot.absent)], .json)
        case .jsonl: console.print(snapshot.queues.map { QueueJSON.object($0).serialized() })
        case .id: console.print(snapshot.queues.map(\.queue))
        case .table, .wide, .csv:
            guard !snapshot.queues.isEmpty else {
                console.note("no queues yet")
                return .done
            }
            console.print(
                SnapshotText.queues(snapshot.queues),
                invocation.format,
                showsHeader: invocation.options.showsHeader
            )
        }
        return .done
    }
}

package struct QueueShowVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show",
            abstract: "Show one queue: counts, totals, running operations, workers.",
            discussion: """
                EXAMPLES
                  \(Program.name) queue show mail
                  \(Program.name) queue show mail -o json
                """
        )
    }

    @Argument(help: "The queue.") var queue: String
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        try await client.knownQueue(queue)
        let snapshot = try await client.broker.snapshot(queue: queue, executingRows: 50)
        let console = invocation.console
        if invocation.format.isJSON {
            console.print(QueueJSON.object(snapshot), invocation.format)
            return .done
        }
        guard invocation.format.isText else {
            StatsVerb.printRows(of: [snapshot], invocation)
            return .done
        }
        let lines = SnapshotText.lines(
            NamespaceSnapshot(queues: [snapshot], receivedAt: .zero),
            title: "queue \(queue) (namespace \(client.namespace))",
            target: console.isOutputTerminal ? .terminal(width: console.width) : .plain,
            style: console.output,
            view: invocation.view
        )
        let pause = snapshot.pause.map { trace in
            let time = TimeText.format(trace.at, invocation.settings.time.content, now: snapshot.time)
            return SafeText.line("paused \(time) by \(trace.by)" + (trace.reason.isEmpty ? "" : ": \(trace.reason)"))
        }
        let totals = snapshot.totals.sorted { $0.key < $1.key }.map { "\($0.key) \(QuantityText.grouped($0.value))" }
        let limits =
            snapshot.limits == QueueLimits()
            ? nil : "limits  " + LimitText.line(snapshot, time: invocation.settings.time.content)
        console.print(
            lines + (pause.map { ["", $0] } ?? []) + (limits.map { ["", $0] } ?? []) + LimitText.keys(snapshot) + [
                "", "totals  " + totals.joined(separator: "  "),
            ]
        )
        return .done
    }
}

package struct QueuePauseVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "pause",
            abstract: "Pause queues: their operations are no longer claimed. Claimed ones continue.",
            discussion: """
                EXAMPLES
                  \(Program.name) queue pause mail
                  \(Program.name) queue pause mail --for 1h --reason "mail server down"
                """
        )
    }

    @Argument(help: "The queues.") var queues: [String]
    @Option(name: .customLong("for"), help: "Resume automatically after this time.", transform: DurationText.parse)
    var duration: Duration?
    @Option(help: "Store this reason with the pause.") var reason = ""
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws { try TimeLimit.check(duration, "--for") }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try await QueueSwitch(paused: true, duration: duration, reason: reason).run(queues, invocation)
    }
}

package struct QueueResumeVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "resume",
            abstract: "Resume paused queues.",
            discussion: """
                EXAMPLES
                  \(Program.name) queue resume mail
                  \(Program.name) queue resume mail reports
                """
        )
    }

    @Argument(help: "The queues.") var queues: [String]
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try await QueueSwitch(paused: false, duration: nil, reason: "").run(queues, invocation)
    }
}

/// Pauses or resumes existing queues.
private struct QueueSwitch: Sendable {
    let paused: Bool
    let duration: Duration?
    let reason: String

    func run(_ queues: [String], _ invocation: Invocation) async throws -> ExitStatus {
        for queue in queues { try NameRule.check(queue, role: "queue") }
        let many = queues.count == 1 ? "queue \(queues[0])" : "\(queues.count) queues"
        try invocation.beginChange(asking: "\(paused ? "pause" : "resume") \(many)")
        let client = try await invocation.connect()
        for queue in queues { try await client.knownQueue(queue) }
        for queue in queues {
            if paused {
                try await client.pause(queue: queue, for: duration, reason: reason)
            } else {
                try await client.resume(queue: queue)
            }
            let snapshot = try await client.broker.snapshot(queue: queue, executingRows: 0)
            if invocation.format.isJSON {
                invocation.console.print(QueueJSON.object(snapshot), invocation.format)
            } else if invocation.format == .id {
                invocation.console.print(queue)
            } else {
                invocation.console.print(line(queue))
            }
        }
        return .done
    }

    private func line(_ queue: String) -> String {
        guard paused else { return "\(queue) resumed" }
        return "\(queue) paused" + (duration.map { " for \(DurationText.short($0))" } ?? "")
    }
}
