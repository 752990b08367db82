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
        stored.changes.map { change in
            guard let (job, progress) = change.content else { return unreadable(change) }
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

    private func unreadable(_ change: StoredChange) -> [Cell] {
        [
            Cell("Change", "name") {
                tag("a", .href(visit.links.to("changes", change.id.description)), text: change.id.description)
            },
            Cell("When") { TimeView.markup(change.createdAt, now: stored.time) },
            .text("By", ""), .text("Reason", ""), .text("Progress", ""), .text("Done", ""), .text("Refused", ""),
            .text("State", "unreadable", role: .warning),
        ]
    }
}

extension StoredChange {
    /// The change and its progress; nil if this version cannot read it.
    var content: (ChangeJob, ChangeJobProgress)? {
        guard isReadable, let job = ChangeJob(definition), let progress = ChangeJobProgress(self.progress) else {
            return nil
        }
        return (job, progress)
    }
}
