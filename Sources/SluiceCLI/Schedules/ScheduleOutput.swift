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
