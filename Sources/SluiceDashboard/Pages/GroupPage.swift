import Operations
import SluiceOperator
import TerminalText

/// A group: its members by state, the reasons why it has not ended, and its callbacks.
struct GroupPage {
    /// The most members that are counted by state. The totals are those of all members.
    private static let mostRead = 2_000
    /// A group with more members is not read again and again while the page is open.
    private static let liveLimit = 500

    let visit: Visit
    let group: GroupSummary
    private let members: MemberStates
    private let callbacks: [Callback]
    private let explanation: Explanation?
    private let now: Int64?
    private let workers: [WorkerSummary]

    private struct Callback {
        let detail: OperationDetail
        let policy: NeedPolicy?
    }

    init(_ visit: Visit) async throws {
        self.visit = visit
        let broker = visit.site.broker
        guard let text = visit.query["id"] else { throw PageFailure.badRequest("A group is named by id= and queue=.") }
        let detail = try await OperationFinder(broker: broker).find(text, queue: visit.query["queue"])
        guard let group = GroupSummary(detail) else {
            throw PageFailure(
                status: .notFound,
                title: "Not a group",
                message: "Operation \(detail.id) in queue \(detail.queue) is not a group.",
                command: ["show", "\(detail.queue)/\(detail.id)"]
            )
        }
        self.group = group
        members = try await MemberStates(of: group, broker, limit: Self.mostRead)
        callbacks = try await broker.details(detail.links.dependents, queue: detail.queue).compactMap { dependent in
            guard let dependent else { return nil }
            let need = dependent.links.needs.first { $0.dependency.id == group.id }
            return Callback(detail: dependent, policy: need?.policy)
        }
        explanation =
            detail.state.isTerminal
            ? nil
            : try await SituationReader(broker: broker, view: visit.view).explain([detail], isMeasured: false).first
        let board = visit.reading.board
        now = board?.snapshot.queues.first { $0.queue == detail.queue }?.time ?? board?.snapshot.time
        workers = board?.workers ?? []
    }

    private var detail: OperationDetail { group.detail }
    private var address: String { "\(group.queue)/\(group.id)" }

    var content: PageContent {
        let name = group.name(visit.view)
        let isLive = group.progress.total <= Self.liveLimit
        return PageContent("Group \(name)", .groups, command: ["group", "show", address], isLive: isLive) {
            OutcomeNotice.markup(visit)
            tag("div", .class("title")) {
                tag("h1", text: name)
                StateView.markup(detail.state)
                tag("span", .class("id"), text: group.id.description)
                actions
            }
            tag("div", .class("columns")) {
                tag("div") {
                    progress
                    failures
                    runs
                    if let explanation {
                        WaitPanel(explanation: explanation, detail: detail, visit: visit).markup
                    }
                }
                tag("div") {
                    FactsPanel(detail: detail, visit: visit, now: now, workers: workers).markup
                    calls
                }
            }
        }
    }

    private var actions: Markup {
        tag("div", .class("actions")) {
            let operation = group.id.description
            if group.progress.failed > 0, visit.may(.retry) {
                let query = "\(QueryText.term("group", address)) state:dead"
                let link = visit.links.to("changes", "new", query: ["action": "retry", "q": query])
                tag("a", .class("button"), .href(link), text: "Retry dead members")
            }
            let link = visit.links.to("ops", operation, query: ["queue": group.queue])
            tag("a", .class("button"), .href(link), text: "As operation")
            if !detail.state.isTerminal, detail.cancel == nil, visit.may(.cancel) {
                let link = visit.links.to("ops", operation, "cancel", query: ["queue": group.queue])
                tag("a", .class("button danger"), .href(link), text: "Cancel")
            }
        }
    }

    // MARK: Members

    private func panel(_ title: String, @MarkupBuilder _ content: () -> Markup) -> Markup {
        tag("section", .class("panel")) {
            tag("h2", text: title)
            content()
        }
    }

    private var progress: Markup {
        panel("Members") {
            tag("p", text: group.progress.total == 0 ? "No member has been added." : group.progress.sentence + ".")
            if members.read > 0 {
                MemberBar.markup(members)
                tag("ul", .class("legend")) {
                    for state in MemberStates.order {
                        if let count = members.counts[state] {
                            tag("li") {
                                tag("a", .href(operations(state))) { StateView.markup(state) }
                                " \(QuantityText.grouped(count))"
                            }
                        }
                    }
                    if members.gone > 0 { tag("li", .class("dim"), text: "\(QuantityText.grouped(members.gone)) gone") }
                }
            }
            if members.read < group.progress.total {
                tag("p", .class("dim"), text: "\(QuantityText.grouped(members.read)) members were counted by state.")
            }
        }
    }

    private func operations(_ state: OperationState) -> Link {
        visit.links.to("ops", query: ["state": state.rawValue, "q": QueryText.term("group", address)])
    }

    @MarkupBuilder private var failures: Markup {
        if !members.failed.isEmpty {
            panel("Not finished") {
                TableView.markup(
                    "Members that have not finished",
                    ["Operation", "State", "Name", "Reason"],
                    members.failed.map(failure)
                )
                let more = group.progress.failed - members.failed.count
                if more > 0 { tag("p", .class("more dim"), text: "\(QuantityText.grouped(more)) more") }
                if let dead = members.failed.first(where: { $0.state == .dead }) {
                    CommandLineView(visit.site).markup(
                        dead.isGroup ? ["group", "show", "\(dead.queue)/\(dead.id)"] : ["errors", "group:\(address)"],
                        label: "errors"
                    )
                    CommandLineView(visit.site).markup(["retry", "-w", "group:\(address) state:dead"], label: "retry")
                }
            }
        }
    }

    /// The members that run and those that ran longest, to scale.
    @MarkupBuilder private var runs: Markup {
        if !members.longest.isEmpty {
            let now = now ?? 0
            panel("Runs") {
                SlotChart.markup(members.longest.map { SlotChart.Run($0, now: now) }, now: now, visit.links)
                let count = members.longest.count
                if count == MemberStates.timed {
                    tag("p", .class("dim"), text: "The \(count) longest, by their starts.")
                }
                tag("details", .id("runs")) {
                    tag("summary", text: "Table")
                    TableView.markup(
                        "Runs of members",
                        ["Operation", "State", "Name", "Started", "Ran"],
                        members.longest.sorted { ($0.record.startedAt, $0.id) < ($1.record.startedAt, $1.id) }.map {
                            runRow($0, now: now)
                        }
                    )
                }
            }
        }
    }

    private func runRow(_ member: OperationDetail, now: Int64) -> [Cell] {
        let run = SlotChart.Run(member, now: now)
        return [
            Cell("Operation", "id") { OperationLink.markup(member.id, queue: member.queue, visit.links) },
            Cell("State") { StateView.markup(member.state) },
            Cell("Name", "name") { member.title(visit.view) },
            Cell("Started") { TimeView.markup(member.record.startedAt, now: now) },
            .measure("Ran", Measure.milliseconds(run.end - member.record.startedAt)),
        ]
    }

    private func failure(_ member: OperationDetail) -> [Cell] {
        let place = member.queue == group.queue ? "" : "\(member.queue)/"
        return [
            Cell("Operation", "id") {
                place
                OperationLink.markup(member.id, queue: member.queue, visit.links)
            },
            Cell("State") { StateView.markup(member.state) },
            Cell("Name", "name") { member.title(visit.view) },
            Cell("Reason", "about") { member.isGroup ? "" : MemberStates.reason(member) },
        ]
    }

    // MARK: Dependents

    @MarkupBuilder private var calls: Markup {
        if !callbacks.isEmpty {
            panel("Callbacks and dependents") {
                tag("dl", .class("facts")) {
                    callbacks.map { callback in
                        parts {
                            tag("dt", text: Self.label(callback.policy))
                            tag("dd") {
                                OperationLink.markup(callback.detail.id, queue: callback.detail.queue, visit.links)
                                " \(callback.detail.title(visit.view)) "
                                StateView.markup(callback.detail.state)
                            }
                        }
                    }
                }
                let more = detail.links.dependentCount - detail.links.dependents.count
                if more > 0 { tag("p", .class("dim"), text: "\(QuantityText.grouped(more)) more") }
            }
        }
    }

    private static func label(_ policy: NeedPolicy?) -> String {
        switch policy {
        case .success, .death: policy?.word ?? ""
        case .member: "member of"
        default: "needed by"
        }
    }
}

/// The members of a group by state, as one bar to scale.
enum MemberBar {
    private static let width = 600.0

    static func markup(_ members: MemberStates) -> Markup {
        tag(
            "svg",
            .class("members"),
            .named("viewBox", "0 0 \(Int(width)) 12"),
            .named("preserveAspectRatio", "none"),
            .named("role", "img"),
            .named("aria-label", members.text)
        ) {
            segments(members).map { segment in
                tag(
                    "rect",
                    .class(segment.state.rawValue),
                    .named("x", number(segment.start)),
                    .named("y", "0"),
                    .named("width", number(segment.width)),
                    .named("height", "12")
                ) { tag("title", text: "\(QuantityText.grouped(segment.count)) \(segment.state.rawValue)") }
            }
        }
    }

    /// Ended members come first, so that the bar fills from the left.
    private static func segments(
        _ members: MemberStates
    ) -> [(state: OperationState, count: Int, start: Double, width: Double)] {
        let states = MemberStates.order.filter(\.isTerminal) + MemberStates.order.filter { !$0.isTerminal }
        let total = Double(max(1, members.read))
        var start = 0.0
        return states.compactMap { state in
            guard let count = members.counts[state], count > 0 else { return nil }
            let size = Double(count) / total * width
            defer { start += size }
            return (state, count, start, size)
        }
    }

    private static func number(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
