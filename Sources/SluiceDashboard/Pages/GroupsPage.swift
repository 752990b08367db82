import Operations
import Selectors
import SluiceOperator
import TerminalText

/// The groups, page by page, with the progress of each.
struct GroupsPage {
    private static let pageSize = 50
    /// The most operations to examine for one page.
    private static let scanLimit = 100_000
    /// The most operations that are examined again and again while the page is open.
    private static let liveLimit = 2_000

    let visit: Visit
    private let board: Board
    private let queue: String?
    private let includesEnded: Bool
    private let groups: [GroupSummary]
    private let result: ListWalk.Result

    init(_ visit: Visit) async throws {
        self.visit = visit
        board = try visit.board()
        queue = visit.query["queue"]
        includesEnded = visit.query["all"] != nil
        let start = try visit.query["cursor"].map { text throws(QueryError) in try ListWalk.Position(text: text) }
        let walk = ListWalk(
            visit.site.broker,
            GroupSummary.query(includesEnded: includesEnded, queue: queue),
            view: visit.view,
            limit: Self.pageSize,
            scanLimit: Self.scanLimit,
            leavesOutAbsent: true,
            snapshot: board.snapshot
        )
        var found: [GroupSummary] = []
        // The group of a run belongs to its operation. Nobody opened it.
        result = try await walk.run(from: start) {
            found += $0.compactMap { GroupSummary($0) }.filter { !$0.terms.isOfRun }
        }
        groups = found
    }

    var content: PageContent {
        let isLive = visit.query["cursor"] == nil && result.scanned <= Self.liveLimit
        return PageContent("Groups", .groups, command: command, isLive: isLive, holdsStill: true) {
            OutcomeNotice.markup(visit)
            tag("h1", text: "Groups")
            tabs
            for sentence in result.unknownQueues { Notice.markup(.warning, sentence) }
            if groups.isEmpty {
                Empty.markup(
                    includesEnded ? "There is no group here." : "There is no open group here.",
                    command: (["group", "open", "NAME"], visit.site)
                )
            } else {
                TableView.markup("Groups", Self.columns, groups.map(row))
            }
            under
        }
    }

    private var command: [String] {
        ["group", "ls"] + (queue.map { ["-q", $0] } ?? []) + (includesEnded ? ["-a"] : [])
    }

    private func link(includesEnded: Bool, queue: String?, cursor: String? = nil) -> Link {
        visit.links.to("groups", query: ["queue": queue, "all": includesEnded ? "yes" : nil, "cursor": cursor])
    }

    private var tabs: Markup {
        tag("nav", .class("tabs"), .named("aria-label", "Groups to show")) {
            tab("not ended", link(includesEnded: false, queue: queue), !includesEnded)
            tab("also ended", link(includesEnded: true, queue: queue), includesEnded)
            if let queue { tab("queue \(queue) ✕", link(includesEnded: includesEnded, queue: nil), false) }
        }
    }

    private func tab(_ text: String, _ link: Link, _ isCurrent: Bool) -> Markup {
        isCurrent
            ? tag("a", .href(link), .named("aria-current", "true"), text: text) : tag("a", .href(link), text: text)
    }

    private static let columns = ["Group", "Id", "Queue", "State", "Members ended", "Failed", "Opened"]

    private func row(_ group: GroupSummary) -> [Cell] {
        [
            Cell("Group", "name") { tag("a", .href(visit.links.group(group)), text: group.name(visit.view)) },
            Cell("Id", "id") { OperationLink.markup(group.id, queue: group.queue, visit.links) },
            Cell("Queue") {
                tag("a", .href(link(includesEnded: includesEnded, queue: group.queue)), text: group.queue)
            },
            .text("State", group.stateText, role: group.detail.state.isTerminal ? group.detail.state.role : .plain),
            Cell("Members ended", "progress") { GroupBar.markup(group.progress) },
            .count("Failed", group.progress.failed, role: .dead),
            Cell("Opened") { TimeView.markup(group.detail.record.enqueuedAt, now: board.snapshot.time) },
        ]
    }

    private var under: Markup {
        tag("div", .class("under")) {
            "\(QuantityText.grouped(groups.count)) shown" + (result.coverage.map { "; \($0)" } ?? "")
            if let next = result.next {
                tag(
                    "a",
                    .class("button"),
                    .href(link(includesEnded: includesEnded, queue: queue, cursor: next.text)),
                    text: result.isCutShort ? "Scan on" : "Next page"
                )
            }
            if visit.query["cursor"] != nil {
                tag("a", .href(link(includesEnded: includesEnded, queue: queue)), text: "First page")
            }
        }
    }
}

/// The ended members of a group as a bar and as numbers.
enum GroupBar {
    static func markup(_ progress: GroupProgress) -> Markup {
        let (ended, total) = (QuantityText.grouped(progress.ended), QuantityText.grouped(progress.total))
        return parts {
            tag(
                "progress",
                .named("max", "100"),
                .value("\(Int(progress.fraction * 100))"),
                .named("aria-label", "\(ended) of \(total) members have ended")
            ) { "" }
            " \(ended)/\(total)"
        }
    }
}

extension Links {
    /// The page of a group.
    func group(_ group: GroupSummary) -> Link {
        to("groups", "show", query: ["id": group.id.description, "queue": group.queue])
    }
}
