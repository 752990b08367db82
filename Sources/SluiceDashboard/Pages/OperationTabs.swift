import Operations
import Selectors
import SluiceOperator
import TerminalText

/// The view of a list: its query, tab and place, as the address has them.
struct OperationsView {
    /// The text in the query box.
    let typed: String
    let state: OperationState?
    let cursor: String?
    /// The typed query with the state of the tab.
    let query: OperationQuery

    init(_ visit: Visit) throws {
        typed = visit.query["q"] ?? ""
        state = try visit.query.state()
        cursor = visit.query["cursor"]
        var query = try QueryText.parse(typed)
        if let state { query.terms.append(.states([state])) }
        self.query = query
    }

    /// The first page of the list.
    func link(_ links: Links) -> Link { links.to("ops", query: ["state": state?.rawValue, "q": typed]) }

    /// The address of what changes in the list.
    func refresh(_ links: Links, _ snapshot: NamespaceSnapshot) -> Link {
        let mark = "\(ListArrivals.mark(query, snapshot))"
        return links.to("live", "ops", query: ["state": state?.rawValue, "q": typed, "since": mark])
    }
}

/// The tabs of the states with their counts.
struct OperationTabs {
    private static let order: [OperationState] = [
        .executing, .retrying, .ready, .scheduled, .blocked, .dead, .cancelled, .expired, .finished,
    ]

    let visit: Visit
    let board: Board
    let state: OperationState?
    let typed: String
    let query: OperationQuery

    init(visit: Visit, board: Board, view: OperationsView) {
        self.init(visit: visit, board: board, state: view.state, typed: view.typed, query: view.query)
    }

    init(visit: Visit, board: Board, state: OperationState?, typed: String, query: OperationQuery) {
        (self.visit, self.board, self.state) = (visit, board, state)
        (self.typed, self.query) = (typed, query)
    }

    var markup: Markup {
        // Counts of the queues that the query allows.
        let allowed = Set(query.queues(of: board.snapshot.queues.map(\.queue)))
        let queues = board.snapshot.queues.filter { allowed.contains($0.queue) }
        return tag("nav", .class("tabs"), .named("aria-label", "States")) {
            tab(nil, "all", queues.reduce(0) { $0 + $1.counts.values.reduce(0, +) })
            Self.order.map { state in
                tab(state, state.rawValue, queues.reduce(0) { $0 + ($1.counts[state] ?? 0) })
            }
        }
    }

    private func tab(_ state: OperationState?, _ text: String, _ count: Int) -> Markup {
        let content = parts {
            if let state { StateMark.markup(state) }
            text
            // Matches of terms that are compared with each operation are not counted.
            if !query.filtersRows { tag("span", .class("total"), text: QuantityText.count(count)) }
        }
        let link = visit.links.to("ops", query: ["state": state?.rawValue, "q": typed])
        return state == self.state
            ? tag("a", .href(link), .named("aria-current", "page")) { content } : tag("a", .href(link)) { content }
    }
}
