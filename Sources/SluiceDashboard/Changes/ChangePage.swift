import Operations
import SluiceOperator
import TerminalText

/// One change of many operations, with its progress and refusals.
struct ChangePage {
    let visit: Visit
    private let change: StoredChange
    /// nil = this version cannot read the change.
    private let job: ChangeJob?
    private let progress: ChangeJobProgress
    private let now: Int64

    init(_ visit: Visit) async throws {
        self.visit = visit
        let text = try visit.parameters.name("id")
        guard let id = OperationID(text) else { throw PageFailure.notFound("There is no change \(text).") }
        let stored = try await visit.site.broker.changes(id)
        guard let change = stored.changes.first else {
            throw PageFailure.notFound(
                "There is no change \(text).",
                notes: ["The last \(StoredChange.kept) changes are kept."]
            )
        }
        (self.change, now) = (change, stored.time)
        (job, progress) = change.content.map { ($0, $1) } ?? (nil, ChangeJobProgress(starts: [:]))
    }

    var content: PageContent {
        PageContent("Change", .operations, command: job?.command ?? ["doctor"]) {
            tag("p") { tag("a", .href(visit.links.to("changes")), text: "All changes") }
            if let job {
                tag("h1", text: job.title)
                panel(job)
                if change.isEnded { outcome(job) }
                refusals
            } else {
                unreadable
            }
        }
    }

    private func panel(_ job: ChangeJob) -> Markup {
        let (state, role) = ChangeText.condition(change, progress, now: now)
        return tag("div", .class("panel")) {
            ChangeText.bar(job, progress)
            tag("p") {
                tag("b", .class(role.className), text: state)
                " – \(QuantityText.grouped(progress.done)) of \(QuantityText.grouped(job.expected)) "
                    + "\(job.kind.participle), \(QuantityText.grouped(progress.refused)) refused"
            }
            tag("p", .class("dim")) {
                "by \(job.by) "
                TimeView.markup(change.createdAt, now: now)
                if !job.from.isEmpty { " from the dashboard on \(job.from)" }
                if !job.reason.isEmpty { " – \(job.reason)" }
                if let spread = job.spread { " – spread over \(DurationText.coarse(spread))" }
                if change.fence > 1 { " – taken over \(change.fence - 1)×" }
            }
            if !change.isEnded, change.stopper == nil, visit.may(job.kind.permission) { button("stop", "Stop…") }
        }
    }

    // MARK: After the end

    private static let shown: [OperationState] = [
        .ready, .executing, .scheduled, .blocked, .retrying, .dead, .cancelled, .finished,
    ]

    /// The operations of the changed queues as they are now, and the change that usually comes next.
    @MarkupBuilder private func outcome(_ job: ChangeJob) -> Markup {
        let known = visit.reading.board?.snapshot.queues ?? []
        let queues = progress.queues.compactMap { name in known.first { $0.queue == name } }
        if !queues.isEmpty {
            let states = Self.shown.filter { state in queues.contains { ($0.counts[state] ?? 0) > 0 } }
            let isCut = progress.queues.count == ChangeJobProgress.keptQueues
            tag(
                "h2",
                text: isCut
                    ? "The first \(progress.queues.count) queues of the change now" : "The queues of the change now"
            )
            TableView.markup(
                "Queues of the change",
                ["Queue"] + states.map(\.rawValue),
                queues.map { queue in
                    [Cell("Queue") { QueuePage.anchor(queue.queue, visit.links) }]
                        + states.map { state in count(state, queue) }
                }
            )
        }
        let steps = steps(job)
        if !steps.isEmpty {
            tag("div", .class("under")) {
                for (text, link) in steps { tag("a", .class("button"), .href(link), text: text) }
            }
        }
    }

    private func count(_ state: OperationState, _ queue: QueueSnapshot) -> Cell {
        let query = QueryText.term("queue", queue.queue)
        let number = queue.counts[state] ?? 0
        return Cell(state.rawValue, "number " + (number == 0 ? "dim" : "")) {
            tag(
                "a",
                .class("plain"),
                .href(visit.links.to("ops", query: ["state": state.rawValue, "q": query])),
                text: QuantityText.grouped(number)
            )
        }
    }

    /// The steps that usually come next, as far as this person may take them.
    private func steps(_ job: ChangeJob) -> [(String, Link)] {
        var steps: [(String, Link)] = []
        if progress.refused > 0 || progress.end != .complete, let plan = plan(job, job.kind) {
            steps.append(("New plan for the rest", plan))
        }
        if case .marked = job.target {
            let next: ChangeKind? = job.kind == .hold ? .release : job.kind == .cancel ? .retry : nil
            if let next, let plan = plan(job, next) {
                steps.append((next == .release ? "Release them" : "Retry them", plan))
            }
        }
        if job.kind == .retry {
            let errors = progress.queues.count == 1 ? QueryText.term("queue", progress.queues[0]) : ""
            steps.append(("What fails now, by error", visit.links.to("errors", query: ["q": errors])))
        }
        return steps
    }

    /// The plan of a change of the same operations; nil if this person may not make it.
    private func plan(_ job: ChangeJob, _ kind: ChangeKind) -> Link? {
        guard let action = OperationAction.allCases.first(where: { $0.kind == kind }) else { return nil }
        let target = ChangeTarget(action, job.target)
        return target.permissions.allSatisfy(visit.may) ? target.plan(visit.links) : nil
    }

    private func button(_ action: String, _ text: String) -> Markup {
        tag(
            "a",
            .class("button danger"),
            .href(visit.links.to("changes", change.id.description, action)),
            text: text
        )
    }

    private var unreadable: Markup {
        parts {
            tag("h1", text: "Change \(change.id)")
            Notice.markup(
                .warning,
                "This version of the dashboard cannot read this change, and leaves it alone. A newer version may have "
                    + "stored it, and can go on with it."
            )
            tag("p", .class("dim")) {
                "stored "
                TimeView.markup(change.createdAt, now: now)
            }
            if visit.may(.remove) { button("remove", "Remove…") }
        }
    }

    private var refusals: Markup? {
        guard !progress.refusals.isEmpty else { return nil }
        let rows = progress.refusals.map { refusal in
            [
                Cell("Operation", "id") {
                    tag(
                        "a",
                        .href(visit.links.to("ops", refusal.id.description, query: ["queue": refusal.queue])),
                        text: refusal.id.description
                    )
                },
                .text("Reason", refusal.reason),
            ]
        }
        let more = progress.refused > rows.count ? "Refused: the first \(rows.count)" : "Refused"
        return parts {
            tag("h2", text: more)
            TableView.markup("Refused operations", ["Operation", "Reason"], rows)
        }
    }
}
