import SluiceOperator
import Operations
import Sluice
import SluiceMonitor
import TerminalText

/// Events as lines. Columns have a fixed width because later rows are not known yet.
struct EventRows: Sendable {
    let format: OutputFormat
    /// The width of a line; nil = no limit.
    let width: Int?
    /// Whether all transitions are printed. A row then counts the transitions without an id.
    var isWhole = true

    /// The longest word of the column plus two blanks.
    private static let wordWidth =
        (OperationState.allCases.map(\.rawValue) + QueueChange.Verb.allCases.map { QueueChange($0, by: "").word })
        .reduce(0) { max($0, $1.displayWidth) } + 2

    var header: [String] {
        switch format {
        case .table, .wide: [line("TIME", "ID / BY", "STATE", "QUEUE", "NAME / DETAIL")]
        case .csv: ["time,queue,from,to,id,state,name,worker,change,count,by,reason"]
        case .json, .jsonl, .id: []
        }
    }

    /// Formats a batch of events.
    ///
    /// - Parameters:
    ///   - details: the details of the transitions' operations, in order; nil = not read, or not found.
    ///   - step: the whole step if `batch` is only the printed part of it.
    ///   - time: milliseconds since 1970.
    func lines(
        _ batch: EventBatch,
        _ details: [OperationDetail?] = [],
        of step: EventBatch? = nil,
        at time: Int64
    ) -> [String] {
        let (subject, change) = ((step ?? batch).subject, (step ?? batch).change)
        let rows = batch.transitions.enumerated().map { index, transition in
            EventRow(transition, index < details.count ? details[index] : nil, of: change)
        }
        switch format {
        case .json, .jsonl: return [EventJSON.object(batch, rows, changed: subject, at: time).serialized()]
        case .id: return rows.isEmpty ? subject.map { [$0.description] } ?? [] : rows.map(\.id)
        case .csv:
            return (batch.change.map { [cells(batch, change: $0, subject, at: time)] } ?? [])
                + rows.map { cells(batch, row: $0, at: time) }
        case .table, .wide:
            let more = isWhole ? batch.counts.values.reduce(0, +) - rows.count : 0
            let lost = { id in details.lazy.compactMap { $0?.nameOfLost(worker: id) }.first }
            return (batch.change.map { [line($0, $0.author(lost), subject, batch.queue, at: time)] } ?? [])
                + rows.map { line(clock(time), $0.id, $0.state.rawValue, batch.queue, $0.text) }
                + (more > 0 ? [line(clock(time), "and \(more) more", "-", batch.queue)] : [])
        }
    }

    /// Formats a range of event numbers for which no events are kept.
    func lines(unkept numbers: ClosedRange<Int64>, queue: String, at time: Int64) -> [String] {
        switch format {
        case .id, .csv: return []
        case .json, .jsonl:
            let batch = EventBatch(
                queue: queue,
                from: numbers.lowerBound,
                to: numbers.upperBound,
                counts: [:],
                transitions: []
            )
            return [EventJSON.object(batch, [], at: time, isKept: false).serialized()]
        case .table, .wide: return [line(clock(time), "\(numbers.count) not kept", "-", queue)]
        }
    }

    private func clock(_ time: Int64) -> String { TimeText.clock(time, fraction: true) }

    private func line(
        _ change: QueueChange,
        _ author: String,
        _ subject: OperationID?,
        _ queue: String,
        at time: Int64
    ) -> String {
        line(clock(time), author, change.word, queue, change.sentence(naming: subject))
    }

    private func line(_ time: String, _ id: String, _ state: String, _ queue: String, _ about: String = "") -> String {
        let text =
            Self.cell(time, 14) + Self.cell(SafeText.line(id), OperationID.characterCount + 2)
            + Self.cell(state, Self.wordWidth) + SafeText.line(queue)
            + (about.isEmpty ? "" : "  " + SafeText.line(about))
        return width.map { text.truncated(toWidth: $0) } ?? text
    }

    /// A cell of a column. A text that fills the column still gets two blanks after it.
    private static func cell(_ text: String, _ width: Int) -> String {
        text.displayWidth < width ? text.padded(toWidth: width) : text + "  "
    }
}

extension EventRows {
    private func cells(_ batch: EventBatch, row: EventRow, at time: Int64) -> String {
        Self.csv(
            [TimeText.rfc3339(time), batch.queue, "\(batch.from)", "\(batch.to)", row.id, row.state.rawValue, row.name]
                + [row.worker, "", "", row.by, row.reason]
        )
    }

    private func cells(_ batch: EventBatch, change: QueueChange, _ subject: OperationID?, at time: Int64) -> String {
        let id = subject?.description ?? ""
        return Self.csv(
            [TimeText.rfc3339(time), batch.queue, "\(batch.from)", "\(batch.to)", id, "", "", ""]
                + [change.verb.rawValue, "\(change.count)", change.by, change.detail]
        )
    }

    private static func csv(_ cells: [String]) -> String { cells.map(CSV.cell).joined(separator: ",") }
}
