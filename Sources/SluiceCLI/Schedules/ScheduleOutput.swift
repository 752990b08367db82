import Operations
import Schedules
import Sluice
import SluiceMonitor
import TerminalText

/// A schedule as JSON: `docs/schema/schedule.json`.
enum ScheduleJSON {
    static func object(_ schedule: OperationSchedule) -> JSONValue {
        let (recurrence, stored, rules) = (schedule.recurrence, schedule.stored, schedule.rules)
        return [
            "v": 1,
            "id": .string(schedule.id),
            "queue": .string(schedule.queue),
            "name": .string(schedule.name),
            "state": .string(schedule.state.rawValue),
            "everySeconds": JSONValue((recurrence?.interval).map { Double($0) / 1000 }),
            "cron": JSONValue(recurrence?.cron?.expression),
            "zone": JSONValue(recurrence?.cron?.zone),
            "next": time(stored.due),
            "nextLocal": JSONValue(stored.due.flatMap { due in recurrence.map { $0.localTime(due) } }),
            "enqueued": .number(schedule.enqueued),
            "last": time(stored.runs.last?.instant),
            "lastOperation": JSONValue(stored.runs.last?.id),
            "missed": time(stored.runs.missedAt),
            "overlapped": time(stored.runs.overlappedAt),
            "fault": JSONValue(schedule.fault),
            "misfire": .string(rules.misfire.rawValue),
            "ifExists": JSONValue(rules.ifExists?.rawValue),
            "jitterSeconds": JSONValue(Double(rules.jitter.wholeMilliseconds) / 1000),
            "start": time(rules.start?.milliseconds),
            "end": time(rules.end?.milliseconds),
            "changedAt": time(stored.changedAt),
            "changedBy": .string(stored.changedBy),
        ]
    }

    private static func time(_ milliseconds: Int64?) -> JSONValue { JSONValue(milliseconds.map(TimeText.rfc3339)) }
}

/// Formats a schedule as text.
enum ScheduleText {
    /// The next run, or the reason why the schedule does not run.
    static func sentence(_ schedule: OperationSchedule, now: Int64) -> String {
        switch schedule.state {
        case .active:
            let due = schedule.stored.due ?? now
            let local = schedule.recurrence.map { $0.localTime(due) } ?? TimeText.rfc3339(due)
            let when = "\(TimeText.relative(due, now: now)) (\(local))"
            return due < now - 2000
                ? "is late: it was due \(when), and no worker of queue \(schedule.queue) has enqueued it"
                : "runs next \(when)"
        case .paused:
            let trace = schedule.changed
            return "does not run: paused \(TimeText.relative(schedule.stored.changedAt, now: now)) by \(trace.by)"
        case .over: return "does not run any more: no instant is left before its end"
        case .stopped: return "does not run: a worker has stopped it: \(schedule.fault ?? "")"
        }
    }

    /// The command that makes the schedule run; nil = none.
    static func fix(_ schedule: OperationSchedule) -> String? {
        switch schedule.state {
        case .active, .over: nil
        case .paused: "\(Program.name) schedule resume \(schedule.id) -q \(schedule.queue)"
        case .stopped:
            "\(Program.name) schedule add \(schedule.id) \(schedule.name) … --replace, with the keys of the workers"
        }
    }
}

/// The next runs of a schedule.
struct SchedulePreview {
    let definition: ScheduleDefinition
    let runs: [Int64]
    let now: Int64

    init(_ definition: ScheduleDefinition, count: Int, now: Int64) {
        self.definition = definition
        self.now = now
        runs = definition.next(count, after: now)
    }

    func print(_ invocation: Invocation) {
        let (console, recurrence) = (invocation.console, definition.recurrence)
        switch invocation.format {
        case .json, .jsonl:
            let next = runs.map { run -> JSONValue in
                ["time": .string(TimeText.rfc3339(run)), "local": .string(recurrence.localTime(run))]
            }
            console.print(["v": 1, "next": .array(next)], invocation.format)
        case .id: console.print(runs.map(TimeText.rfc3339))
        case .table, .wide, .csv:
            var table = Table(["LOCAL TIME", "UTC", "WHEN"].map { TableColumn($0) })
            for run in runs {
                let cells = [recurrence.localTime(run), TimeText.rfc3339(run), TimeText.relative(run, now: now)]
                table.append(cells.map { TableCell($0) })
            }
            console.print(table, invocation.format, showsHeader: invocation.options.showsHeader)
            if runs.isEmpty { console.note("no instant is left") }
        }
    }
}
