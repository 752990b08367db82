import Operations
import SluiceOperator
import TerminalText

extension DetailText {
    /// The titles of the tabs: `[i]nfo  [a]ttempts 2  [l]ogs  [g]raph  [t]imeline  [r]aw`.
    ///
    /// A narrow screen shows `[i] [a] [l] [g]raph [t] [r]`.
    var tabs: [Span] {
        let attempts = pane.detail.map { " \($0.record.attempt)" } ?? ""
        let titles: [(DetailTab, String)] = [
            (.info, "[i]nfo"), (.attempts, "[a]ttempts\(attempts)"), (.logs, "[l]ogs"), (.graph, "[g]raph"),
            (.timeline, "[t]imeline"), (.raw, "[r]aw"),
        ]
        let spans = titles.map { Span($1, $0 == pane.tab ? .heading : .dim) }
        let whole = spans.spaced(by: "  ")
        guard whole.displayWidth > width else { return whole }
        return spans.map { $0.role == .heading ? $0 : Span(String($0.text.prefix(3)), .dim) }.spaced()
    }

    /// The failed attempts with their whole errors, and the current one.
    func attempts(_ detail: OperationDetail) -> [[Span]] {
        var lines = detail.errors.flatMap { error -> [[Span]] in
            let failure = error.failure
            var title = "attempt \(failure.attempt)  \(TimeText.clock(error.at))  \(SafeText.line(failure.type))"
            if failure.delivery > 1 { title += "  delivery \(failure.delivery)" }
            if let verdict = failure.verdict { title += "  then \(verdict.rawValue)" }
            return [[Span(title, .heading)]] + wrapped(failure.message, .dead)
        }
        if detail.state == .executing {
            lines.append([Span("attempt \(detail.record.attempt)  runs on \(worker(detail))", .executing)])
        } else if detail.state == .retrying, let now = pane.time {
            let due = TimeText.relative(detail.record.dueAt, now: now)
            lines.append([Span("attempt \(detail.record.attempt + 1)  \(due)", .warning)])
        }
        return lines.isEmpty ? [[Span("no attempt has failed", .dim)]] : lines
    }

    /// Wraps a text, to at most 100 lines.
    private func wrapped(_ text: String, _ role: TextRole) -> [[Span]] {
        var lines: [[Span]] = []
        for paragraph in SafeText.log(text).split(separator: "\n", omittingEmptySubsequences: false) {
            var rest = paragraph.replacing("\t", with: "    ")[...]
            repeat {
                let line = rest.prefix(max(10, width - 2))
                lines.append([Span("  " + line, role)])
                rest = rest.dropFirst(line.count)
            } while !rest.isEmpty && lines.count < 100
        }
        return Array(lines.prefix(100))
    }

    /// The stored log lines, with the times at which Redis received them.
    var log: [[Span]] {
        guard !pane.log.isEmpty else { return [[Span("no log lines", .dim)]] }
        return pane.log.map { line in
            let time = line.at.map { [Span(TimeText.clock($0) + " ", .dim)] } ?? []
            let text = SafeText.log(line.text).replacing("\n", with: " ").replacing("\t", with: "    ")
            return time + [Span(text)]
        }
    }

    /// The steps of the operation with their durations, and bars that show their place in the whole time.
    func timeline(_ detail: OperationDetail) -> [[Span]] {
        let timeline = OperationTimeline(detail, worker: worker(detail), now: pane.time)
        let barWidth = max(0, min(40, width - 54))
        return timeline.steps.map { step in
            let isToCome = step.lasted == nil && detail.record.endedAt == 0
            let lasted = step.lasted.map { DurationText.precise(.milliseconds($0)) } ?? (isToCome ? "to come" : "")
            let text = SafeText.line(step.text).truncated(toWidth: 30, mark: style.cutMark).padded(toWidth: 31)
            var spans = [
                Span(TimeText.clock(step.at, fraction: true) + " ", .dim), Span(text, step.role),
                Span(lasted.padded(toWidth: 9, alignment: .right) + " "),
            ]
            if barWidth > 0, step.lasted != nil {
                let (before, cells) = timeline.place(of: step, width: barWidth)
                let bar = String(repeating: style.usesASCII ? "#" : "█", count: cells)
                spans.append(Span(String(repeating: " ", count: before) + bar, step.role == .plain ? .dim : step.role))
            }
            return spans
        }
    }

    /// The operation as `sluice show -o json` prints it.
    func raw(_ detail: OperationDetail) -> [[Span]] {
        let text = OperationJSON.object(detail, view).prettySerialized()
        return text.split(separator: "\n").prefix(5_000).map { [Span(SafeText.line(String($0)))] }
    }
}
