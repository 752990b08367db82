import Operations
import SluiceOperator
import TerminalText

/// The operations that a worker has ended, the newest first.
struct EndedTable {
    /// The most rows.
    static let most = 20

    struct Row: Sendable {
        let id: OperationID
        let queue: String
        let state: OperationState
        let name: String
        let startedAt: Int64
        let endedAt: Int64

        init(_ detail: OperationDetail) {
            (id, queue, state, name) = (detail.id, detail.queue, detail.state, detail.envelope.name)
            (startedAt, endedAt) = (detail.record.startedAt, detail.record.endedAt)
        }
    }

    let title: String
    let ended: [Row]
    let now: Int64
    let links: Links

    @MarkupBuilder var markup: Markup {
        if !ended.isEmpty {
            tag("section") {
                tag("h2", text: title)
                TableView.markup(
                    "Ended operations",
                    ["Operation", "State", "Name", "Queue", "Ran", "Ended"],
                    ended.prefix(Self.most).map(row)
                )
            }
        }
    }

    private func row(_ row: Row) -> [Cell] {
        [
            Cell("Operation") { OperationLink.markup(row.id, queue: row.queue, links) },
            Cell("State") { StateView.markup(row.state) },
            Cell("Name", "name") { row.name },
            .text("Queue", row.queue),
            .measure("Ran", Measure.milliseconds(row.endedAt - row.startedAt)),
            Cell("Ended") { TimeView.markup(row.endedAt, now: now) },
        ]
    }
}
