import Operations
import SluiceOperator
import TerminalText

/// The parts of a list's row that change while the list is open.
struct ListRow: Sendable, Equatable {
    private static let longestNote = 300

    var address: OperationAddress
    var state: OperationState
    var attempt: String
    /// nil = not stored.
    var time: ShownTime?
    var note: String
    var noteRole = TextRole.plain

    init(_ detail: OperationDetail, _ view: PayloadView) {
        address = OperationAddress(queue: detail.queue, id: detail.id)
        state = detail.state
        attempt = "\(detail.record.attempt)/\(detail.reading(view).envelope.maxAttempts)"
        time = detail.shown
        note = String((detail.shownNote ?? "").prefix(Self.longestNote))
        if state == .dead { noteRole = .dead }
    }

    /// The row of a running operation, as a snapshot has it.
    init(_ entry: ExecutingSummary) {
        address = OperationAddress(queue: entry.queue, id: entry.id)
        (state, attempt) = (.executing, entry.tries)
        time = entry.row.startedAt.map { ShownTime(.started, $0) }
        let progress = ProgressText(entry)
        note = progress == .unknown ? "" : progress.line(ascii: true, bar: 0)
        if progress == .lost { noteRole = progress.role }
    }

    /// The rows of the running operations that the snapshot has.
    static func executing(_ board: Board) -> [OperationAddress: ListRow] {
        Dictionary(board.executing.lazy.map(ListRow.init).map { ($0.address, $0) }) { first, _ in first }
    }

    // MARK: Cells

    func stateCell() -> Cell { Cell("State") { StateView.markup(state) } }
    func attemptCell() -> Cell { .measure("Attempt", attempt) }
    func timeCell(now: Int64?) -> Cell {
        Cell("When", "when") {
            if let time { tag("span", .class("dim"), text: "\(time.kind.rawValue) ") }
            TimeView.markup(time?.milliseconds, now: now)
        }
    }

    func noteCell() -> Cell {
        Cell("Progress, error, tags", "about " + noteRole.className) { note }
    }
}
