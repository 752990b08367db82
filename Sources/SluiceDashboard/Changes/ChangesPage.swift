import Operations
import SluiceOperator
import TerminalText

/// Sentences about a stored change.
enum ChangeText {
    static func condition(_ change: StoredChange, _ progress: ChangeJobProgress, now: Int64) -> (String, TextRole) {
        switch progress.end {
        case .complete: ("complete", .finished)
        case .stopped: ("stopped" + (change.stopper.map { " by \($0)" } ?? ""), .cancelled)
        case .failed(let reason): ("failed: \(reason)", .dead)
        case nil:
            if let stopper = change.stopper {
                ("stopping, asked by \(stopper)", .warning)
            } else if change.leaseEndsAt <= now {
                ("waits for a dashboard", .warning)
            } else {
                ("running", .executing)
            }
        }
    }

    static func bar(_ job: ChangeJob, _ progress: ChangeJobProgress) -> Markup {
        let all = max(job.expected, progress.done + progress.refused, 1)
        return tag(
            "progress",
            .class("wide"),
            .named("value", "\(progress.end == .complete ? all : progress.done + progress.refused)"),
            .named("max", "\(all)"),
            .named("aria-label", "Progress")
        )
    }
}

/// The last changes of many operations.
struct ChangesPage {
    let visit: Visit
    private let stored: StoredChanges

    init(_ visit: Visit) async throws {
        self.visit = visit
        stored = try await visit.site.broker.changes(nil)
    }

    var content: PageContent {
        PageContent("Changes", .operations, command: ["events", "--changes"], holdsStill: true) {
            tag("h1", text: "Changes of many operations")
            if rows.isEmpty {
                Empty.markup("No change. Mark operations in the list, or choose all that match.")
            } else {
                TableView.markup("Changes", Self.columns, rows)
                tag("p", .class("dim"), text: "The last \(StoredChange.kept) changes are kept.")
            }
        }
    }

    private static let columns = ["Change", "When", "By", "Reason", "Progress", "Done", "Refused", "State"]

    private var rows: [[Cell]] {
        stored.changes.compactMap { change in
            guard let job = ChangeJob(change.definition), let progress = ChangeJobProgress(change.progress) else {
                return nil
            }
            let (text, role) = ChangeText.condition(change, progress, now: stored.time)
            return [
                Cell("Change", "name") {
                    tag("a", .href(visit.links.to("changes", change.id.description)), text: job.title)
                },
                Cell("When") { TimeView.markup(change.createdAt, now: stored.time) },
                .text("By", job.by),
                .text("Reason", job.reason),
                Cell("Progress") { ChangeText.bar(job, progress) },
                .count("Done", progress.done),
                .count("Refused", progress.refused, role: .warning),
                .text("State", text, role: role),
            ]
        }
    }
}

/// One change of many operations, with its progress and refusals.
struct ChangePage {
    let visit: Visit
    private let change: StoredChange
    private let job: ChangeJob
    private let progress: ChangeJobProgress
    private let now: Int64

    init(_ visit: Visit) async throws {
        self.visit = visit
        let text = try visit.parameters.name("id")
        guard let id = OperationID(text) else { throw PageFailure.notFound("There is no change \(text).") }
        let stored = try await visit.site.broker.changes(id)
        guard let change = stored.changes.first, let job = ChangeJob(change.definition),
            let progress = ChangeJobProgress(change.progress)
        else {
            throw PageFailure.notFound(
                "There is no change \(text).",
                notes: ["The last \(StoredChange.kept) changes are kept."]
            )
        }
        (self.change, self.job, self.progress, now) = (change, job, progress, stored.time)
        let isLeft = !change.isEnded && change.leaseEndsAt <= stored.time
        // Without a server of its own, a mounted dashboard takes changes over when a page asks.
        if isLeft, !visit.site.options.isReadOnly { await visit.site.changes.start() }
    }

    var content: PageContent {
        let (state, role) = ChangeText.condition(change, progress, now: now)
        return PageContent("Change", .operations, command: job.command) {
            tag("p") { tag("a", .href(visit.links.to("changes")), text: "All changes") }
            tag("h1", text: job.title)
            tag("div", .class("panel")) {
                ChangeText.bar(job, progress)
                tag("p") {
                    tag("b", .class(role.className), text: state)
                    " – \(QuantityText.grouped(progress.done)) of \(QuantityText.grouped(job.expected)) "
                        + "\(job.kind.participle), \(QuantityText.grouped(progress.refused)) refused"
                }
                tag("p", .class("dim")) {
                    "by \(job.by) "
                    TimeView.markup(change.createdAt, now: now)
                    if !job.reason.isEmpty { " – \(job.reason)" }
                    if let spread = job.spread { " – spread over \(DurationText.coarse(spread))" }
                    if change.fence > 1 { " – taken over \(change.fence - 1)×" }
                }
                if !change.isEnded, change.stopper == nil, visit.may(job.kind.permission) {
                    tag(
                        "a",
                        .class("button danger"),
                        .href(visit.links.to("changes", change.id.description, "stop")),
                        text: "Stop…"
                    )
                }
            }
            refusals
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
