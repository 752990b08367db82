import Operations
import SluiceOperator
import TerminalText

/// The workers, with the operations that each one runs, and the workers that were lost.
struct WorkersPage {
    let visit: Visit
    let board: Board

    init(_ visit: Visit) throws(PageFailure) {
        self.visit = visit
        board = try visit.board()
    }

    var content: PageContent {
        PageContent("Workers", .workers, command: ["workers", "ls"], holdsStill: true) {
            OutcomeNotice.markup(visit)
            tag("div", .class("title")) {
                tag("h1", text: "Workers")
                tag("span", .class("dim"), text: summary)
            }
            tag("section") {
                board.workers.isEmpty
                    ? Empty.markup(
                        "No worker runs, so nothing is executed. Start one:",
                        command: (["worker"], visit.site)
                    )
                    : TableView.markup("Workers", Self.columns, board.workers.map(row))
            }
            hosts
            if !board.lost.isEmpty {
                tag("section") {
                    tag("h2", text: "Lost in the last 24 hours, newest first")
                    TableView.markup("Lost workers", Self.lostColumns, board.lost.map(lostRow))
                }
            }
        }
    }

    private var summary: String {
        let lost = board.workers.count - board.liveWorkers.count
        let busy = board.liveWorkers.reduce(0) { $0 + $1.inFlight }
        let share = board.slots > 0 ? ", \(QuantityText.percent(Double(busy) / Double(board.slots)))" : ""
        return "\(QuantityText.grouped(board.liveWorkers.count)) live" + (lost > 0 ? ", \(lost) lost" : "")
            + "; \(QuantityText.grouped(busy)) of \(QuantityText.grouped(board.slots)) slots are used\(share)"
    }

    private static let columns = [
        "Worker", "State", "Queues", "Slots", "Runs", "Memory", "Finished", "Failed", "Heartbeat", "Up for", "Build",
    ]

    private func row(_ worker: WorkerSummary) -> [Cell] {
        let info = worker.info
        let running = board.executing.filter { $0.row.worker == worker.id }
        let now = board.snapshot.time ?? 0
        return [
            Cell("Worker", "name") {
                tag("a", .href(WorkerLink.to(worker.id, visit.links)), text: worker.label)
                tag("span", .class("detail"), .title(worker.id)) {
                    if let info { "\(info.host) pid \(info.pid) · " }
                    "…" + worker.id.suffix(ShortID.minimum)
                }
            },
            state(worker),
            .text("Queues", worker.servedQueues.joined(separator: ", ")),
            Cell("Slots", "number") { slots(worker) },
            Cell("Runs", "wide") { runs(running, of: worker) },
            .measure("Memory", info.map { QuantityText.bytes($0.residentBytes) } ?? "–").minor,
            .measure("Finished", info.map { QuantityText.grouped($0.finished) } ?? "–"),
            .measure("Failed", info.map { QuantityText.grouped($0.failed) } ?? "–", role: .dead),
            .measure("Heartbeat", Measure.milliseconds(worker.beatAgeMilliseconds)),
            .measure("Up for", info.flatMap { upTime(of: worker, $0, now) } ?? "–").minor,
            BuildCell.cell(info).minor,
        ]
    }

    private func upTime(of worker: WorkerSummary, _ info: WorkerInfo, _ now: Int64) -> String? {
        worker.isLost ? nil : DurationText.short(.milliseconds(max(0, now - info.startedAt)))
    }

    private func state(_ worker: WorkerSummary) -> Cell {
        let role: TextRole = worker.isLost ? .dead : worker.info?.takesWork == true ? .plain : .warning
        return Cell("State", role.className) {
            worker.phaseText
            if worker.isLost {
                tag("span", .class("detail"), text: LostOutlook(of: worker, in: board.snapshot.queues).text)
            }
        }
    }

    @MarkupBuilder private func slots(_ worker: WorkerSummary) -> Markup {
        "\(QuantityText.grouped(worker.inFlight))/\(worker.info.map { QuantityText.grouped($0.slots) } ?? "–")"
        if let slots = worker.info?.slots, slots > 0 {
            tag(
                "progress",
                .class("line"),
                .named("max", "\(slots)"),
                .value("\(min(slots, worker.inFlight))"),
                .named("aria-label", "used slots")
            ) { "" }
        }
    }

    private static let hostColumns = ["Host", "Workers", "Slots", "Memory", ""]

    @MarkupBuilder private var hosts: Markup {
        let hosts = HostSummary.all(board)
        if !hosts.isEmpty {
            tag("section") {
                tag("h2", text: "Hosts")
                TableView.markup("Hosts", Self.hostColumns, hosts.map(hostRow))
                if visit.may(.quietWorker) {
                    tag(
                        "p",
                        .class("under reading"),
                        text:
                            "Quiet: its workers start nothing more, and what runs continues. Stop: what runs has the "
                            + "drain timeout of its worker to end; then the worker gives back the rest and ends."
                    )
                }
            }
        }
    }

    private func hostRow(_ host: HostSummary) -> [Cell] {
        let infos = host.workers.compactMap(\.info)
        let busy = host.workers.reduce(0) { $0 + $1.inFlight }
        return [
            Cell("Host", "name") { host.host },
            .count("Workers", host.workers.count),
            .measure(
                "Slots",
                "\(QuantityText.grouped(busy))/\(QuantityText.grouped(infos.reduce(0) { $0 + $1.slots }))"
            ),
            .measure("Memory", QuantityText.bytes(infos.reduce(0) { $0 + $1.residentBytes })),
            Cell("Change", "actions wide") {
                HostRoutes.actions.map { action in
                    guard visit.may(action.permission), host.workers.contains(where: action.isPossible) else {
                        return .empty
                    }
                    return tag(
                        "a",
                        .class(action.isFinal ? "button danger" : "button"),
                        .href(HostRoutes.link(action, host.host, visit.links)),
                        .named("aria-label", "\(action.title) all workers of host \(host.host)"),
                        text: action.title
                    )
                }
            },
        ]
    }

    private static let shownRuns = 8

    @MarkupBuilder private func runs(_ running: [ExecutingSummary], of worker: WorkerSummary) -> Markup {
        for entry in running.prefix(Self.shownRuns) {
            tag("div") {
                OperationLink.markup(entry, visit.links)
                " \(entry.row.name) "
                tag("span", .class("dim"), text: Measure.milliseconds(entry.runtimeMilliseconds))
            }
        }
        let more = worker.inFlight - min(running.count, Self.shownRuns)
        if more > 0 {
            tag(
                "a",
                .href(visit.links.to("ops", query: ["state": "executing", "q": "worker:\(worker.id)"])),
                text: "\(QuantityText.grouped(more)) more"
            )
        }
    }

    private static let lostColumns = ["Worker", "Lost", "Recovered", "Its operations", "Queues"]

    private func lostRow(_ worker: LostSummary) -> [Cell] {
        [
            Cell("Worker", "name") {
                tag("a", .href(WorkerLink.to(worker.id, visit.links)), text: worker.label)
                tag("span", .class("detail"), text: worker.id)
            },
            Cell("Lost") { TimeView.markup(worker.lostAt, now: board.snapshot.time) },
            Cell("Recovered") { TimeView.markup(worker.recoveredAt, now: board.snapshot.time) },
            .text("Its operations", worker.fate, role: worker.dead > 0 ? .dead : .plain),
            .text("Queues", worker.queues.joined(separator: ", ")),
        ]
    }
}

/// The build of the app that a worker runs, and the version of Sluice below.
enum BuildCell {
    static func cell(_ info: WorkerInfo?) -> Cell {
        Cell("Build") {
            info?.build ?? "–"
            if let info { tag("span", .class("detail"), text: "sluice \(info.version)") }
        }
    }
}
