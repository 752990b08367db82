import Operations
import Selectors
import SluiceOperator
import TerminalText

/// The operations that a query finds, page by page.
struct OperationsPage {
    private static let pageSize = 50
    /// The most operations to compare with the query for one page.
    private static let scanLimit = 100_000

    let visit: Visit
    private let board: Board
    /// The text in the query box.
    private let typed: String
    private let state: OperationState?
    private var query = OperationQuery()
    private var error: String?
    private var rows: [OperationDetail] = []
    private var result = ListWalk.Result()

    init(_ visit: Visit) async throws {
        self.visit = visit
        board = try visit.board()
        typed = visit.query["q"] ?? ""
        state = visit.query["state"].flatMap(OperationState.init)
        do { try await read() } catch let failure as QueryError { error = "\(failure)" } catch let failure
            as LookupFailure
        {
            error = ([failure.description] + failure.notes).joined(separator: "; ")
        }
    }

    private mutating func read() async throws {
        query = try QueryText.parse(typed)
        var whole = query
        if let state { whole.terms.append(.states([state])) }
        let start = try visit.query["cursor"].map { text throws(QueryError) in try ListWalk.Position(text: text) }
        whole = try await visit.site.broker.resolving(whole, snapshot: board.snapshot)
        let walk = ListWalk(
            visit.site.broker,
            whole,
            view: visit.view,
            limit: Self.pageSize,
            scanLimit: Self.scanLimit,
            leavesOutAbsent: true,
            snapshot: board.snapshot
        )
        var found: [OperationDetail] = []
        result = try await walk.run(from: start) { found += $0 }
        rows = found
    }

    var content: PageContent {
        // A page that compares many operations one by one, or continues another one, is read only when asked for.
        let isLive = error == nil && !query.filtersRows && visit.query["cursor"] == nil
        return PageContent("Operations", .operations, command: command, isLive: isLive, holdsStill: true) {
            tag("h1", .class("unseen"), text: "Operations")
            OutcomeNotice.markup(visit)
            tabs
            search
            if let error { Notice.markup(.bad, error) }
            for sentence in result.unknownQueues { Notice.markup(.warning, sentence) }
            if error == nil { list }
        }
    }

    private var command: [String] {
        let states = state.map { ["state:" + $0.rawValue] } ?? []
        let cursor = visit.query["cursor"].map { ["--cursor", $0] } ?? []
        return ["list"] + states + (typed.isEmpty ? [] : [typed]) + cursor
    }

    private func link(_ state: OperationState?, cursor: String? = nil) -> Link {
        visit.links.to("ops", query: ["state": state?.rawValue, "q": typed, "cursor": cursor])
    }

    // MARK: Tabs and query

    private static let order: [OperationState] = [
        .executing, .retrying, .ready, .scheduled, .blocked, .dead, .cancelled, .expired, .finished,
    ]

    private var tabs: Markup {
        // Counts of the queues that the query allows; other terms are compared one by one and not counted.
        let allowed = Set(query.queues(of: board.snapshot.queues.map(\.queue)))
        let queues = board.snapshot.queues.filter { allowed.contains($0.queue) }
        return tag("nav", .class("tabs"), .named("aria-label", "States")) {
            tab(nil, "all", queues.reduce(0) { $0 + $1.counts.values.reduce(0, +) })
            Self.order.map { state in
                tab(state, "\(state.mark()) \(state.rawValue)", queues.reduce(0) { $0 + ($1.counts[state] ?? 0) })
            }
        }
    }

    private func tab(_ state: OperationState?, _ text: String, _ count: Int) -> Markup {
        let content = parts {
            text
            tag("span", .class("total"), text: QuantityText.count(count))
        }
        return state == self.state
            ? tag("a", .href(link(state)), .named("aria-current", "page")) { content }
            : tag("a", .href(link(state))) { content }
    }

    private var search: Markup {
        tag("form", .class("search"), .named("method", "get"), .action(visit.links.to("ops")), .named("role", "search"))
        {
            if let state { void("input", .named("type", "hidden"), .name("state"), .value(state.rawValue)) }
            void(
                "input",
                .named("type", "search"),
                .name("q"),
                .value(typed),
                .named("aria-label", "Query"),
                .named("placeholder", "queue:mail name:Send* age:>10m args.user.id:42 error:\"timed out\""),
                .named("autocomplete", "off"),
                .named("spellcheck", "false")
            )
            tag("button", text: "Search")
        }
    }

    // MARK: Rows

    private static let columns = [
        "Operation", "State", "", "Name", "Queue", "Attempt", "When", "Progress, error, tags", "Arguments",
    ]

    private var list: Markup {
        parts {
            if rows.isEmpty {
                Empty.markup(result.scanned > 0 || !typed.isEmpty ? "No operation matches." : "No operation.")
            } else {
                MarkForm.markup(visit, query: typed, state: state, count: matching) { canMark in
                    TableView.markup(
                        "Operations",
                        (canMark ? [""] : []) + Self.columns,
                        rows.map { (canMark ? [MarkForm.cell($0)] : []) + row($0) },
                        classes: "operations"
                    )
                }
            }
            coverage
        }
    }

    /// The number of operations that match, if Redis has counted them.
    private var matching: Int? {
        guard !query.filtersRows else { return nil }
        let allowed = Set(query.queues(of: board.snapshot.queues.map(\.queue)))
        let states = state.map { [$0] } ?? query.states
        return board.snapshot.queues.filter { allowed.contains($0.queue) }.reduce(0) { sum, queue in
            states.reduce(sum) { $0 + (queue.counts[$1] ?? 0) }
        }
    }

    private func row(_ detail: OperationDetail) -> [Cell] {
        let reading = detail.reading(visit.view)
        let priority = detail.record.header.priority
        return [
            Cell("Operation", "id") { OperationLink.markup(detail.id, queue: detail.queue, visit.links) },
            Cell("State") { StateView.markup(detail.state) },
            Cell("Priority") {
                if priority != .normal { tag("span", .title("priority \(priority.rawValue)"), text: priority.mark()) }
            },
            Cell("Name", "name") { detail.title(visit.view) },
            .text("Queue", detail.queue),
            .measure("Attempt", "\(detail.record.attempt)/\(reading.envelope.maxAttempts)"),
            Cell("When") { TimeView.markup(detail.shownTime, now: board.snapshot.time) },
            Cell("Progress, error, tags", "about " + (detail.state == .dead ? "dead" : "")) { detail.shownNote ?? "" },
            Cell("Arguments", "arguments") { ArgumentsText.line(reading) },
        ]
    }

    private var coverage: Markup {
        tag("div", .class("under")) {
            let shown = "\(QuantityText.grouped(result.found)) shown"
            if let coverage = result.coverage { "\(shown); \(coverage)" } else { shown }
            if let next = result.next {
                tag(
                    "a",
                    .class("button"),
                    .href(link(state, cursor: next.text)),
                    text: result.isCutShort ? "Scan on" : "Next page"
                )
            }
            if visit.query["cursor"] != nil { tag("a", .href(link(state)), text: "First page") }
            if query.filtersRows { tag("a", .href(visit.link), text: "Read again") }
        }
    }
}

/// A time as its distance to now; the exact time is in the title.
enum TimeView {
    static func markup(_ milliseconds: Int64?, now: Int64?) -> Markup {
        guard let milliseconds, milliseconds > 0 else { return tag("span", .class("dim"), text: "–") }
        let exact = TimeText.rfc3339(milliseconds)
        return tag(
            "time",
            .named("datetime", exact),
            .title(exact),
            text: now.map { TimeText.relative(milliseconds, now: $0) } ?? exact
        )
    }
}
