import Operations
import Schedules
import TerminalText

/// A schedule as JSON: `docs/schema/schedule.json`.
package enum ScheduleJSON {
    package static func object(_ schedule: OperationSchedule) -> JSONValue {
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
package enum ScheduleText {
    /// The next run, or the reason why the schedule does not run.
    package static func sentence(_ schedule: OperationSchedule, now: Int64) -> String {
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
    package static func fix(_ schedule: OperationSchedule) -> String? {
        switch schedule.state {
        case .active, .over: nil
        case .paused: "\(Program.name) schedule resume \(schedule.id) -q \(schedule.queue)"
        case .stopped:
            "\(Program.name) schedule add \(schedule.id) \(schedule.name) … --replace, with the keys of the workers"
        }
    }
}
