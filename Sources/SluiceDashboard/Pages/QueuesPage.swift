import Operations
import SluiceOperator
import TerminalText

/// All queues, with their limits and the controls to pause them.
struct QueuesPage {
    let visit: Visit
    let board: Board
    private let order: QueueOrder?

    init(_ visit: Visit) throws(PageFailure) {
        self.visit = visit
        board = try visit.board()
        guard let sort = visit.query["sort"] else {
            order = nil
            return
        }
        guard let order = QueueOrder(rawValue: sort) else {
            let orders = QueueOrder.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("Queues cannot be sorted by \(sort). Use one of: \(orders).")
        }
        self.order = order
    }

    var content: PageContent {
        PageContent("Queues", .queues, command: ["queue", "ls"], holdsStill: true) {
            OutcomeNotice.markup(visit)
            tag("h1", text: "Queues")
            tag("section") { QueueTable(visit: visit, board: board, order: order).markup }
            tag("section") {
                tag("h2", text: "Limits and pauses")
                tag("div", .class("cards")) { board.snapshot.queues.map(card) }
            }
        }
    }

    private func card(_ queue: QueueSnapshot) -> Markup {
        tag("div", .class("panel")) {
            tag("div", .class("title")) {
                tag("h2") { tag("a", .href(QueuePage.link(queue.queue, visit.links)), text: queue.queue) }
                if visit.may(.pause) {
                    let action: QueueAction = queue.paused ? .resume : .pause
                    tag("div", .class("actions")) {
                        tag(
                            "a",
                            .class("button"),
                            .href(visit.links.to("queues", action.rawValue, query: ["queue": queue.queue])),
                            .named("aria-label", "\(action.title) queue \(queue.queue)"),
                            text: action.title
                        )
                    }
                }
            }
            for condition in QueueCondition.all(queue) {
                tag("p", .class("warning"), text: condition.sentence(queue))
            }
            tag("p", text: LimitText.line(queue, time: .relative))
            for line in LimitText.keys(queue) where !line.isEmpty { tag("p", .class("dim"), text: line) }
            if let next = queue.nextStartMilliseconds {
                tag("p", .class("dim"), text: "next start by the rate in \(DurationText.precise(.milliseconds(next)))")
            }
        }
    }
}
