import Operations
import SluiceOperator
import TerminalText

/// The facts about an operation as pairs of name and value, without those that the page shows in other sections.
struct FactsPanel {
    let detail: OperationDetail
    let visit: Visit
    let now: Int64?
    let workers: [WorkerSummary]

    var markup: Markup {
        let facts = OperationFacts(detail, visit.view).all.filter {
            ![.payload, .errors, .dependencies].contains($0.subject)
        }
        return tag("section", .class("panel")) {
            tag("dl", .class("facts")) {
                tag("dt", text: "name")
                tag("dd") { markup(.value(detail.reading(visit.view).envelope.name, field: "name")) }
                facts.map { fact in
                    parts {
                        tag("dt", text: fact.name)
                        tag("dd") { fact.parts.map(markup) }
                    }
                }
                running
            }
        }
    }

    private func markup(_ part: OperationFact.Part) -> Markup {
        switch part {
        case .text(let text): parts { text }
        case .time(let milliseconds): TimeView.markup(milliseconds, now: now)
        case .operation(let id): OperationLink.markup(id, queue: detail.queue, visit.links)
        case .value(let value, let field):
            tag("a", .href(visit.links.to("ops", query: ["q": QueryText.term(field, value)])), text: value)
        case .worker(let worker):
            tag(
                "a",
                .href(WorkerLink.to(worker, visit.links)),
                text: workers.first { $0.id == worker }?.label ?? worker
            )
        }
    }

    /// The progress as a bar.
    @MarkupBuilder private var running: Markup {
        if let progress = detail.progress, !detail.state.isTerminal {
            tag("dt", text: "progress")
            tag("dd") {
                ProgressView.markup(ProgressText.running(fraction: progress.fraction, message: progress.message))
            }
        }
    }
}
