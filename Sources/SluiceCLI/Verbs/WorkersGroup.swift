import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// `workers ls | show | quiet | resume | stop | slots`
package struct WorkersGroup: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "workers",
            abstract: "List, show and control workers.",
            discussion: """
                EXAMPLES
                  \(Program.name) workers ls
                  \(Program.name) workers show 7QK2MX
                  \(Program.name) workers quiet 7QK2MX           claims nothing more; running operations continue
                  \(Program.name) workers resume 7QK2MX
                  \(Program.name) workers stop --host h1
                  \(Program.name) workers slots 8 7QK2MX
                """,
            subcommands: [
                WorkersListVerb.self, WorkersShowVerb.self, WorkersQuietVerb.self, WorkersResumeVerb.self,
                WorkersStopVerb.self, WorkersSlotsVerb.self,
            ]
        )
    }

    package init() {}
}

package struct WorkersListVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ls",
            abstract: "List the workers of the namespace, including lost ones.",
            discussion: """
                EXAMPLES
                  \(Program.name) workers ls                 the workers, and the newest 10 that were lost within 24 h
                  \(Program.name) workers ls --lost          all that were lost within 24 h, at most 1,000 of a queue
                  \(Program.name) workers ls --lost -o jsonl | jq 'select(.dead > 0)'

                A worker is LOST from the end of its lease until another worker has recovered its operations. Then it \
                is in the history, with the outcome of its operations: recovered (to run elsewhere), dead (lost too \
                often), or cancelled.
                """,
            aliases: ["list"]
        )
    }

    /// The number of lost workers to list below the others.
    private static let newest = 10

    @Flag(name: .long, help: "List lost workers only, all of the last 24 h.") var lost = false
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        let snapshot = try await client.snapshot(executingRows: 0)
        // One more than is shown reveals whether further ones exist. Formats for programs list lost workers only with
        // --lost.
        let limit = lost ? SluiceDefaults.lostWorkersKept : Self.newest + 1
        let queues = snapshot.queues.map(\.queue)
        let history = try await client.broker.lostWorkers(queues: queues, limit: limit)
        let report = WorkersReport(
            workers: lost ? nil : WorkerSummary.merge(snapshot.queues),
            lost: lost ? history : Array(history.prefix(Self.newest)),
            hasMore: !lost && history.count > Self.newest,
            absent: snapshot.absent,
            time: snapshot.time ?? invocation.now
        )
        report.print(invocation)
        invocation.console.warn(snapshot.absent)
        return .done
    }
}

/// The output of `workers ls`.
private struct WorkersReport {
    /// The workers; nil with `--lost`.
    var workers: [WorkerSummary]?
    var lost: [LostSummary]
    var hasMore: Bool
    var absent: [AbsentNode]
    /// Milliseconds of server time.
    var time: Int64

    func print(_ invocation: Invocation) {
        let console = invocation.console
        switch invocation.format {
        case .json:
            var object = JSONObject([("v", 1)])
            if let workers { object["workers"] = .array(workers.map { WorkerJSON.object($0) }) }
            object["lost"] = .array(lost.map(WorkerJSON.object))
            object["absentNodes"] = AbsentNode.json(absent)
            console.print(.object(object), .json)
        case .jsonl:
            let objects = workers?.map { WorkerJSON.object($0) } ?? lost.map(WorkerJSON.object)
            console.print(objects.map { $0.serialized() })
        case .id: console.print(workers?.map(\.id) ?? lost.map(\.id))
        case .table, .wide, .csv: printTables(invocation)
        }
    }

    private func printTables(_ invocation: Invocation) {
        let console = invocation.console
        if let workers {
            if workers.isEmpty {
                console.note("no workers; start one: \(Program.name) worker")
            } else {
                let table = SnapshotText.table(workers, isComplete: invocation.format == .csv)
                console.print(table, invocation.format, showsHeader: invocation.options.showsHeader)
            }
            // CSV has one table only.
            if lost.isEmpty || invocation.format == .csv { return }
            console.print("")
        } else if lost.isEmpty {
            return console.note("no worker was lost within 24 h")
        }
        console.print(invocation.table(lost, now: time), invocation.format, showsHeader: invocation.options.showsHeader)
        if hasMore { console.note("more were lost within 24 h: \(Program.name) workers ls --lost") }
    }
}

extension Invocation {
    fileprivate func table(_ lost: [LostSummary], now: Int64) -> Table {
        SnapshotText.table(lost) { TimeText.format($0, settings.time.content, now: now) }
    }
}

package struct WorkersShowVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show",
            abstract: "Show a worker and its running operations, or the outcome of one that was lost within 24 h.",
            discussion: """
                EXAMPLES
                  \(Program.name) workers show 7QK2MX
                  \(Program.name) workers show mail-1 -o json
                """
        )
    }

    @Argument(help: "Name or id of the worker, or the last 6 or more characters of the id.") var worker: String
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        let snapshot = try await client.snapshot(executingRows: 200)
        invocation.console.warn(snapshot.absent)
        switch try await WorkerLookup(snapshot, client.broker).find(worker) {
        case .lost(let worker): show(worker, now: snapshot.time ?? invocation.now, invocation)
        case .present(let worker):
            let executing = ExecutingSummary.merge(snapshot.queues, workers: [worker])
            let now = snapshot.time ?? invocation.now
            show(worker, executing.filter { $0.row.worker == worker.id }, now: now, invocation)
        }
        return .done
    }

    private func show(_ worker: LostSummary, now: Int64, _ invocation: Invocation) {
        let console = invocation.console
        if invocation.format.isJSON { return console.print(WorkerJSON.object(worker), invocation.format) }
        if invocation.format == .id { return console.print(worker.id) }
        let table = invocation.table([worker], now: now)
        console.print(table, invocation.format, showsHeader: invocation.options.showsHeader)
        if invocation.format == .csv { return }
        let time = { TimeText.format($0, invocation.settings.time.content, now: now) }
        let beat = worker.beatAt > 0 ? ", last heartbeat \(time(worker.beatAt))" : ""
        let build = worker.info?.build.map { "  build " + SafeText.line($0) } ?? ""
        console.print("id \(worker.id)  pid \(worker.info.map { "\($0.pid)" } ?? "-")\(build)\(beat)")
        console.print("its operations: \(worker.fate), \(time(worker.recoveredAt))")
        for (queue, id) in worker.operations { console.print("  \(queue)/\(id)") }
        let more = worker.recovered + worker.dead + worker.cancelled - worker.operations.count
        if more > 0 { console.print("  and \(QuantityText.grouped(more)) more") }
    }

    private func show(
        _ worker: WorkerSummary,
        _ executing: [ExecutingSummary],
        now: Int64,
        _ invocation: Invocation
    ) {
        let console = invocation.console
        if invocation.format.isJSON { return console.print(WorkerJSON.object(worker, executing), invocation.format) }
        if invocation.format == .id { return console.print(worker.id) }
        let table = SnapshotText.table([worker], isComplete: invocation.format == .csv)
        console.print(table, invocation.format, showsHeader: invocation.options.showsHeader)
        // CSV has one table only.
        if invocation.format == .csv { return }
        let build = worker.info?.build.map { "  build " + SafeText.line($0) } ?? ""
        console.print(
            "id \(worker.id)  pid \(worker.info.map { "\($0.pid)" } ?? "-")  version \(SafeText.line(worker.info?.version ?? "-"))"
                + build
        )
        console.print("handles " + SafeText.line(worker.info?.handles.joined(separator: ", ") ?? "-"))
        let time = { TimeText.format($0, invocation.settings.time.content, now: now) }
        if let course = worker.settings.course {
            console.print(SafeText.line("set to \(course.value.rawValue) by \(course.by), \(time(course.at))"))
        }
        if let slots = worker.settings.slots {
            console.print(SafeText.line("set to \(slots.value) slots by \(slots.by), \(time(slots.at))"))
        }
        if !executing.isEmpty {
            console.print(
                SnapshotText.table(executing, style: console.output, view: invocation.view),
                invocation.format,
                showsHeader: invocation.options.showsHeader
            )
        }
    }
}
