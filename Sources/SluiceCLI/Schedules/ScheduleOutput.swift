import Operations
import Schedules
import SluiceOperator
import TerminalText

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
        let recurrence = definition.recurrence
        let report = RowReport<Int64>(
            runs,
            [
                .text("LOCAL TIME", field: "local") { recurrence.localTime($0) },
                .text("UTC", field: "time") { TimeText.rfc3339($0) },
                .text("WHEN") { TimeText.relative($0, now: now) },
            ]
        )
        invocation.print(report, names: runs.map(TimeText.rfc3339)) { ["v": 1, "next": .array($0)] }
        if runs.isEmpty, invocation.format.isText { invocation.console.note("no instant is left") }
    }
}
