import ArgumentParser
import Operations
import Sluice
import SluiceMonitor

/// `workers ls | show`
package struct WorkersGroup: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "workers",
            abstract: "List and show workers.",
            subcommands: [WorkersListVerb.self, WorkersShowVerb.self]
        )
    }

    package init() {}
}

package struct WorkersListVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "ls", abstract: "List the workers of the namespace.", aliases: ["list"])
    }

    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        let snapshot = try await client.snapshot(executingRows: 0)
        let workers = WorkerSummary.merge(snapshot.queues)
        let console = invocation.console
        switch invocation.format {
        case .json: console.print(["v": 1, "workers": .array(workers.map { WorkerJSON.object($0) })], .json)
        case .jsonl: console.print(workers.map { WorkerJSON.object($0).serialized() })
        case .id: console.print(workers.map(\.id))
        case .table, .wide, .csv:
            guard !workers.isEmpty else {
                console.note("no workers; start one: \(Program.name) worker")
                return .done
            }
            console.print(SnapshotText.table(workers), invocation.format, showsHeader: invocation.options.showsHeader)
        }
        return .done
    }
}

package struct WorkersShowVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "show", abstract: "Show one worker and what it runs.")
    }

    @Argument(help: "Its name, or its id or the end of it.") var worker: String
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        let snapshot = try await client.snapshot(executingRows: 200)
        let workers = WorkerSummary.merge(snapshot.queues)
        let wanted = worker.hasPrefix("…") ? String(worker.dropFirst()) : worker
        let found = workers.filter {
            $0.label == worker || (wanted.count >= 6 && $0.id.hasSuffix(wanted.uppercased()))
        }
        guard !found.isEmpty else {
            let near = Suggestion.nearest(to: worker, among: workers.map(\.label))
            throw CLIError(
                .notFound,
                "no worker \(OperationsError.quoted(worker))" + (near.map { "; did you mean \"\($0)\"?" } ?? ""),
                fix: "\(Program.name) workers ls"
            )
        }
        let executing = ExecutingSummary.merge(snapshot.queues, workers: workers)
        for worker in found { show(worker, executing.filter { $0.row.worker == worker.id }, invocation) }
        return .done
    }

    private func show(_ worker: WorkerSummary, _ executing: [ExecutingSummary], _ invocation: Invocation) {
        let console = invocation.console
        if invocation.format.isJSON { return console.print(WorkerJSON.object(worker, executing), invocation.format) }
        if invocation.format == .id { return console.print(worker.id) }
        console.print(SnapshotText.table([worker]), invocation.format, showsHeader: invocation.options.showsHeader)
        console.print(
            "id \(worker.id)  pid \(worker.info.map { "\($0.pid)" } ?? "-")  version \(SafeText.line(worker.info?.version ?? "-"))"
        )
        console.print("handles " + SafeText.line(worker.info?.handles.joined(separator: ", ") ?? "-"))
        if !executing.isEmpty {
            console.print(
                SnapshotText.table(executing, style: console.output),
                invocation.format,
                showsHeader: invocation.options.showsHeader
            )
        }
    }
}

/// Workers as JSON objects: `docs/schema/worker.json`.
enum WorkerJSON {
    static func object(_ worker: WorkerSummary, _ executing: [ExecutingSummary]? = nil) -> JSONValue {
        let info = worker.info
        var object = JSONObject([
            ("v", 1),
            ("id", .string(worker.id)),
            ("name", JSONValue(info?.name)),
            ("host", JSONValue(info?.host)),
            ("pid", JSONValue(info?.pid)),
            ("version", JSONValue(info?.version)),
            ("state", .string(worker.phase)),
            ("queues", .array(worker.servedQueues.map { .string($0) })),
            ("handles", .array((info?.handles ?? []).map { .string($0) })),
            ("slots", JSONValue(info?.slots)),
            ("executing", .number(worker.inFlight)),
            ("finished", JSONValue(info?.finished)),
            ("failed", JSONValue(info?.failed)),
            ("cancelled", JSONValue(info?.cancelled)),
            ("malformed", JSONValue(info?.malformed)),
            ("stuck", JSONValue(info?.stuck)),
            ("residentBytes", JSONValue(info?.residentBytes)),
            ("startedAt", info.map { OperationJSON.time($0.startedAt) } ?? .null),
            ("beatAgeMilliseconds", JSONValue(worker.beatAgeMilliseconds)),
            ("leaseMilliseconds", .number(worker.leaseMilliseconds)),
        ])
        if let executing {
            object["operations"] = .array(
                executing.map {
                    ["id": .string($0.id.description), "queue": .string($0.queue), "name": .string($0.row.name)]
                }
            )
        }
        return .object(object)
    }
}
