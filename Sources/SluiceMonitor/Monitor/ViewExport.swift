import Operations
import SluiceOperator
import TerminalText

extension MonitorModel {
    /// The shown data as JSON: operations in the format of `list` and `show`, other screens in the format of `stats`.
    package var export: JSONValue? {
        if let detail { return detail.detail.map { OperationJSON.object($0, view) } }
        switch screen {
        case .operations:
            let rows = (operations.rows ?? []).filter { !operations.leaving.contains($0.address) }
            return ["v": 1, "operations": .array(rows.map { OperationJSON.object($0, view) })]
        case .events:
            return ["v": 1, "events": .array(events.shown.map(Self.json))]
        case .overview, .queues, .workers:
            return snapshot.map { StatsJSON.object($0, namespace: namespace) }
        }
    }

    /// The name of the file: `sluice-operations-20260102T120431.json`.
    package var exportName: String? {
        guard let time = board?.time else { return nil }
        let digits = TimeText.rfc3339(time).prefix(19).filter { $0 != "-" && $0 != ":" }
        let what = detail.map { $0.address.id.description } ?? screen.title.lowercased()
        return "sluice-\(what)-\(digits).json"
    }

    private static func json(_ line: EventLine) -> JSONValue {
        ["at": .string(TimeText.rfc3339(line.at)), "queue": .string(line.queue), "text": .string(line.text)]
    }
}
