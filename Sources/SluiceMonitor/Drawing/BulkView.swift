import Operations
import SluiceOperator
import TerminalText

extension MonitorView {
    /// The title and the lines of the question about a change of marked operations.
    func text(of question: BulkQuestion) -> (title: String, lines: [[Span]]) {
        let verb = question.change.kind.title
        guard let plan = question.plan else {
            return ("\(verb)?", [[Span("counting the operations …")], [Span("[Esc] no", .heading)]])
        }
        let number = QuantityText.grouped(plan.possible)
        var lines = [[Span(possible(plan))]]
        if let others = others(plan) { lines.append([Span(others, .warning)]) }
        if question.change.kind == .cancel { lines.append(reasonLine(question.reason, question.isTypingReason)) }
        if question.change.kind == .retry {
            let start = question.change.spread.map { "evenly over \(DurationText.short($0))" } ?? "all now"
            lines.append([Span("start: "), Span(start)])
        }
        if question.isTypingReason {
            lines.append([Span("Enter done typing", .dim)])
        } else {
            let tab =
                switch question.change.kind {
                case .cancel: "   [Tab] type a reason"
                case .retry: "   [Tab] spread"
                default: ""
                }
            let yes = question.needsNumber ? "type \(plan.possible) and Enter: \(question.number)_" : "[y] yes"
            lines.append([Span("\(yes)   [\(question.needsNumber ? "Esc" : "N")] no\(tab)", .heading)])
        }
        return ("\(verb) \(number) operation\(plan.possible == 1 ? "" : "s")?", lines)
    }

    func reasonLine(_ reason: String, _ isTyping: Bool) -> [Span] {
        let shown = isTyping ? String(SafeText.line(reason).suffix(45)) + "_" : SafeText.line(reason)
        return [Span("reason: "), Span(shown.isEmpty ? "(none)" : shown, shown.isEmpty ? .dim : .plain)]
    }

    /// `1 executing (asked to stop), 2 ready`
    private func possible(_ plan: BulkPlan) -> String {
        let allowed = plan.states.filter { plan.change.kind.allowed.contains($0.key) }
        let text = StateCounts.text(allowed)
        return plan.change.kind == .cancel ? text.replacing("executing", with: "executing (asked to stop)") : text
    }

    /// Text about the operations that the change skips; nil = it skips none.
    private func others(_ plan: BulkPlan) -> String? {
        let refused = plan.states.filter { !plan.change.kind.allowed.contains($0.key) }
        var parts = refused.isEmpty ? [] : ["left as they are: " + StateCounts.text(refused)]
        if plan.missing > 0 { parts.append("\(QuantityText.grouped(plan.missing)) do not exist any more") }
        if plan.unread > 0 { parts.append("\(QuantityText.grouped(plan.unread)) encrypted, not looked at") }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    /// The title and the lines of a change that runs, or that ended with refusals.
    func text(of work: BulkProgress) -> (title: String, lines: [[Span]]) {
        let all = max(work.expected, work.done + work.refused)
        let fraction = all > 0 ? Double(work.done + work.refused) / Double(all) : 0
        let bar = QuantityText.bar(fraction, width: 20, ascii: style.usesASCII)
        let (done, expected) = (QuantityText.grouped(work.done), QuantityText.grouped(all))
        var numbers = "\(done) of \(expected) \(work.change.kind.participle)"
        if work.refused > 0 { numbers += ", \(QuantityText.grouped(work.refused)) refused" }
        var lines = [[Span(bar, .executing), Span(" " + numbers)]]
        let shown = work.refusals.prefix(max(0, min(8, size.height - 9)))
        for refusal in shown { lines.append([Span("\(refusal.id) \(refusal.reason)", .warning)]) }
        let hidden = work.refused - shown.count
        if hidden > 0 { lines.append([Span("and \(QuantityText.grouped(hidden)) more", .dim)]) }
        lines.append([Span(work.end == nil ? "[Esc] stop" : "any key closes", .heading)])
        return (work.change.kind.title, lines)
    }
}

extension ChangeKind {
    /// `Cancel`
    fileprivate var title: String {
        switch self {
        case .cancel: "Cancel"
        case .retry: "Retry"
        case .hold: "Hold"
        case .release: "Release"
        case .remove: "Delete"
        }
    }
}
