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
                    tag("a", .href(visit.links.to("ops", refusal.id.description)), text: refusal.id.description)
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
