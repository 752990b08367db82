import Operations
import TerminalText

/// Operations as comma-separated values. Spreadsheets do not read them as formulas.
package enum OperationCSV {
    package static let header = "id,state,priority,name,queue,attempt,maxAttempts,enqueuedAt,error"

    package static func line(_ detail: OperationDetail) -> String {
        [
            detail.id.description, detail.state.rawValue, detail.record.header.priority.rawValue,
            detail.envelope.name, detail.queue, "\(detail.record.attempt)", "\(detail.envelope.maxAttempts)",
            TimeText.rfc3339(detail.record.enqueuedAt), detail.errors.last?.failure.sentence ?? "",
        ].map(CSV.cell).joined(separator: ",")
    }
}
