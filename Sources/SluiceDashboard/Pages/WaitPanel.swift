import Operations
import SluiceOperator

/// The reasons why an operation or a group has not ended, and the commands that help.
struct WaitPanel {
    let explanation: Explanation
    let detail: OperationDetail
    let links: Links

    private var title: String {
        detail.isGroup ? "Why it has not ended" : detail.state == .executing ? "Now" : "Why it waits"
    }

    var markup: Markup {
        tag("section", .class("panel")) {
            tag("h2", text: title)
            if !explanation.reasons.isEmpty {
                tag("ul", .class("reasons")) { explanation.reasons.map { reason($0.reason) } }
            } else if !detail.isGroup {
                tag("p", text: "Nothing holds it back. The next free slot takes it.")
            }
            for link in explanation.chain {
                tag("p") {
                    "because "
                    OperationLink.markup(link.situation.detail.id, queue: link.situation.queue, links)
                    " " + link.sentence
                }
            }
            for fix in explanation.fixes { CommandLineView.markup(text: fix, label: "try") }
        }
    }

    private func reason(_ reason: WaitReason) -> Markup {
        tag("li") {
            reason.text
            for fact in reason.facts { tag("div", .class("dim"), text: "\(fact.name): \(fact.text)") }
        }
    }
}
