import Operations
import Sluice
import SluiceOperator
import TerminalText

/// The schedules of the namespace or of one queue, next instant first.
struct SchedulesPage {
    /// The most queues of which schedules are read at once.
    private static let queues = 50
    /// The most rows whose last runs are read.
    private static let histories = 50
    private static let runs = 8
    private static let instants = 5

    private let visit: Visit
    private let board: Board
    private let queue: String?
    private let schedules: [OperationSchedule]
    private let history: [ScheduleHistory]
    private let now: Int64

    init(_ visit: Visit) async throws {
        self.visit = visit
        board = try visit.board()
        now = board.snapshot.time ?? 0
        queue = visit.query["queue"]
        let broker = visit.site.broker
        let rows: [ScheduleRow]
        if let queue {
            _ = try board.snapshot.queue(queue)
            rows = ScheduleRow.sorted(
                try await broker.allSchedules(queue: queue).map { ScheduleRow(queue: queue, $0) }
            )
        } else {
            rows = try await broker.scheduleRows(of: board.snapshot, queues: Self.queues)
        }
        schedules = rows.map { OperationSchedule($0.stored, queue: $0.queue) }
        let first = Array(schedules.prefix(Self.histories))
        history = try await ScheduleHistory.read(first, count: Self.runs, now: now, broker)
    }

    var content: PageContent {
        let command = ["schedule", "ls"] + (queue.map { ["-q", $0] } ?? [])
        return PageContent("Schedules", .schedules, command: command, holdsStill: true) {
            OutcomeNotice.markup(visit)
            tag("div", .class("title")) {
                tag("h1", text: queue.map { "Schedules of queue \($0)" } ?? "Schedules")
                tag("span", .class("dim"), text: summary)
                if queue != nil { tag("a", .href(visit.links.to("schedules")), text: "All queues") }
            }
            if schedules.isEmpty {
                Empty.markup(
                    "No schedule.",
                    command: (["schedule", "add", "ID", "NAME", "--every", "10m"], visit.site)
                )
            } else {
                visit.may(.pause) ? form : tag("section") { table }
                if history.contains(where: { !$0.runs.isEmpty }) { legend }
            }
            rest
        }
    }

    private var summary: String {
        let states = OperationSchedule.State.allCases.map { state in
            (state, schedules.count { $0.state == state })
        }
        let texts = states.filter { $0.1 > 0 }.map { "\(QuantityText.grouped($0.1)) \($0.0.rawValue)" }
        return texts.joined(separator: ", ")
    }

    /// The queues whose schedules are not all in the list.
    @MarkupBuilder private var rest: Markup {
        if queue == nil {
            let shown = Dictionary(grouping: schedules, by: \.queue).mapValues(\.count)
            let hidden = board.snapshot.queues.filter { $0.schedules.count > shown[$0.queue] ?? 0 }
            for part in hidden.prefix(20) {
                tag("p", .class("more")) {
                    tag(
                        "a",
                        .href(visit.links.to("schedules", query: ["queue": part.queue])),
                        text: "All \(QuantityText.grouped(part.schedules.count)) schedules of queue \(part.queue)"
                    )
                }
            }
            if hidden.count > 20 { tag("p", .class("dim"), text: "\(hidden.count - 20) more queues have schedules.") }
        }
    }

    /// The table with a check box in each row, and the buttons for the chosen ones.
    private var form: Markup {
        let action = visit.links.to("schedules", ScheduleAction.pause.rawValue)
        return tag("form", .class("marks"), .named("method", "get"), .action(action)) {
            table
            tag("div", .class("under")) {
                MarkForm.markCount
                "With the marked ones:"
                for action in [ScheduleAction.pause, .resume] {
                    tag("button", .url("formaction", visit.links.to("schedules", action.rawValue)), text: action.title)
                }
            }
        }
    }

    private var table: Markup {
        let columns = ["Schedule", "State", "When", "Next", "Last runs", "Enqueued", "If one is in flight", "Enqueues"]
        return TableView.markup(
            "Schedules",
            (visit.may(.pause) ? [""] : []) + columns,
            schedules.enumerated().map { row($1, at: $0) },
            classes: "schedules"
        )
    }

    private func row(_ schedule: OperationSchedule, at index: Int) -> [Cell] {
        let box = Cell("Mark", Cell.mark) {
            void(
                "input",
                .named("type", "checkbox"),
                .name("schedule"),
                .value(ScheduleName(schedule).text),
                .named("aria-label", "Mark schedule \(schedule.id)")
            )
        }
        let cells = [
            Cell("Schedule", "name") {
                tag("a", .href(ScheduleLink.to(schedule, visit.links)), text: schedule.id)
                tag("span", .class("detail"), text: "queue \(schedule.queue)")
            },
            .text("State", schedule.state.rawValue, role: schedule.state.role),
            .text("When", schedule.recurrence?.description ?? "unreadable"),
            Cell("Next", "wide") { next(schedule, at: index) },
            Cell("Last runs", "chart") {
                if index < history.count {
                    RunStrip.markup(history[index])
                } else {
                    tag("a", .href(ScheduleLink.to(schedule, visit.links)), text: "show")
                }
            },
            .count("Enqueued", schedule.enqueued),
            .text("If one is in flight", schedule.rules.ifExists?.rawValue ?? "both run", role: .dim).minor,
            Cell("Enqueues") {
                tag(
                    "a",
                    .href(visit.links.to("ops", query: ["q": QueryText.term("schedule", schedule.id)])),
                    text: schedule.name
                )
            },
        ]
        return visit.may(.pause) ? [box] + cells : cells
    }

    @MarkupBuilder private func next(_ schedule: OperationSchedule, at index: Int) -> Markup {
        if schedule.state == .active, let definition = schedule.definition {
            let due = schedule.stored.due ?? now
            TimeView.markup(due, now: now)
            let instants = [due] + definition.next(Self.instants - 1, after: due)
            tag("details", .id("next-\(index)")) {
                tag("summary", text: definition.recurrence.localTime(due))
                for instant in instants {
                    tag("span", .class("detail"), text: bothZones(instant, definition.recurrence))
                }
            }
        } else {
            tag("span", .class("dim"), text: ScheduleText.sentence(schedule, now: now))
        }
    }

    private func bothZones(_ instant: Int64, _ recurrence: Recurrence) -> String {
        let (local, universal) = (recurrence.localTime(instant), TimeText.rfc3339(instant))
        return (recurrence.cron?.zone ?? "UTC") == "UTC" ? universal : "\(local) = \(universal)"
    }

    private var legend: Markup {
        tag(
            "p",
            .class("dim legend"),
            text:
                "Last runs, oldest first: low = finished or under way, high = dead, cancelled, expired, missed or not "
                + "enqueued because one was in flight, line = no record. The page of a schedule has them as a table."
        )
    }
}
