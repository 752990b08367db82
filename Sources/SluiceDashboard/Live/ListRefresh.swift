import Operations
import Selectors
import SluiceOperator
import TerminalText

/// The parts of a list that change by themselves: the counts of the tabs, cells of the shown rows, and the number of
/// operations that came since. A script asks for it; rows never come, go or move.
struct ListRefresh {
    /// The place of the number of new operations in a page.
    static func news(_ content: Markup = .empty) -> Markup {
        tag("p", .id("news"), .class("news"), .named("role", "status")) { content }
    }

    let visit: Visit
    private let board: Board
    private let view: OperationsView
    private let rows: [ListRow]

    init(_ visit: Visit) async throws {
        self.visit = visit
        board = try visit.board()
        view = try OperationsView(visit)
        let asked = (visit.query["rows"] ?? "").split(separator: " ").compactMap(OperationAddress.init(shown:))
        rows = try await visit.site.rows.rows(asked, board, sequence: visit.reading.sequence)
    }

    var content: PageContent {
        PageContent("Operations", .operations) {
            OperationTabs(visit: visit, board: board, view: view).markup
            Self.news(news)
            TableView.markup("Operations", [], rows.map(cells))
        }
    }

    private func cells(_ row: ListRow) -> [Cell] {
        [
            Cell("Operation", "id") { OperationLink.markup(row.address.id, queue: row.address.queue, visit.links) },
            row.stateCell(), row.attemptCell(), row.timeCell(now: board.snapshot.time), row.noteCell(),
        ]
    }

    @MarkupBuilder private var news: Markup {
        let since = visit.query["since"].flatMap { Int64($0) }.flatMap { $0 < 0 ? nil : $0 }
        let new = since.map { ListArrivals.mark(view.query, board.snapshot) - $0 } ?? 0
        if new > 0 {
            view.query.filtersRows
                ? "\(QuantityText.grouped(new)) new to scan – " : "\(QuantityText.grouped(new)) new – "
            tag("a", .href(view.link(visit.links)), text: "Show")
        }
    }
}

extension OperationAddress {
    /// Reads `QUEUE/ID`.
    fileprivate init?(shown text: Substring) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, NameRule.allows(String(parts[0])), let id = OperationID(String(parts[1])) else {
            return nil
        }
        self.init(queue: String(parts[0]), id: id)
    }
}
