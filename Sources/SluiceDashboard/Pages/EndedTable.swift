import Operations
import SluiceOperator
import TerminalText

/// The operations that a worker has ended, the newest first.
struct EndedTable {
    /// The most rows.
    static let most = 20

    let title: String
    let ended: [OperationDetail]
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

    private func row(_ detail: OperationDetail) -> [Cell] {
        let record = detail.record
        return [
            Cell("Operation") { OperationLink.markup(detail.id, queue: detail.queue, links) },
            Cell("State") { StateView.markup(detail.state) },
            Cell("Name", "name") { detail.envelope.name },
            .text("Queue", detail.queue),
            .measure("Ran", Measure.milliseconds(record.endedAt - record.startedAt)),
            Cell("Ended") { TimeView.markup(record.endedAt, now: now) },
        ]
    }
}
