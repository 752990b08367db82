import Operations
import SluiceOperator
import TerminalText

/// One worker: its slots and what they run, its settings and requests to it; or the outcome of one that was lost.
struct WorkerPage {
    private let visit: Visit
    private let board: Board
    private let found: WorkerLookup.Found
    /// The newest operations that it has ended.
    private var ended: [OperationDetail] = []
    /// The operations that a lost worker held, as they are now.
    private var held: [(queue: String, id: OperationID, detail: OperationDetail?)] = []

    /// The page of a worker, or that of one that has ended.
    static func content(_ visit: Visit) async throws -> PageContent {
        guard let text = visit.query["id"] else {
            throw PageFailure.badRequest("No worker is given: workers/show?id=ID")
        }
        let board = try visit.board()
        do {
            return try await WorkerPage(visit, board, WorkerFinder.find(text, board, visit.site)).content
        } catch let failure as LookupFailure where failure.code == .notFound {
            guard let id = OperationID(text) else { throw failure }
            return try await EndedWorkerPage(visit, board, id).content
        }
    }

    private init(_ visit: Visit, _ board: Board, _ found: WorkerLookup.Found) async throws {
        (self.visit, self.board, self.found) = (visit, board, found)
        if case .present(let worker) = found {
            ended = try await visit.site.cache.value("ended \(worker.id)", age: .seconds(2)) {
                [broker = visit.site.broker] in
                try await EndedRuns.of(worker.id, queues: worker.queues, broker)
            }.sorted { ($0.record.endedAt, $0.id) > ($1.record.endedAt, $1.id) }
            visit.site.loop.seen.add(ended.prefix(EndedTable.most).map(EndedTable.Row.init), of: worker.id)
        }
        if case .lost(let worker) = found {
            for (queue, operations) in Dictionary(grouping: worker.operations, by: \.queue).sorted(by: {
                $0.key < $1.key
            }) {
                let details = try await visit.site.broker.allDetails(operations.map(\.id), queue: queue)
                held += zip(operations, details).map { ($0.queue, $0.id, $1) }
            }
        }
    }

    private var now: Int64 { board.snapshot.time ?? 0 }

    var content: PageContent {
        switch found {
        case .present(let worker): present(worker)
        case .lost(let worker): lost(worker)
        }
    }

    // MARK: A worker that runs

    private func present(_ worker: WorkerSummary) -> PageContent {
        let title = "Worker \(worker.label)"
        return PageContent(title, .workers, command: ["workers", "show", worker.id], holdsStill: true) {
            OutcomeNotice.markup(visit)
            tag("div", .class("title")) {
                tag("h1", text: worker.label)
                tag("span", .class(role(worker).className), text: worker.phaseText)
                actions(worker)
            }
            if worker.isLost {
                let outlook = LostOutlook(of: worker, in: board.snapshot.queues)
                Notice.markup(.bad, "This worker is lost: its lease has run out; \(outlook.text).")
                outlook.remedies.map { CommandLineView(visit.site).markup(text: $0.command, label: "try") }
            }
            tag("div", .class("columns")) {
                tag("div") {
                    slots(worker)
                    EndedTable(title: "Ended", ended: ended.map(EndedTable.Row.init), now: now, links: visit.links)
                        .markup
                }
                tag("div") { WorkerFacts(worker: worker, now: now, links: visit.links).markup }
            }
        }
    }

    private func role(_ worker: WorkerSummary) -> TextRole {
        worker.isLost ? .dead : worker.phaseText == "running" ? .plain : .warning
    }

    private func actions(_ worker: WorkerSummary) -> Markup {
        tag("div", .class("actions")) {
            for action in WorkerAction.allCases where visit.may(action.permission) && action.isPossible(worker) {
                tag(
                    "a",
                    .class(action.isFinal ? "button danger" : "button"),
                    .href(visit.links.to("workers", action.rawValue, query: ["id": worker.id])),
                    text: action.title
                )
            }
        }
    }

    private func slots(_ worker: WorkerSummary) -> Markup {
        let running = board.executing.filter { $0.row.worker == worker.id }
        let slots = worker.info?.slots ?? worker.inFlight
        return tag("section") {
            let held = worker.inFlight
            tag(
                "h2",
                text: worker.isLost
                    ? "It held \(QuantityText.operations(held)) when it was lost"
                    : "\(QuantityText.grouped(held)) of \(QuantityText.grouped(slots)) slots in use"
            )
            SlotChart.markup(
                running.map(run) + ended.map { SlotChart.Run($0, now: now) },
                slots: slots,
                now: now,
                visit.links
            )
            tag(
                "p",
                .class("dim"),
                text: "One lane for each slot, in the order of starts"
                    + (slots > SlotChart.mostLanes ? ", the first \(SlotChart.mostLanes)" : "")
                    + ". Of those that have ended, it has only the newest \(EndedRuns.most) of each queue and state."
            )
            if running.isEmpty {
                Empty.markup("This worker runs nothing.")
            } else {
                TableView.markup(
                    "Running operations",
                    ["Operation", "Queue", "Name", "Runs for", "Attempt", "Progress"],
                    running.map(row)
                )
            }
            let more = worker.inFlight - running.count
            if more > 0 {
                tag("p", .class("more")) {
                    tag(
                        "a",
                        .href(visit.links.to("ops", query: ["state": "executing", "q": "worker:\(worker.id)"])),
                        text: "\(QuantityText.grouped(more)) more"
                    )
                }
            }
        }
    }

    private func run(_ entry: ExecutingSummary) -> SlotChart.Run {
        SlotChart.Run(
            id: entry.id,
            queue: entry.queue,
            title: "\(entry.row.name), \(Measure.milliseconds(entry.runtimeMilliseconds))",
            start: entry.row.startedAt,
            end: now,
            role: entry.isLost ? .dead : entry.cancelAgeMilliseconds != nil ? .warning : .executing
        )
    }

    private func row(_ entry: ExecutingSummary) -> [Cell] {
        [
            Cell("Operation", "id") { OperationLink.markup(entry.id, queue: entry.queue, visit.links) },
            Cell("Queue") { QueuePage.anchor(entry.queue, visit.links) },
            Cell("Name", "name") {
                entry.row.name
                if let age = entry.cancelAgeMilliseconds {
                    tag("span", .class("detail"), text: "cancel requested \(Measure.milliseconds(age)) ago")
                }
            },
            .measure("Runs for", Measure.milliseconds(entry.runtimeMilliseconds)),
            .measure("Attempt", entry.tries),
            Cell("Progress", "wide") {
                if entry.isLost {
                    tag("span", .class("dead")) { ProgressView.markup(.lost) }
                } else if let progress = entry.row.progress {
                    let text = ProgressText.running(fraction: progress.fraction, message: progress.message)
                    ProgressView.markup(text)
                }
            },
        ]
    }

    // MARK: A worker that was lost

    private func lost(_ worker: LostSummary) -> PageContent {
        let title = "Lost worker \(worker.label)"
        return PageContent(title, .workers, command: ["workers", "show", worker.id], holdsStill: true) {
            tag("div", .class("title")) {
                tag("h1", text: worker.label)
                tag("span", .class("dead"), text: "lost")
            }
            tag("section", .class("panel")) {
                tag("dl", .class("facts")) {
                    FactLine.markup("id") { tag("span", .class("id"), text: worker.id) }
                    if let info = worker.info {
                        FactLine.markup("process") { "\(info.host) pid \(info.pid), version \(info.version)" }
                        if let build = info.build { FactLine.markup("build") { build } }
                    }
                    FactLine.markup("queues") { worker.queues.joined(separator: ", ") }
                    if worker.beatAt > 0 {
                        FactLine.markup("last heartbeat") { TimeView.markup(worker.beatAt, now: now) }
                    }
                    FactLine.markup("lost") { TimeView.markup(worker.lostAt, now: now) }
                    FactLine.markup("recovered") { TimeView.markup(worker.recoveredAt, now: now) }
                    FactLine.markup("its operations") { worker.fate }
                }
            }
            if !held.isEmpty {
                tag("section") {
                    tag("h2", text: "The operations that it held, as they are now")
                    TableView.markup(
                        "Operations",
                        ["Operation", "Queue", "Name", "State", "Ran for", "Why"],
                        held.map { heldRow($0.queue, $0.id, $0.detail, of: worker) }
                    )
                    let more = worker.recovered + worker.dead + worker.cancelled - held.count
                    if more > 0 {
                        tag(
                            "p",
                            .class("dim more"),
                            text: "and \(QuantityText.grouped(more)) more, whose ids are not kept"
                        )
                    }
                }
            }
        }
    }

    private func heldRow(
        _ queue: String,
        _ id: OperationID,
        _ detail: OperationDetail?,
        of worker: LostSummary
    ) -> [Cell] {
        let recovery = detail?.recoveries.last { $0.worker == worker.id }
        return [
            Cell("Operation") { OperationLink.markup(id, queue: queue, visit.links) },
            .text("Queue", queue),
            .text("Name", detail?.title(visit.view) ?? "–"),
            Cell("State") { if let detail { StateView.markup(detail.state) } else { "no longer stored" } },
            .measure("Ran for", Measure.milliseconds(recovery.map { max(0, $0.at - $0.startedAt) })),
            .text("Why", recovery?.cause.sentence ?? "–"),
        ]
    }
}
