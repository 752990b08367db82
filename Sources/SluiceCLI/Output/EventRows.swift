import Operations
import Sluice
import TerminalText

/// Transitions as lines, in columns of fixed width because later rows are not known.
struct EventRows: Sendable {
    let format: OutputFormat
    /// The width of a line; nil = no limit.
    let width: Int?

    var header: [String] {
        switch format {
        case .table, .wide: [line("TIME", "ID", "STATE", "QUEUE")]
        case .csv: ["time,queue,id,state"]
        case .json, .jsonl, .id: []
        }
    }

    /// - Parameter now: milliseconds since 1970, the time of the rows.
    func lines(_ batch: EventBatch, at now: Int64) -> [String] {
        switch format {
        case .json, .jsonl: return [EventsVerb.json(batch).serialized()]
        case .id: return batch.transitions.map(\.id.description)
        case .csv:
            return batch.transitions.map {
                [TimeText.rfc3339(now), batch.queue, $0.id.description, $0.state.rawValue].map(CSV.cell)
                    .joined(separator: ",")
            }
        case .table, .wide:
            let time = TimeText.clock(now, fraction: true)
            let more = Int(batch.to - batch.from + 1) - batch.transitions.count
            return batch.transitions.map { line(time, $0.id.description, $0.state.rawValue, batch.queue) }
                + (more > 0 ? [line(time, "and \(more) more", "-", batch.queue)] : [])
        }
    }

    private func line(_ time: String, _ id: String, _ state: String, _ queue: String) -> String {
        let text =
            time.padded(toWidth: 14) + id.padded(toWidth: OperationID.characterCount + 2) + state.padded(toWidth: 11)
            + SafeText.line(queue)
        return width.map { text.truncated(toWidth: $0) } ?? text
    }
}
