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
    /// The rows of running operations by the snapshot, which knows whether their worker is lost.
    private var executing: [OperationAddress: ListRow] = [:]
    private var result = ListWalk.Result()
    /// The address of what changes in the list; nil = the list could not be read.
    private var refresh: Link?

    init(_ visit: Visit) async throws {
        self.visit = visit
        board = try visit.board()
        typed = visit.query["q"] ?? ""
        state = try visit.query.state()
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
        let cursor = visit.query["cursor"]
        let start = try cursor.map { text throws(QueryError) in try ListWalk.Position(text: text) }
        let (site, snapshot, asked) = (visit.site, board.snapshot, whole)
        let view = ListReads.View(typed: typed, state: state, cursor: cursor)
        let reading = try await site.lists.reading(view, sequence: visit.reading.sequence) {
            try await Self.read(try await site.broker.resolving(asked, snapshot: snapshot), from: start, site, snapshot)
        }
        (rows, result) = (reading.rows, reading.result)
        site.words.add(rows)
        await site.rows.add(rows.map { ListRow($0, visit.view) }, board)
        if rows.contains(where: { $0.state == .executing }) { executing = ListRow.executing(board) }
        refresh = try OperationsView(visit).refresh(visit.links, snapshot)
    }

    private static func read(
        _ query: OperationQuery,
        from start: ListWalk.Position?,
        _ site: Site,
        _ snapshot: NamespaceSnapshot
    ) async throws -> ListReading {
        let walk = ListWalk(
            site.broker,
            query,
            view: site.options.view,
            limit: pageSize,
            scanLimit: scanLimit,
            leavesOutAbsent: true,
            snapshot: snapshot
        )
        var found: [OperationDetail] = []
        let result = try await walk.run(from: start) { found += $0 }
        return ListReading(rows: found, result: result)
    }

    var content: PageContent {
        var page = PageContent("Operations", .operations, command: command, isLive: refresh != nil) {
            tag("h1", .class("unseen"), text: "Operations")
            OutcomeNotice.markup(visit)
            OperationTabs(visit: visit, board: board, state: state, typed: typed, query: query).markup
            search
            if let error { Notice.markup(.bad, error) }
            for sentence in result.unknownQueues { Notice.markup(.warning, sentence) }
            if error == nil {
                ListRefresh.news()
                list
            }
        }
        page.rows = refresh
        return page
    }

    private var command: [String] {
        let states = state.map { ["state:" + $0.rawValue] } ?? []
        let cursor = visit.query["cursor"].map { ["--cursor", $0] } ?? []
        return ["list"] + states + (typed.isEmpty ? [] : [typed]) + cursor
    }

    private func link(_ state: OperationState?) -> Link {
        visit.links.to("ops", query: ["state": state?.rawValue, "q": typed])
    }

    /// The page after this one, with the numbers of the pages up to it.
    private func link(after progress: ScanProgress, _ cursor: ListWalk.Position) -> Link {
        let counts = result.total == nil ? nil : "\(progress.scanned).\(progress.found)"
        return visit.links.to(
            "ops",
            query: ["state": state?.rawValue, "q": typed, "cursor": cursor.text, "counts": counts]
        )
    }

    private var progress: ScanProgress {
        let counts = (visit.query["counts"] ?? "").split(separator: ".").compactMap { UInt32($0) }.map(Int.init)
        guard visit.query["cursor"] != nil, counts.count == 2 else { return ScanProgress(result) }
        return ScanProgress(result, scanned: counts[0], found: counts[1])
    }

    // MARK: Query

    private var search: Markup {
        tag("div", .class("beside")) {
            SearchForm.markup(
                "ops",
                typed: typed,
                placeholder: "queue:mail name:Send* age:>10m args.user.id:42 error:\"timed out\"",
                visit.links,
                keeping: [("state", state?.rawValue)]
            )
            if visit.may(.enqueue) {
                tag("a", .class("button"), .href(visit.links.to("ops", "new")), text: "New operation")
            }
        }
    }

    // MARK: Rows

    private static let columns = [
        "Operation", "State", "", "Name", "Queue", "Attempt", "When", "Progress, error, tags", "Arguments",
    ]

    private var list: Markup {
        parts {
            if rows.isEmpty {
                nothing
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

    /// The sentence in place of an empty list, with the links to wider ones.
    private var nothing: Markup {
        let kind = state.map { "\($0.rawValue) operation" } ?? "operation"
        return tag("div", .class(query.filtersRows ? "empty" : "empty until-news")) {
            tag("p", text: emptiness(kind))
            tag("p", .class("under")) {
                if let word {
                    tag(
                        "a",
                        .href(visit.links.to("ops", query: ["q": QueryText.term("id", word)])),
                        text: "Search for an operation with the id \(word)"
                    )
                }
                if state != nil, !typed.isEmpty {
                    tag("a", .href(visit.links.to("ops", query: ["q": typed])), text: "Search all states")
                }
                if state != nil || !typed.isEmpty { tag("a", .href(visit.links.to("ops")), text: "All operations") }
            }
            if state == nil, typed.isEmpty { CommandLineView(visit.site).markup(["enqueue", "noop"]) }
        }
    }

    /// The only word of the query, if it was searched for in texts; it may be an id, or the end of one.
    private var word: String? {
        guard query.terms.count == 1, let term = query.terms.first, term.field == .text, !term.isNegated,
            case .texts(let texts) = term.condition, texts.count == 1, texts[0].exactText == typed.lowercased()
        else { return nil }
        return typed
    }

    private func emptiness(_ kind: String) -> String {
        if !progress.isOver { return progress.found == 0 ? "None found so far." : "No more found so far." }
        if progress.found > 0 || (typed.isEmpty && visit.query["cursor"] != nil) { return "No more." }
        return typed.isEmpty ? "There is no \(kind)." : "No \(kind) matches the query."
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
        let stored = ListRow(detail, visit.view)
        let shown = detail.state == .executing ? executing[stored.address] ?? stored : stored
        let priority = detail.record.header.priority
        return [
            Cell("Operation", "id") { OperationLink.markup(detail.id, queue: detail.queue, visit.links) },
            shown.stateCell(),
            Cell("Priority") {
                if priority != .normal { tag("span", .title("priority \(priority.rawValue)"), text: priority.mark()) }
            },
            Cell("Name", "name") {
                OperationLink.named(detail.title(visit.view), detail.id, queue: detail.queue, visit.links)
            },
            Cell("Queue") { QueuePage.anchor(detail.queue, visit.links) },
            shown.attemptCell(),
            shown.timeCell(now: board.snapshot.time),
            shown.noteCell(),
            Cell("Arguments", "arguments") { ArgumentsText.line(reading) }.minor,
        ]
    }

    private var coverage: Markup {
        tag("div", .class("under")) {
            let shown = "\(QuantityText.grouped(result.found)) shown"
            if let compared = progress.text { "\(shown); \(compared)" } else { shown }
            if let next = result.next {
                tag(
                    "a",
                    .class("button"),
                    .href(link(after: progress, next)),
                    text: result.isCutShort ? "Scan on" : "Next page"
                )
            }
            if visit.query["cursor"] != nil { tag("a", .href(link(state)), text: "First page") }
            if query.filtersRows { tag("a", .href(visit.link), text: "Read again") }
            if !rows.isEmpty { for format in ExportRoute.Format.allCases { export(format) } }
        }
    }
}

extension OperationsPage {
    private func export(_ format: ExportRoute.Format) -> Markup {
        let name = "operations.\(format.rawValue)"
        let link = visit.links.to("export", name, query: ["state": state?.rawValue, "q": typed])
        return tag("a", .href(link), .flag("download"), text: "Export \(format.rawValue.uppercased())")
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
