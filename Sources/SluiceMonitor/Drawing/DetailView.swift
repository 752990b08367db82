import Foundation
import Operations
import SluiceOperator
import TerminalText

extension OperationDetail {
    /// The name of the operation, not escaped for a terminal.
    var displayName: String { title() }
}

extension MonitorView {
    func drawDetail(on grid: inout Grid) {
        guard let text = detailText, let pane = model.detail else { return }
        var y = 1
        let header = text.header.prefix(headerSpace)
        for line in header {
            grid.put(line.truncated(toWidth: size.width - 2, mark: style.cutMark), x: 1, y: y)
            y += 1
        }
        let lines = text.lines
        let space = detailSpace(header: header.count)
        let most = max(0, lines.count - space)
        let first = pane.isFollowing ? most : min(pane.scroll, most)
        for (index, line) in lines.dropFirst(first).prefix(space).enumerated() {
            grid.put(line.truncated(toWidth: size.width - 2, mark: style.cutMark), x: 1, y: y + index)
        }
        if lines.count > space {
            let follow = pane.isFollowing ? "following " : ""
            let more = "\(follow)\(min(lines.count, first + space))/\(lines.count)"
            grid.put(more, x: size.width - more.count - 1, y: size.height - 2, look: Look(.dim))
        }
    }

    /// The number of lines for the text of a tab.
    private func detailSpace(header: Int) -> Int { max(0, size.height - 2 - header) }

    /// The greatest scroll position of the shown tab.
    package var detailScroll: Int {
        guard let text = detailText else { return 0 }
        return max(0, text.lines.count - detailSpace(header: text.header.prefix(headerSpace).count))
    }

    /// The most lines above the tabs' text; at least one line of a tab stays visible.
    private var headerSpace: Int { max(0, size.height - 3) }

    private var detailText: DetailText? {
        guard let pane = model.detail else { return nil }
        let executing = model.executing(pane.address)
        return DetailText(
            pane,
            executing: executing,
            view: model.view,
            style: style,
            width: size.width - 2,
            isFrozen: model.isFrozen,
            isLost: pane.detail.map { model.board?.isLost($0) ?? false } ?? false
        )
    }
}

/// The lines of one operation.
struct DetailText {
    let pane: DetailPane
    let executing: ExecutingSummary?
    let view: PayloadView
    let style: Style
    let width: Int
    let isFrozen: Bool
    /// Whether the operation runs on a lost worker.
    let isLost: Bool

    init(
        _ pane: DetailPane,
        executing: ExecutingSummary?,
        view: PayloadView,
        style: Style,
        width: Int,
        isFrozen: Bool,
        isLost: Bool = false
    ) {
        self.pane = pane
        self.executing = executing
        self.view = view
        self.style = style
        self.width = max(1, width)
        self.isFrozen = isFrozen
        self.isLost = isLost
    }

    /// The lines above every tab: the operation and the tab titles.
    var header: [[Span]] {
        guard let detail = pane.detail else {
            let about = executing.map { "  \(SafeText.line($0.row.name))" } ?? ""
            return [[Span(pane.address.id.description, .heading), Span(about)]]
        }
        return [title(detail), tabs]
    }

    /// The text of the shown tab.
    var lines: [[Span]] {
        guard let detail = pane.detail else { return [[Span(pane.isMissing ? missing : "reading …", .dim)]] }
        return switch pane.tab {
        case .info: info(detail)
        case .attempts: attempts(detail)
        case .logs: log
        case .graph: graph
        case .timeline: timeline(detail)
        case .raw: raw(detail)
        }
    }

    private func info(_ detail: OperationDetail) -> [[Span]] {
        facts(detail) + progress(detail) + times(detail) + links(detail) + cancel(detail) + arguments(detail)
            + result(detail) + errors(detail)
    }

    private var missing: String {
        guard let executing else { return "does not exist (any more)" }
        return "runs on worker \(SafeText.line(executing.workerLabel)); untracked, so it has no record"
    }

    private func title(_ detail: OperationDetail) -> [Span] {
        var first = [
            Span(detail.id.description, .heading), Span("  \(SafeText.line(detail.title(view)))  "),
            Span("\(detail.state.mark(ascii: style.usesASCII)) \(detail.state.rawValue)", detail.state.role),
        ]
        if detail.isUnhandled { first.append(Span("  unhandled: it waits for a worker that knows its name", .warning)) }
        if pane.isMissing { first.append(Span("  (removed meanwhile)", .warning)) }
        return first
    }

    private func facts(_ detail: OperationDetail) -> [[Span]] {
        let header = detail.record.header
        let envelope = try? OperationEnvelope(detail.record.envelope)
        var second = "queue \(SafeText.line(detail.queue))  priority \(header.priority.rawValue)"
        if let tags = envelope?.tags, !tags.isEmpty { second += "  tags \(SafeText.line(tags.joined(separator: ",")))" }
        if let schedule = envelope?.schedule { second += "  schedule \(schedule)" }
        var third = "attempt \(detail.record.attempt)/\(envelope?.maxAttempts ?? 0)  delivery \(header.delivery)"
        if detail.record.fence > 0 { third += "  fence \(detail.record.fence)" }
        if detail.state == .executing { third += "  on \(worker(detail))" }
        if detail.isGroup { third = detail.links.isOpen ? "open: its opener has not closed it" : "closed" }
        let lost = isLost ? [Span("  " + ProgressText.lostText, .dead)] : []
        return [[Span(second)], [Span(third)] + lost]
    }

    func worker(_ detail: OperationDetail) -> String {
        SafeText.line(executing?.workerLabel ?? detail.worker ?? "an unknown worker")
    }

    private func progress(_ detail: OperationDetail) -> [[Span]] {
        if let group = GroupProgress(detail) { return [progress(of: group)] }
        guard let progress = detail.progress else { return [] }
        let bar = QuantityText.bar(progress.fraction, width: max(5, min(50, width - 30)), ascii: style.usesASCII)
        return [
            [
                Span(bar, detail.state == .executing ? .executing : detail.state.role),
                Span("  \(QuantityText.percent(progress.fraction))  \(SafeText.line(progress.message))"),
            ]
        ]
    }

    /// `███████░░░  7 of 10 members have ended`
    private func progress(of group: GroupProgress) -> [Span] {
        let bar = QuantityText.bar(group.fraction, width: max(5, min(50, width - 60)), ascii: style.usesASCII)
        return [Span(bar, .executing), Span("  \(group.sentence)", group.failed > 0 ? .dead : .plain)]
    }

    private func times(_ detail: OperationDetail) -> [[Span]] {
        let record = detail.record
        var parts = ["enqueued \(at(record.enqueuedAt))"]
        if [.scheduled, .retrying].contains(detail.state), record.dueAt > 0, let time = pane.time {
            parts.append("due \(TimeText.relative(record.dueAt, now: time))")
        }
        if record.startedAt > 0 { parts.append("started \(at(record.startedAt))") }
        if record.endedAt > 0 {
            let ran = record.startedAt > 0 ? record.endedAt - record.startedAt : 0
            let after = ran > 0 ? " after \(DurationText.precise(.milliseconds(ran)))" : ""
            parts.append("\(detail.state.rawValue) \(at(record.endedAt))\(after)")
        } else if detail.state == .executing, record.startedAt > 0, let time = pane.time {
            parts.append("runs for \(DurationText.short(.milliseconds(max(0, time - record.startedAt))))")
        }
        return [[Span(parts.joined(separator: style.usesASCII ? " > " : " › "))]]
    }

    private func at(_ milliseconds: Int64) -> String { TimeText.clock(milliseconds) }

    private func cancel(_ detail: OperationDetail) -> [[Span]] {
        guard let trace = detail.cancel else { return [] }
        var text = "cancel requested \(at(trace.requestedAt)) by \(SafeText.line(trace.by))"
        if !trace.reason.isEmpty { text += " (\(SafeText.line(trace.reason)))" }
        text += trace.acknowledgedAt.map { ", acknowledged \(at($0))" } ?? ""
        text += trace.stoppedAt.map { ", stopped \(at($0))" } ?? ""
        if let standing = trace.standing { text += ", by standing cancel \(standing)" }
        guard let forced = trace.forced else { return [[Span(text, .cancelled)]] }
        var force = "forced \(at(forced.at)) by \(SafeText.line(forced.by))"
        if !forced.reason.isEmpty { force += " (\(SafeText.line(forced.reason)))" }
        if trace.stoppedAt == nil {
            force += "; \(SafeText.line(forced.worker)) has not reported that the body has stopped"
        }
        return [[Span(text, .cancelled)], [Span(force, .cancelled)]]
    }

    private func arguments(_ detail: OperationDetail) -> [[Span]] {
        let reading = detail.reading(view)
        let arguments = reading.envelope.arguments
        let args =
            reading.hiddenArguments.map { block("args", SafeText.line($0)) }
            ?? block("args", SafeText.line(arguments.cutText(toBytes: 4_096)), suffix: "\(arguments.count) B")
        let headers = reading.envelope.headers.sorted { $0.key < $1.key }.flatMap {
            block("header", SafeText.line("\($0.key)=\($0.value)"))
        }
        let signature = reading.signature.map { block("signed", SafeText.line($0)) } ?? []
        return args + headers + signature
            + (reading.failure.map { block("fault", SafeText.line($0.message), .dead) } ?? [])
    }

    private func result(_ detail: OperationDetail) -> [[Span]] {
        guard let result = detail.result(view) else { return [] }
        return block("result", SafeText.line(result.cutText(toBytes: 4_096)), suffix: "\(result.count) B")
    }

    private func errors(_ detail: OperationDetail) -> [[Span]] {
        detail.errors.flatMap { error -> [[Span]] in
            let failure = try? JSONDecoder().decode(OperationFailure.self, from: Data(error.error))
            let text = failure.map { "attempt \($0.attempt) \($0.type): \($0.message)" }
            return block(
                "error",
                "\(at(error.at)) " + (text.map { SafeText.line($0) } ?? SafeText.line(error.error)),
                .dead
            )
        }
    }

    /// Splits a text with a label into at most eight lines.
    private func block(_ label: String, _ text: String, _ role: TextRole = .plain, suffix: String = "") -> [[Span]] {
        let room = max(10, width - 7)
        var rest = text[...]
        var lines: [[Span]] = []
        while !rest.isEmpty, lines.count < 8 {
            let line = rest.prefix(lines.count == 7 ? rest.count : room)
            lines.append([Span((lines.isEmpty ? label : "").padded(toWidth: 7), .dim), Span(String(line), role)])
            rest = rest.dropFirst(line.count)
        }
        if !suffix.isEmpty { lines.append([Span("       \(suffix)", .dim)]) }
        return lines
    }
}
