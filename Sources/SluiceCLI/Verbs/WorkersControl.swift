import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// The workers that a control verb applies to.
package struct WorkerTargets: ParsableArguments {
    @Argument(help: "Names or ids of workers, or the last 6 or more characters of ids. Several may have one name.")
    var workers: [String] = []
    @Option(help: "All workers of this host.") var host: String?
    @Flag(help: "All workers of the namespace.") var all = false

    package init() {}

    func check() throws {
        let given = [!workers.isEmpty, host != nil, all].count { $0 }
        guard given != 1 else { return }
        throw CLIError.usage(
            given == 0 ? "no workers given" : "names, --host and --all exclude each other",
            fix: "\(Program.name) workers ls"
        )
    }
}

/// A verb that controls workers.
package protocol WorkerControlVerb: Verb {
    var targets: WorkerTargets { get }
    var command: WorkerCommand { get }
}

extension WorkerControlVerb {
    package static var formats: Set<OutputFormat> { .jsonAndIDs }
    package static var effect: VerbEffect { .changes }

    package func check() throws { try targets.check() }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try await WorkerControl(command: command).run(targets, invocation)
    }
}

package struct WorkersQuietVerb: WorkerControlVerb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "quiet",
            abstract: "Stop workers from claiming. Running operations continue.",
            discussion: """
                EXAMPLES
                  \(Program.name) workers quiet h3/w2
                  \(Program.name) workers quiet --host gpu3 -y
                  \(Program.name) workers resume --host gpu3 -y

                A worker obeys with its next heartbeat, until resume or until its process ends. A restarted worker \
                claims again.
                """
        )
    }

    @OptionGroup package var targets: WorkerTargets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package var command: WorkerCommand { .quiet }
}

package struct WorkersResumeVerb: WorkerControlVerb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "resume",
            abstract: "Let quiet workers claim again.",
            discussion: """
                EXAMPLES
                  \(Program.name) workers resume h3/w2
                  \(Program.name) workers resume --host gpu3 -y
                """
        )
    }

    @OptionGroup package var targets: WorkerTargets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package var command: WorkerCommand { .resume }
}

package struct WorkersStopVerb: WorkerControlVerb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "stop",
            abstract: "Drain workers and end them; a worker's process ends with exit status 0.",
            discussion: """
                EXAMPLES
                  \(Program.name) workers stop h3/w2
                  \(Program.name) workers stop --host gpu3 -y

                The worker claims nothing more, lets running operations end within its drain timeout, and gives back \
                the rest. A program with other services besides the worker keeps running. A worker that is started \
                again under the same name runs as usual.
                """
        )
    }

    @OptionGroup package var targets: WorkerTargets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package var command: WorkerCommand { .stop }
}

package struct WorkersSlotsVerb: WorkerControlVerb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "slots",
            abstract: "Change how many operations workers run at the same time.",
            discussion: """
                EXAMPLES
                  \(Program.name) workers slots 4 h3/w2

                With fewer slots, running operations continue, and new ones start only when enough have ended. A \
                restarted worker has the slots of its command line again.
                """
        )
    }

    @Argument(help: "The slots, 1 to 10000.") var count: Int
    @OptionGroup package var targets: WorkerTargets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard (1...10_000).contains(count) else {
            throw CLIError.usage(
                "slots is \(count): use 1 to 10000",
                fix: "to claim nothing: \(Program.name) workers quiet NAME"
            )
        }
        try targets.check()
    }

    package var command: WorkerCommand { .slots(count) }
}

/// Stores a setting for workers, in each of their queues.
private struct WorkerControl: Sendable {
    let command: WorkerCommand

    private var word: String { command.word }

    func run(_ targets: WorkerTargets, _ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        let client = try await invocation.connect()
        let snapshot = try await client.snapshot(executingRows: 0)
        invocation.console.warn(snapshot.absent)
        let workers = try await find(targets, snapshot, client)
        if workers.isEmpty {
            let place = targets.host.map { "on host \(OperationsError.quoted($0))" } ?? "in this namespace"
            throw CLIError(.notFound, "no worker runs \(place)", fix: "\(Program.name) workers ls")
        }
        try confirm(workers, targets, invocation)
        var statuses: [ExitStatus] = []
        for worker in workers { statuses.append(try await control(worker, client, invocation)) }
        return .of(statuses)
    }

    private func confirm(
        _ workers: [WorkerSummary],
        _ targets: WorkerTargets,
        _ invocation: Invocation
    ) throws {
        let count = workers.count
        let change = "\(word) for \(count == 1 ? "worker \(workers[0].label)" : "\(count) workers")"
        if targets.all || targets.host != nil || count > targets.workers.count {
            try invocation.confirm("\(change)?", count: count)
        } else {
            try invocation.confirmIfAlways(change, count: count)
        }
    }

    private func find(
        _ targets: WorkerTargets,
        _ snapshot: NamespaceSnapshot,
        _ client: SluiceClient
    ) async throws -> [WorkerSummary] {
        let workers = WorkerSummary.merge(snapshot.queues)
        if targets.all { return workers }
        if let host = targets.host { return workers.filter { $0.info?.host == host } }
        let lookup = try await WorkerLookup(snapshot, client.broker)
        var found: [WorkerSummary] = []
        for text in targets.workers {
            let named = workers.filter { $0.label == text }
            for worker in named.isEmpty ? [try present(text, lookup)] : named where !found.contains(worker) {
                found.append(worker)
            }
        }
        return found
    }

    private func present(_ text: String, _ lookup: WorkerLookup) throws -> WorkerSummary {
        switch try lookup.find(text) {
        case .present(let worker): return worker
        case .lost(let worker):
            throw CLIError(
                .refused,
                "worker \(OperationsError.quoted(worker.label)) was lost: there is no process to \(word)",
                fix: "\(Program.name) workers show \(worker.id)"
            )
        }
    }

    private func control(
        _ worker: WorkerSummary,
        _ client: SluiceClient,
        _ invocation: Invocation
    ) async throws -> ExitStatus {
        let isStored = try await client.broker.control(command, worker: worker, by: SluiceClient.identity)
        let console = invocation.console
        switch invocation.format {
        case .json, .jsonl:
            console.print(
                [
                    "v": 1, "worker": .string(worker.id), "name": .string(worker.label), "command": .string(word),
                    "stored": .bool(isStored),
                ],
                invocation.format
            )
        case .id: if isStored { console.print(worker.id) }
        case .table, .wide, .csv: console.print(SafeText.line(worker.answer(to: command, isStored: isStored)))
        }
        return isStored ? .done : .notFound
    }
}
