import Operations
import SluiceOperator
import TerminalText

/// A worker that has no lease. Redis forgets it with its leases, so the page has what this dashboard saw of it, and the
/// stored requests to it.
struct EndedWorkerPage {
    private static let (requestsShown, eventsRead) = (20, 500)
    /// How old the requests may be. To find them, the events of a day are read.
    private static let age = Duration.seconds(5)

    let visit: Visit
    let board: Board
    let id: OperationID
    private let seen: SeenWorkers.Seen?
    private let requests: [Request]

    /// An operator's request to the worker. Each queue of the worker has its event.
    private struct Request: Sendable, Hashable {
        var at: Int64
        var what: String
        var by: String

        func isSame(as other: Request) -> Bool {
            what == other.what && by == other.by && abs(at - other.at) < 1000
        }
    }

    init(_ visit: Visit, _ board: Board, _ id: OperationID) async throws {
        (self.visit, self.board, self.id) = (visit, board, id)
        seen = visit.site.loop.seen[id]
        requests = try await visit.site.cache.value("requests \(id)", age: Self.age) {
            [broker = visit.site.broker, queues = seen?.worker.servedQueues] in
            try await Self.requests(id, queues, broker)
        }
    }

    /// The newest requests of a day.
    ///
    /// - Parameter queues: the queues of the worker; nil = not known.
    private static func requests(
        _ id: OperationID,
        _ queues: [String]?,
        _ broker: any OperatorBroker
    ) async throws -> [Request] {
        let newest = NewestEvents(limit: eventsRead, filter: try EventFilter([], onlyChanges: true)) { change in
            change.verb == .control && change.detail.hasPrefix("\(id) ")
        }
        try await newest.read(broker, queues: queues, since: .seconds(86_400))
        var requests: [Request] = []
        for case .batch(let batch, let at) in newest.items {
            guard let change = batch.change else { continue }
            let what = String(change.detail.dropFirst(OperationID.characterCount + 1))
            let request = Request(at: at, what: what, by: change.by)
            if !requests.contains(where: request.isSame) { requests.append(request) }
        }
        return Array(requests.prefix(requestsShown))
    }

    private var label: String { WorkerSummary.label(seen?.worker.info, id: id.description) }
    /// Whether there is a trace of the worker. Any id could be asked for.
    private var isKnown: Bool { seen != nil || !requests.isEmpty }
    private var now: Int64? { board.snapshot.time }
    /// Whether a queue has so many workers that this one may run without being read.
    private var mayRun: Bool { board.snapshot.queues.contains(where: \.mayHaveMoreWorkers) }

    private var condition: String { mayRun ? "not read" : isKnown ? "ended" : "not known" }

    var content: PageContent {
        PageContent("Worker \(label)", .workers, command: ["workers", "ls"], isLive: false) {
            tag("div", .class("title")) {
                tag("h1", text: label)
                tag("span", .class("dim"), text: condition)
                tag("div", .class("actions")) {
                    tag("a", .class("button"), .href(visit.links.to("workers")), text: "All workers")
                }
            }
            tag("section", .class("panel")) {
                tag("p") {
                    if mayRun {
                        tag("b", text: "This worker was not read.")
                        " It may run: of each queue, \(QueueSnapshot.workerLimit) workers are read. "
                    } else if isKnown {
                        tag("b", text: "This worker has ended:")
                        " it has no lease. "
                    } else {
                        tag("b", text: "No worker has this id now.")
                        " If one had it, it has ended. "
                    }
                    "Redis knows workers that run and those that were lost within 24 hours. It keeps nothing "
                        + "of a worker that has ended, not even which operations it ran."
                }
                successor
                facts
            }
            requestTable
            EndedTable(
                title: "What it had ended when its page was read last",
                ended: seen?.ended ?? [],
                now: now ?? 0,
                links: visit.links
            ).markup
        }
    }

    /// The workers with the same name, of which one may be the next process.
    @MarkupBuilder private var successor: Markup {
        let others = board.liveWorkers.filter { $0.label == label }
        if !others.isEmpty {
            tag("p") {
                "With the same name runs now: "
                others.map { other in
                    parts {
                        tag(
                            "a",
                            .href(WorkerLink.to(other.id, visit.links)),
                            text: "\(other.label) …\(other.id.suffix(6))"
                        )
                        " "
                    }
                }
            }
        }
    }

    private var facts: Markup {
        tag("dl", .class("facts")) {
            FactLine.markup("id") { tag("span", .class("id"), text: id.description) }
            FactLine.markup("started") { TimeView.markup(Int64(id.milliseconds), now: now) }
            if let seen {
                FactLine.markup("seen last") { TimeView.markup(seen.at, now: now) }
                if let info = seen.worker.info {
                    FactLine.markup("process") { "\(info.host) pid \(info.pid), version \(info.version)" }
                    if let build = info.build { FactLine.markup("build") { build } }
                    FactLine.markup("ended by then") {
                        "\(QuantityText.grouped(info.finished)) finished, \(QuantityText.grouped(info.failed)) failed attempts, "
                            + "\(QuantityText.grouped(info.cancelled)) cancelled"
                    }
                }
                FactLine.markup("queues") {
                    seen.worker.servedQueues.map { queue in
                        parts {
                            QueuePage.anchor(queue, visit.links)
                            " ("
                            tag(
                                "a",
                                .href(
                                    visit.links.to(
                                        "ops",
                                        query: ["state": "finished", "q": QueryText.term("queue", queue)]
                                    )
                                ),
                                text: "what has finished"
                            )
                            ") "
                        }
                    }
                }
            }
        }
    }

    @MarkupBuilder private var requestTable: Markup {
        if !requests.isEmpty {
            tag("section") {
                tag("h2", text: "Requests to it")
                TableView.markup("Requests", ["When", "What", "Who"], requests.map(row))
            }
        }
    }

    private func row(_ request: Request) -> [Cell] {
        [
            Cell("When") { TimeView.markup(request.at, now: now) },
            .text("What", request.what),
            .text("Who", request.by),
        ]
    }
}
