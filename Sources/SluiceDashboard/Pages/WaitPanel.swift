import Operations
import SluiceOperator

/// The reasons why an operation or a group has not ended, and the buttons and commands that help.
struct WaitPanel {
    let explanation: Explanation
    let detail: OperationDetail
    let visit: Visit

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
                    OperationLink.markup(link.situation.detail.id, queue: link.situation.queue, visit.links)
                    " " + link.sentence
                }
            }
            remedies
        }
    }

    /// The pages of the dashboard that help. The other remedies are commands to copy.
    @MarkupBuilder private var remedies: Markup {
        let all = explanation.advice.map { ($0, RemedyLink($0, on: detail, visit)) }
        let pages = all.compactMap(\.1)
        if !pages.isEmpty {
            tag("div", .class("remedies")) {
                pages.enumerated().map { index, page in
                    pages[..<index].contains(page) ? Markup.empty : page.markup
                }
            }
        }
        for (advice, page) in all where page == nil {
            CommandLineView(visit.site).markup(text: advice.remedy.command, label: "try")
        }
    }

    private func reason(_ reason: WaitReason) -> Markup {
        tag("li") {
            reason.text
            for fact in reason.facts { tag("div", .class("dim"), text: "\(fact.name): \(fact.text)") }
        }
    }
}
