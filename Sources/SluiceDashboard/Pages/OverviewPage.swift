import Operations
import SluiceOperator
import TerminalText

/// The counts, rates, problems, queues and running operations of the namespace.
struct OverviewPage {
    private static let shownQueues = 12
    private static let shownRuns = 20

    let visit: Visit
    let board: Board

    init(_ visit: Visit) throws(PageFailure) {
        self.visit = visit
        board = try visit.board()
    }

    var content: PageContent {
        PageContent("Overview", .overview, command: ["stats"]) {
            tag("h1", .class("unseen"), text: "Overview")
            counts
            flow
            attention
            tag("section") {
                tag("h2", text: "Queues")
                QueueTable(visit: visit, board: board, limit: Self.shownQueues).markup
            }
            running
        }
    }

    private static let order: [OperationState] = [
        .ready, .scheduled, .blocked, .executing, .retrying, .dead, .finished, .cancelled, .expired,
    ]

    private var counts: Markup {
        tag("section", .class("counts"), .named("aria-label", "Operations by state")) {
            Self.order.map { state in
                let count = board.count(state)
                return tag(
                    "a",
                    .class("count \(state.rawValue)\(count == 0 ? " zero" : "")"),
                    .href(visit.links.to("ops", query: ["state": state.rawValue]))
                ) {
                    tag("span", .class("label")) {
                        StateMark.markup(state)
                        state.rawValue
                    }
                    tag("strong") {
                        QuantityText.count(count)
                        if state == .executing { slots }
                    }
                }
            }
        }
    }

    /// The slots of live workers. What lost workers have claimed runs in none of them.
    private var slots: Markup {
        let lost = board.snapshot.queues.reduce(0) { $0 + $1.lostOperations }
        return lost > 0
            ? tag("small", .class("dead"), text: " \(QuantityText.count(lost)) lost")
            : tag("small", text: "/" + QuantityText.count(board.slots))
    }

    private var flow: Markup {
        let rates = board.rates.sum
        let recent = board.statistics.sum.recent
        let ended = board.statistics.sum.ended
        let sum = QuantityText.count(Int64(ended.reduce(0, +)))
        return tag("section", .class("flow panel")) {
            tag("dl", .class("figures")) {
                figure("in", QuantityText.rate(rates.enqueued), "/s")
                figure("out", QuantityText.rate(rates.ended), "/s")
                figure("failed", QuantityText.rate(rates.failed), "/s", role: rates.failed ?? 0 > 0 ? .dead : .plain)
                figure("wait p50", Measure.duration(recent.wait.percentile(0.5)))
                figure("wait p95", Measure.duration(recent.wait.percentile(0.95)))
                figure("run p50", Measure.duration(recent.run.percentile(0.5)))
                figure("run p95", Measure.duration(recent.run.percentile(0.95)))
                drain
                figure("workers", QuantityText.grouped(board.liveWorkers.count))
            }
            tag("figure") {
                BarChart.markup(ended, label: "\(sum) ended attempts in the last hour, by minute", classes: "hour")
                tag("figcaption", .class("dim"), text: "\(sum) ended in the last hour, by minute")
            }
        }
    }

    /// The time until the last queue that shrinks is empty, and the number of those that do not shrink.
    @MarkupBuilder private var drain: Markup {
        let estimates = board.snapshot.queues.compactMap { board.statistics.drain($0) }
        let longest = estimates.max { $0.seconds ?? 0 < $1.seconds ?? 0 }
        let others = estimates.count(where: \.needsAttention)
        tag("div") {
            tag("dt", text: "done in")
            tag("dd") {
                longest.flatMap { $0.seconds == nil ? nil : $0.text } ?? (others > 0 ? "never:" : "–")
                if others > 0 {
                    let hint = "The number of queues that grow, or from which nothing goes out"
                    tag("a", .class("warning"), .href(visit.links.to("queues")), .title(hint)) {
                        tag("small", text: " \(others) of \(estimates.count) queues do not shrink")
                    }
                }
            }
        }
    }

    private func figure(_ name: String, _ value: String, _ unit: String = "", role: TextRole = .plain) -> Markup {
        tag("div") {
            tag("dt", text: name)
            tag("dd", .class(role.className)) {
                value
                if !unit.isEmpty, value != "–" { tag("small", text: unit) }
            }
        }
    }

    // MARK: Problems

    @MarkupBuilder private var attention: Markup {
        let problems = self.problems
        if !problems.isEmpty {
            tag("section", .class("panel attention")) {
                tag("h2", text: "Attention")
                tag("ul") { problems.map { problem in tag("li", .class(problem.role.className)) { problem.markup } } }
            }
        }
    }

    private var problems: [(role: TextRole, markup: Markup)] {
        var problems: [(role: TextRole, markup: Markup)] = []
        let dead = board.count(.dead)
        if dead > 0 {
            let link = visit.links.to("ops", query: ["state": "dead"])
            problems.append((.dead, tag("a", .href(link), text: QuantityText.operationsAre(dead) + " dead")))
        }
        if board.liveWorkers.isEmpty, OperationState.allCases.contains(where: { !$0.isTerminal && board.count($0) > 0 })
        {
            let link = visit.links.to("workers")
            problems.append((.dead, tag("a", .href(link), text: "no worker runs, so nothing starts in any queue")))
        }
        for worker in board.workers where worker.isLost {
            let text = "worker \(worker.label) is lost: \(LostOutlook(of: worker, in: board.snapshot.queues).text)"
            problems.append((.dead, tag("a", .href(WorkerLink.to(worker.id, visit.links)), text: text)))
        }
        for queue in board.snapshot.queues {
            let conditions = QueueCondition.all(queue)
            guard let first = conditions.first else { continue }
            let names = board.unknownNames[queue.queue] ?? []
            let text = (conditions.map { $0.sentence(queue) } + names).joined(separator: "; ")
            let link = QueuePage.link(queue.queue, visit.links)
            problems.append((first.role, tag("a", .href(link), text: "queue \(queue.queue): \(text)")))
        }
        return problems
    }

    // MARK: Running operations

    private var running: Markup {
        let rows = board.executing.prefix(Self.shownRuns)
        return tag("section") {
            tag("h2") {
                "Running"
                tag("span", .class("dim"), text: " \(QuantityText.grouped(board.count(.executing))), longest first")
            }
            if rows.isEmpty {
                tag("p", .class("empty dim"), text: "Nothing runs.")
            } else {
                TableView.markup(
                    "Running operations",
                    ["Operation", "Name", "Queue", "Attempt", "Runs for", "Worker", "Progress", "Arguments"],
                    rows.map(row)
                )
            }
        }
    }

    private func row(_ entry: ExecutingSummary) -> [Cell] {
        let progress = ProgressText(entry)
        return [
            Cell("Operation", "id") { OperationLink.markup(entry, visit.links) },
            Cell("Name", "name") { OperationLink.named(entry, visit.links) },
            Cell("Queue") { QueuePage.anchor(entry.queue, visit.links) },
            .measure("Attempt", entry.tries),
            .measure("Runs for", Measure.milliseconds(entry.runtimeMilliseconds)),
            Cell("Worker", "worker") { WorkerLink.anchor(entry, visit.links) },
            Cell("Progress", "wide " + progress.role.className) { ProgressView.markup(progress) },
            Cell("Arguments", "arguments") { entry.arguments(visit.view) }.minor,
        ]
    }
}

/// A link to an operation with the end of its id.
enum OperationLink {
    /// A running operation. Untracked ones have no record, so they have no page.
    static func markup(_ entry: ExecutingSummary, _ links: Links) -> Markup {
        if entry.row.startedAt != nil { return markup(entry.id, queue: entry.queue, links) }
        let text = "…" + entry.id.description.suffix(ShortID.minimum)
        return tag("span", .class("id"), .title("\(entry.id), untracked: it has no record"), text: text)
    }

    /// The name of a running operation, which leads to its page like the id.
    static func named(_ entry: ExecutingSummary, _ links: Links) -> Markup {
        guard entry.row.startedAt != nil else { return Markup(text: entry.row.name) }
        return named(entry.row.name, entry.id, queue: entry.queue, links)
    }

    static func named(_ name: String, _ id: OperationID, queue: String, _ links: Links) -> Markup {
        tag("a", .class("plain"), .href(links.to("ops", id.description, query: ["queue": queue])), text: name)
    }

    static func markup(_ id: OperationID, queue: String, _ links: Links) -> Markup {
        tag(
            "a",
            .class("id"),
            .href(links.to("ops", id.description, query: ["queue": queue])),
            .title(id.description),
            text: "…" + id.description.suffix(ShortID.minimum)
        )
    }
}

/// The progress of a running operation.
enum ProgressView {
    static func markup(_ progress: ProgressText) -> Markup {
        switch progress {
        case .running(let fraction, let message):
            parts {
                // A worker of another language may have stored a number that is none.
                let share = fraction.isNaN ? 0 : min(max(fraction, 0), 1)
                tag("progress", .named("max", "100"), .value("\(Int(share * 100))"), .named("aria-label", "Progress")) {
                    ""
                }
                " \(QuantityText.percent(fraction))"
                if !message.isEmpty { " " + message }
            }
        default: Markup(text: progress.line(ascii: false, bar: 0))
        }
    }
}
