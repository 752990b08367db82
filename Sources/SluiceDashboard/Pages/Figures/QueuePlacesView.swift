import Operations
import SluiceOperator
import TerminalText

/// The limits of a queue with those that hold their places, and the workers that serve it.
struct QueuePlacesView {
    private static let shown = 50

    let page: QueuePage
    let visit: Visit
    private var queue: QueueSnapshot { page.queue }

    var markup: Markup {
        parts {
            limits
            holders
            keys
            workers
            waiting
        }
    }

    private var limits: Markup {
        tag("section", .class("panel")) {
            tag("h2", text: "Limits")
            tag("p", text: LimitText.line(queue, time: .relative))
            if let next = queue.nextStartMilliseconds {
                tag(
                    "p",
                    .class("warning"),
                    text: "The rate is used up. Next start in \(DurationText.precise(.milliseconds(next)))."
                )
            }
        }
    }

    // MARK: Places

    private var holders: Markup {
        let running = page.board.executing.filter { $0.queue == queue.queue }
        let count = queue.counts[.executing] ?? 0
        let places = queue.limits.concurrency.map { " of \(QuantityText.grouped($0)) places" } ?? ""
        return tag("section") {
            tag("h2") {
                "Running"
                tag("span", .class("dim"), text: " \(QuantityText.grouped(count))\(places), longest first")
            }
            if running.isEmpty {
                tag("p", .class("empty dim"), text: "Nothing runs.")
            } else {
                TableView.markup(
                    "Running operations",
                    ["Operation", "Name", "Attempt", "Runs for", "Worker"],
                    running.prefix(Self.shown).map(holder)
                )
            }
            if count > Self.shown {
                tag("p", .class("more")) {
                    tag(
                        "a",
                        .href(
                            visit.links.to(
                                "ops",
                                query: ["state": "executing", "q": QueryText.term("queue", queue.queue)]
                            )
                        ),
                        text: "All \(QuantityText.grouped(count))"
                    )
                }
            }
        }
    }

    private func holder(_ entry: ExecutingSummary) -> [Cell] {
        [
            Cell("Operation", "id") { OperationLink.markup(entry.id, queue: entry.queue, visit.links) },
            Cell("Name", "name") { OperationLink.named(entry, visit.links) },
            .measure("Attempt", entry.tries),
            .measure("Runs for", Measure.milliseconds(entry.runtimeMilliseconds)),
            Cell("Worker", "worker" + (entry.isLost ? " dead" : "")) { WorkerLink.anchor(entry, visit.links) },
        ]
    }

    private static let keyColumns = ["Limit key", "Ready", "Running", "Weight", "Rate", "Next start", "Holders"]

    @MarkupBuilder private var keys: Markup {
        let keys = page.places.keys
        if !keys.isEmpty {
            tag("section") {
                tag("h2", text: "Limit keys")
                TableView.markup("Limit keys", Self.keyColumns, keys.map(key))
                let more = queue.limitKeyCount - queue.limitKeys.count
                if more > 0 {
                    tag("p", .class("more dim"), text: "\(QuantityText.grouped(more)) others have ready operations")
                }
            }
        }
    }

    private func key(_ state: LimitKeyState) -> [Cell] {
        let places = state.limit.concurrency.map { "/" + QuantityText.grouped($0) } ?? ""
        return [
            Cell("Limit key", "name") {
                tag(
                    "a",
                    .href(
                        visit.links.to(
                            "ops",
                            query: [
                                "q": QueryText.term("queue", queue.queue) + " "
                                    + QueryText.term("limitKey", state.row.key)
                            ]
                        )
                    ),
                    text: state.row.key
                )
            },
            .count("Ready", state.row.ready),
            .measure(
                "Running",
                QuantityText.grouped(state.row.executing) + places,
                role: state.isFull ? .warning : .executing
            ),
            .measure("Weight", QuantityText.grouped(state.limit.weight ?? 1)),
            .measure("Rate", state.limit.rate?.words ?? "–"),
            .measure("Next start", Measure.milliseconds(state.row.nextStartMilliseconds)),
            Cell("Holders", "wide") {
                state.executing.map { id in
                    tag("span", .class("holder")) { OperationLink.markup(id, queue: queue.queue, visit.links) }
                }
            },
        ]
    }

    // MARK: Workers and names

    private var workers: Markup {
        let workers = page.board.workers.filter { $0.queues.contains(queue.queue) }
        return tag("section") {
            tag("h2", text: "Workers")
            if workers.isEmpty {
                tag("p", .class("empty dim"), text: "No worker serves the queue.")
            } else {
                TableView.markup(
                    "Workers of the queue",
                    ["Worker", "State", "Slots", "Handles", "Heartbeat", "Build"],
                    workers.prefix(Self.shown).map(worker)
                )
            }
        }
    }

    private func worker(_ worker: WorkerSummary) -> [Cell] {
        let handles = worker.info?.handles ?? []
        let more = handles.count > 5 ? " and \(handles.count - 5) more" : ""
        return [
            Cell("Worker", "name") { tag("a", .href(WorkerLink.to(worker.id, visit.links)), text: worker.label) },
            .text("State", worker.phaseText, role: worker.isLost ? .dead : .plain),
            .measure(
                "Slots",
                "\(QuantityText.grouped(worker.inFlight))/\(worker.info.map { QuantityText.grouped($0.slots) } ?? "–")"
            ),
            .text("Handles", handles.sorted().prefix(5).joined(separator: ", ") + more),
            .measure("Heartbeat", Measure.milliseconds(worker.beatAgeMilliseconds)),
            BuildCell.cell(worker.info),
        ]
    }

    @MarkupBuilder private var waiting: Markup {
        let places = page.places
        if !places.waiting.isEmpty {
            tag("section") {
                tag("h2") {
                    "Waiting"
                    tag(
                        "span",
                        .class("dim"),
                        text:
                            " names of the \(QuantityText.grouped(places.waitingCount)) ready operations that start first"
                    )
                }
                TableView.markup(
                    "Names that wait",
                    ["Name", "Operations", "Handled"],
                    places.waiting.map { name, count in
                        [
                            Cell("Name", "name") { name }, .count("Operations", count),
                            queue.handles(name)
                                ? .text("Handled", "yes") : .text("Handled", "by no worker", role: .warning),
                        ]
                    }
                )
            }
        }
    }
}
