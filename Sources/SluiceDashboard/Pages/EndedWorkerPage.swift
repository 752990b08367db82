import Operations
import SluiceOperator
import TerminalText

/// A worker that has ended. Redis forgets it with its leases, so the page has what this dashboard saw of it, and the
/// stored requests to it.
struct EndedWorkerPage {
    private static let requestsShown = 20

    let visit: Visit
    let board: Board
    let id: OperationID
    private let seen: SeenWorkers.Seen?
    private let requests: [EventFeed.Item]

    init(_ visit: Visit, _ board: Board, _ id: OperationID) async throws {
        (self.visit, self.board, self.id) = (visit, board, id)
        seen = visit.site.loop.seen[id]
        let newest = NewestEvents(limit: Self.requestsShown, filter: try EventFilter([], onlyChanges: true)) { change in
            change.verb == .control && change.detail.hasPrefix("\(id) ")
        }
        try await newest.read(visit.site.broker, since: .seconds(86_400))
        requests = newest.items
    }

    private var label: String { WorkerSummary.label(seen?.worker.info, id: id.description) }
    /// Whether there is a trace of the worker. Any id could be asked for.
    private var isKnown: Bool { seen != nil || !requests.isEmpty }
    private var now: Int64? { board.snapshot.time }

    var content: PageContent {
        PageContent("Worker \(label)", .workers, command: ["workers", "ls"], isLive: false) {
            tag("div", .class("title")) {
                tag("h1", text: label)
                tag("span", .class("dim"), text: isKnown ? "ended" : "not known")
                tag("div", .class("actions")) {
                    tag("a", .class("button"), .href(visit.links.to("workers")), text: "All workers")
                }
            }
            tag("section", .class("panel")) {
                tag("p") {
                    if isKnown {
                        tag("b", text: "This worker has ended")
                        " and holds nothing. "
                    } else {
                        tag("b", text: "No worker has this id now.")
                        " If one had it, it has ended. "
                    }
                    "Redis knows workers that run and those that were lost within 24 hours. Of a worker that has ended it "
                        + "forgets all, also which operations it ran."
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
                TableView.markup("Requests", ["When", "What", "Who"], requests.compactMap(row))
            }
        }
    }

    private func row(_ item: EventFeed.Item) -> [Cell]? {
        guard case .batch(let batch, let at) = item, let change = batch.change else { return nil }
        return [
            Cell("When") { TimeView.markup(at, now: now) },
            .text("What", String(change.detail.dropFirst(OperationID.characterCount + 1))),
            .text("Who", change.by),
        ]
    }
}
