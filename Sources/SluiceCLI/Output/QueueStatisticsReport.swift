import Operations
import SluiceOperator

/// Prints statistics by queue: `docs/schema/queue-statistics.json`.
struct QueueStatisticsReport {
    let rows: [QueueStatisticsRow]
    let query: StatisticsQuery
    let namespace: String
    let absent: [AbsentNode]

    func print(_ invocation: Invocation) {
        let time = rows.map(\.recent.time).max() ?? invocation.now
        let span = query.times(at: time)
        invocation.print(QueueStatisticsRow.report(rows), names: rows.map(\.queue)) { queues in
            let members: [(String, JSONValue)] =
                [("v", 1), ("time", OperationJSON.time(time)), ("namespace", .string(namespace))]
                + StatisticsJSON.span(span)
                + [("queues", .array(queues)), ("absentNodes", AbsentNode.json(absent))]
            return .object(JSONObject(members))
        }
        invocation.console.note(rows.isEmpty ? "no queues yet" : StatisticsText.span(span))
        invocation.console.warn(absent)
    }
}
