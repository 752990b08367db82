import Operations
import Sluice
import SluiceOperator
import TerminalText

/// One schedule: its state, rules, next instants in two zones, and last runs.
struct SchedulePage {
    private static let instants = 5
    private static let runs = 20

    private let visit: Visit
    private let schedule: OperationSchedule
    private let history: ScheduleHistory
    private let queue: QueueSnapshot?
    private let now: Int64

    init(_ visit: Visit) async throws {
        self.visit = visit
        let board = try visit.board()
        let text = "\(visit.query["queue"] ?? SluiceDefaults.queue)/\(visit.query["id"] ?? "")"
        guard let name = ScheduleName(text: text) else {
            throw PageFailure.notFound("\(text) is no name of a schedule.")
        }
        let found = try await ScheduleFinder.find(name, visit.site)
        let time = board.snapshot.time ?? 0
        (schedule, now) = (found, time)
        queue = board.snapshot.queues.first { $0.queue == name.queue }
        history = try await ScheduleHistory.read([found], count: Self.runs, now: time, visit.site.broker)[0]
    }

    var content: PageContent {
        let command = ["schedule", "show", schedule.id, "-q", schedule.queue]
        return PageContent("Schedule \(schedule.id)", .schedules, command: command, holdsStill: true) {
            OutcomeNotice.markup(visit)
            tag("div", .class("title")) {
                tag("h1", text: schedule.id)
                tag("span", .class(schedule.state.role.className), text: schedule.state.rawValue)
                actions
            }
            state
            tag("div", .class("columns")) {
                tag("div") {
                    nextRuns
                    lastRuns
                }
                tag("div") {
                    facts
                    operation
                }
            }
        }
    }

    private var actions: Markup {
        tag("div", .class("actions")) {
            for action in ScheduleAction.allCases
            where visit.may(action.permission) && action.isPossible(schedule.state) {
                tag(
                    "a",
                    .class(action.isFinal ? "button danger" : "button"),
                    .href(ScheduleLink.to(action, schedule, visit.links)),
                    text: action.title
                )
            }
        }
    }

    @MarkupBuilder private var state: Markup {
        let sentence = "\(schedule.id) " + ScheduleText.sentence(schedule, now: now)
        let isGood = schedule.state == .active || schedule.state == .over
        isGood ? tag("p", text: sentence) : Notice.markup(schedule.state == .stopped ? .bad : .warning, sentence)
        if let fix = ScheduleText.fix(schedule) { CommandLineView(visit.site).markup(text: fix, label: "Try") }
        if schedule.state == .active, let queue {
            if queue.liveWorkers.isEmpty {
                Notice.markup(.warning, "No worker serves queue \(schedule.queue), so nothing is enqueued.")
            } else if queue.paused {
                Notice.markup(.warning, "Queue \(schedule.queue) is paused: enqueued operations wait.")
            }
        }
    }

    // MARK: Runs

    private var nextRuns: Markup {
        tag("section") {
            tag("h2", text: "Next runs")
            let instants = schedule.definition?.next(Self.instants, after: now) ?? []
            if instants.isEmpty {
                tag("p", .class("dim"), text: "No instant is left.")
            } else {
                if schedule.state != .active {
                    tag(
                        "p",
                        .class("dim"),
                        text: "By the rule. Nothing is enqueued while it is \(schedule.state.rawValue)."
                    )
                }
                let rows = instants.map(nextRow)
                TableView.markup("Next runs", rows[0].map(\.label), rows)
            }
        }
    }

    /// The instant in the zone of the schedule and in UTC; equal intervals have no zone.
    private func nextRow(_ instant: Int64) -> [Cell] {
        var cells = [Cell.text("UTC", TimeText.rfc3339(instant)), .text("When", TimeText.relative(instant, now: now))]
        if let recurrence = schedule.recurrence, let zone = recurrence.cron?.zone, zone != "UTC" {
            cells.insert(.text(zone, recurrence.localTime(instant)), at: 0)
        }
        return cells
    }

    private var lastRuns: Markup {
        tag("section") {
            tag("h2", text: "Last runs")
            if history.runs.isEmpty {
                tag(
                    "p",
                    .class("dim"),
                    text: "No instant of the rule has come yet. Operations of “run now” are in this list:"
                )
            } else {
                tag("p") { RunStrip.markup(history) }
                TableView.markup(
                    "Last runs",
                    ["Instant", "When", "Outcome", "Operation"],
                    history.runs.reversed().map(row)
                )
                tag(
                    "p",
                    .class("dim more"),
                    text: "By the instants of the current rule; operations of “run now” are not among them."
                )
            }
            tag("p", .class("more")) {
                tag("a", .href(operations), text: "All operations of this schedule")
            }
        }
    }

    private var operations: Link {
        let query = "\(QueryText.term("queue", schedule.queue)) \(QueryText.term("schedule", schedule.id))"
        return visit.links.to("ops", query: ["q": query])
    }

    private func row(_ run: ScheduleHistory.Run) -> [Cell] {
        [
            .text("Instant", schedule.recurrence?.localTime(run.instant) ?? TimeText.rfc3339(run.instant)),
            .text("When", TimeText.relative(run.instant, now: now)),
            Cell("Outcome", run.role.className) {
                if case .enqueued(let state) = run.outcome { StateView.markup(state) } else { run.text }
            },
            Cell("Operation") {
                if case .enqueued = run.outcome { OperationLink.markup(run.id, queue: schedule.queue, visit.links) }
            },
        ]
    }

    // MARK: Facts

    private var facts: Markup {
        let (rules, runs) = (schedule.rules, schedule.stored.runs)
        return tag("section", .class("panel")) {
            tag("dl", .class("facts")) {
                FactLine.markup("when") { schedule.recurrence?.description ?? "unreadable" }
                FactLine.markup("queue") {
                    tag(
                        "a",
                        .href(visit.links.to("ops", query: ["q": QueryText.term("queue", schedule.queue)])),
                        text: schedule.queue
                    )
                }
                FactLine.markup("missed instants") {
                    rules.misfire == .latest ? "the latest one is enqueued" : "are skipped"
                }
                FactLine.markup("if one is in flight") { rules.ifExists?.rawValue ?? "both run side by side" }
                if rules.jitter > .zero { FactLine.markup("jitter") { "up to \(DurationText.coarse(rules.jitter))" } }
                if let start = rules.start { FactLine.markup("start") { TimeText.rfc3339(start.milliseconds) } }
                if let end = rules.end { FactLine.markup("end") { TimeText.rfc3339(end.milliseconds) } }
                FactLine.markup("enqueued") { QuantityText.grouped(runs.enqueued) }
                if let last = runs.last { FactLine.markup("last") { TimeView.markup(last.instant, now: now) } }
                if let missed = runs.missedAt { FactLine.markup("last missed") { TimeView.markup(missed, now: now) } }
                if let at = runs.overlappedAt { FactLine.markup("last overlap") { TimeView.markup(at, now: now) } }
                FactLine.markup("changed") {
                    TimeView.markup(schedule.stored.changedAt, now: now)
                    " by \(schedule.stored.changedBy)"
                }
            }
        }
    }

    /// The operation that the schedule enqueues.
    @MarkupBuilder private var operation: Markup {
        if let definition = schedule.definition {
            let id = ScheduleDefinition.operationID(schedule: schedule.id, queue: schedule.queue, instant: 0)
            let reading = EnvelopeReading(
                definition.envelope,
                id: id,
                queue: schedule.queue,
                view: PayloadView(redaction: visit.view.redaction)
            )
            tag("section", .class("panel")) {
                tag("h2", text: "Enqueues \(reading.envelope.name)")
                let arguments = ArgumentsText.line(reading)
                arguments.isEmpty
                    ? tag("p", .class("dim"), text: "without arguments")
                    : tag("pre", .named("tabindex", "0")) { Markup(block: arguments) }
            }
        }
    }
}
