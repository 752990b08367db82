import Operations
import SluiceOperator
import TerminalText

/// The plan of a change of many operations, with the form that confirms it.
struct ChangePlanPage {
    let visit: Visit
    let target: ChangeTarget
    let plan: ChangePlan

    init(_ visit: Visit, _ target: ChangeTarget, _ plan: ChangePlan) {
        (self.visit, self.target, self.plan) = (visit, target, plan)
    }

    private var action: OperationAction { target.action }
    private var number: String { QuantityText.grouped(plan.count) }
    private var operations: String { plan.count == 1 ? "operation" : "operations" }

    var content: PageContent {
        let question = "\(action.title) \(plan.isExact ? "" : "at least ")\(number) \(operations)?"
        return PageContent(question, .operations, command: target.command, isLive: false) {
            tag("div", .class("panel plan")) {
                tag("h1", text: question)
                tag("p") { subject }
                for sentence in plan.unknownQueues { Notice.markup(.warning, sentence) }
                counts
                queues
                tag("p", .class("dim"), text: action.effect)
                untracked
                consequences
                if plan.count > 0 { form } else { nothing }
                samples
            }
        }
    }

    @MarkupBuilder private var subject: Markup {
        switch target.target {
        case .marked(let addresses): "\(QuantityText.grouped(addresses.count)) marked"
        case .matching(let text):
            if text.isEmpty {
                tag("b", text: "All operations of the namespace")
            } else {
                "All that match "
                tag("code", text: text)
            }
        }
        plan.isExact ? " – counted, exact" : " – the count stops after 100,000 operations; more may match"
    }

    private var counts: Markup {
        let order = OperationState.allCases.filter { (plan.states[$0] ?? 0) > 0 }
        let allowed = Set(action.kind.allowed)
        var rows = order.map { state in
            [
                Cell("State") { StateView.markup(state) },
                Cell.count("Operations", plan.states[state] ?? 0),
                .text(
                    "Effect",
                    allowed.contains(state) ? action.effect(in: state) : "refused: the state does not allow it",
                    role: allowed.contains(state) ? .plain : .dim
                ),
            ]
        }
        if plan.missing > 0 {
            rows.append([
                .text("State", "gone"), .count("Operations", plan.missing), .text("Effect", "none", role: .dim),
            ])
        }
        if plan.unread > 0 {
            rows.append([
                .text("State", "encrypted"), .count("Operations", plan.unread),
                .text("Effect", "not compared, because no key is set", role: .dim),
            ])
        }
        return TableView.markup("Operations by state", ["State", "Operations", "Effect"], rows)
    }

    private static let shownQueues = 20

    /// The share of each queue, and what keeps operations there from starting.
    private var queues: Markup? {
        guard !plan.shares.isEmpty else { return nil }
        let hidden = plan.shares.dropFirst(Self.shownQueues)
        let rows = plan.shares.prefix(Self.shownQueues).map { share in
            [
                Cell("Queue") { QueuePage.anchor(share.queue, visit.links) },
                Cell.count("Operations", share.count),
                .text("Now", share.obstacle ?? "", role: .warning),
            ]
        }
        return parts {
            TableView.markup("Operations by queue", ["Queue", plan.isExact ? "Operations" : "At least", "Now"], rows)
            if !hidden.isEmpty {
                let rest = hidden.reduce(0) { $0 + $1.count }
                tag(
                    "p",
                    .class("dim"),
                    text: "and \(QuantityText.grouped(hidden.count)) more queues with \(QuantityText.operations(rest))"
                )
            }
        }
    }

    @MarkupBuilder private var untracked: Markup {
        if plan.leavesUntracked {
            tag("p", .class("dim")) {
                "Untracked operations have no record: they are not counted, and stay."
                if action.kind == .remove {
                    " "
                    tag("code", text: "sluice queue purge")
                    " removes them, too."
                }
            }
        }
    }

    private var consequences: Markup? {
        guard !plan.consequences.isEmpty || plan.busyKeys.count > 0 else { return nil }
        return tag("ul", .class("consequences")) {
            plan.consequences.map { tag("li", text: $0) }
            if plan.busyKeys.count > 0 { tag("li") { busyKeys } }
        }
    }

    @MarkupBuilder private var busyKeys: Markup {
        plan.busyKeys.sentence(of: plan.count) + ": "
        for holder in plan.busyKeys.holders {
            OperationLink.markup(holder.id, queue: holder.queue, visit.links)
            " "
        }
        if plan.busyKeys.count > plan.busyKeys.holders.count { "…" }
    }

    private var nothing: Markup {
        parts {
            Notice.markup(.warning, "No operation can be \(action.kind.participle).")
            tag("a", .class("button"), .href(target.list(visit.links)), text: "Back")
        }
    }

    private func hidden(_ name: StaticString, _ value: String?) -> Markup? {
        value.map { void("input", .named("type", "hidden"), .name(name), .value($0)) }
    }

    private var form: Markup {
        tag("form", .class("confirm"), .named("method", "post"), .action(visit.links.to("changes"))) {
            hidden("action", action.rawValue)
            hidden("q", target.typed)
            hidden("state", target.state?.rawValue)
            hidden("ids", target.ids)
            hidden("scope", target.ids == nil ? "all" : "marked")
            hidden("count", "\(plan.count)")
            hidden("digest", target.digest(count: plan.count))
            // Sent twice, the form makes one change.
            hidden("change", OperationID().description)
            field("Reason, which others can read; may be empty", "reason", limit: "500", value: visit.query["reason"])
            if action == .retry {
                let label = "Spread over a time, such as 10m; empty = all now"
                field(label, "spread", limit: "20", value: visit.query["spread"])
            }
            field("Type \(plan.count) to confirm", "typed", limit: "20", mode: "numeric")
            tag("div", .class("buttons")) {
                tag(
                    "button",
                    .class(action.isFinal ? "danger" : "main"),
                    text: "\(action.title) \(number) \(operations)"
                )
                tag("a", .class("button"), .href(target.list(visit.links)), text: "Back")
            }
        }
    }

    private func field(
        _ label: String,
        _ name: StaticString,
        limit: String,
        mode: String = "text",
        value: String? = nil
    ) -> Markup {
        tag("label") {
            label
            void(
                "input",
                .named("type", "text"),
                .name(name),
                .value(value ?? ""),
                .named("maxlength", limit),
                .named("inputmode", mode),
                .named("autocomplete", "off")
            )
        }
    }

    private var samples: Markup? {
        let shown = plan.sample.prefix(ChangePreview.sampleSize)
        guard !shown.isEmpty else { return nil }
        let now = visit.reading.board?.snapshot.time
        let rows = shown.map { detail in
            let row = ListRow(detail, visit.view)
            return [
                Cell("Operation", "id") { OperationLink.markup(detail.id, queue: detail.queue, visit.links) },
                row.stateCell(),
                Cell("Name", "name") { detail.title(visit.view) },
                .text("Queue", detail.queue),
                row.timeCell(now: now),
            ] + (action == .retry ? [error(detail)] : [])
        }
        return parts {
            tag("h2", text: plan.count > shown.count ? "The first \(shown.count)" : "Operations")
            TableView.markup(
                "Samples",
                ["Operation", "State", "Name", "Queue", "When"] + (action == .retry ? ["Error"] : []),
                rows
            )
        }
    }

    /// The last error, which says whether a retry can help.
    private func error(_ detail: OperationDetail) -> Cell {
        let text = detail.errors.last?.failure.sentence ?? ""
        return Cell("Error", "about dead") { String(text.prefix(Self.errorLength)) }
    }

    private static let errorLength = 300
}
