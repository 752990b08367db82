import Operations
import SluiceOperator
import TerminalText

/// Everything that is stored of one operation.
struct OperationPage {
    private static let logLines = 500

    let visit: Visit
    let detail: OperationDetail
    private let log: (first: Int, lines: [LogLine])
    private let explanation: Explanation?
    private let neighbours: NeighboursPanel?
    private let now: Int64?
    private let workers: [WorkerSummary]
    private let reading: EnvelopeReading

    init(_ visit: Visit) async throws {
        self.visit = visit
        let broker = visit.site.broker
        let text = try visit.parameters.name("id")
        let detail = try await OperationFinder(broker: broker).find(text, queue: visit.query["queue"])
        self.detail = detail
        reading = detail.reading(visit.view)
        let board = visit.reading.board
        workers = board?.workers ?? []
        now = board?.snapshot.queues.first { $0.queue == detail.queue }?.time ?? board?.snapshot.time
        let kept = try await broker.log(detail.id, queue: detail.queue, from: 0, limit: SluiceDefaults.logLines)
        let left = max(0, kept.lines.count - Self.logLines)
        log = (kept.first + left, Array(kept.lines.suffix(Self.logLines)))
        explanation =
            detail.state.isTerminal
            ? nil
            : try await SituationReader(broker: broker, view: visit.view).explain([detail], isMeasured: false).first
        neighbours = try await NeighboursPanel(detail, visit, now: now)
    }

    private var id: String { detail.id.description }

    var content: PageContent {
        let title = detail.title(visit.view)
        return PageContent(
            "\(title) …\(id.suffix(ShortID.minimum))",
            .operations,
            command: ["show", "\(detail.queue)/\(id)"]
        ) {
            OutcomeNotice.markup(visit)
            tag("div", .class("title")) {
                tag("h1", text: title)
                StateView.markup(detail.state)
                tag("span", .class("id"), text: id)
                actions
            }
            tag("div", .class("columns")) {
                tag("div") {
                    if let explanation {
                        WaitPanel(explanation: explanation, detail: detail, visit: visit).markup
                    }
                    timeline
                    attempts
                    payload(
                        "Arguments",
                        reading.hiddenArguments,
                        detail.record.envelope.isEmpty ? nil : reading.envelope.arguments
                    )
                    payload("Result", nil, detail.result(visit.view))
                    logs
                }
                tag("div") {
                    FactsPanel(detail: detail, visit: visit, now: now, workers: workers).markup
                    neighbours?.markup
                    raw
                }
            }
        }
    }

    private func panel(_ title: String, @MarkupBuilder _ content: () -> Markup) -> Markup {
        tag("section", .class("panel")) {
            tag("h2", text: title)
            content()
        }
    }

    // MARK: Changes

    private var actions: Markup? {
        let offered = OperationAction.allCases.filter {
            $0.isAllowed(on: detail) && visit.may($0.permission)
        }
        let buttons = offered.map {
            (isFinal: $0.isFinal, $0.rawValue, $0.title(on: detail), $0.buttonClass(in: detail.state))
        }
        var forms: [(String, String, String)] = []
        if detail.links.group == nil {
            if detail.state.isWaiting, visit.may(.edit) { forms.append(("edit", "Edit", "button")) }
            if visit.may(.rerun) { forms.append(("rerun", "Rerun", "button")) }
        }
        // Actions that cannot be taken back are last.
        let changes =
            buttons.filter { !$0.isFinal }.map { ($0.1, $0.2, $0.3) } + forms
            + buttons.filter(\.isFinal).map { ($0.1, $0.2, $0.3) }
        guard !changes.isEmpty else { return nil }
        return tag("div", .class("actions")) {
            changes.map { path, title, style in
                tag(
                    "a",
                    .class(style),
                    .href(visit.links.to("ops", id, path, query: ["queue": detail.queue])),
                    text: title
                )
            }
        }
    }

    // MARK: Timeline and attempts

    private var timeline: Markup {
        let worker = workers.first { $0.id == detail.worker }?.label ?? detail.worker.map { "…" + $0.suffix(6) } ?? ""
        let timeline = OperationTimeline(detail, worker: worker, now: now)
        return panel("Timeline, UTC") {
            TimelineBar.markup(timeline)
            tag("ol", .class("steps")) {
                timeline.steps.map { step in
                    tag("li") {
                        tag(
                            "time",
                            .named("datetime", TimeText.rfc3339(step.at)),
                            .title(TimeText.rfc3339(step.at)),
                            text: TimeText.clock(step.at, fraction: true, now: now)
                        )
                        tag(
                            "span",
                            .class("number"),
                            text: step.lasted.map { DurationText.precise(.milliseconds($0)) } ?? ""
                        )
                        tag("span", .class(step.role.className), text: step.text)
                    }
                }
            }
        }
    }

    @MarkupBuilder private var attempts: Markup {
        if !detail.errors.isEmpty {
            panel("Errors") {
                if let last = detail.errors.last { error(last) }
                if detail.errors.count > 1 {
                    tag("details", .id("earlier")) {
                        tag("summary", text: "\(detail.errors.count - 1) earlier")
                        detail.errors.dropLast().reversed().map(error)
                    }
                }
            }
        }
    }

    private func error(_ attempt: FailedAttempt) -> Markup {
        let failure = attempt.failure
        return tag("div", .class("attempt")) {
            tag("p", .class("dim")) {
                "attempt \(failure.attempt), delivery \(failure.delivery), "
                TimeView.markup(attempt.at, now: now)
                if let verdict = failure.verdict { ", \(verdict.rawValue)" }
            }
            tag("p") { tag("b", .class("dead"), text: failure.type) }
            tag("pre") { Markup(block: failure.message) }
        }
    }

    // MARK: Arguments, result and log

    private func payload(_ title: String, _ hidden: String?, _ bytes: [UInt8]?) -> Markup? {
        if let hidden { return panel(title) { tag("p", .class("dim"), text: hidden) } }
        guard let bytes, !bytes.isEmpty else { return nil }
        return panel("\(title), \(QuantityText.bytes(bytes.count))") {
            tag("pre", .named("tabindex", "0")) { Markup(block: OperationJSON.json(bytes).prettySerialized()) }
            download(title.lowercased() + ".txt")
        }
    }

    private func download(_ name: String) -> Markup {
        let link = visit.links.to("ops", id, "files", name, query: ["queue": detail.queue])
        return tag("p", .class("under")) { tag("a", .href(link), .flag("download"), text: "Download") }
    }

    private var logs: Markup {
        LogPanel(
            log.lines,
            from: log.first,
            isFollowed: !detail.state.isTerminal,
            file: visit.links.to("ops", id, "files", "log.txt", query: ["queue": detail.queue]),
            command: ["logs", "\(detail.queue)/\(id)"],
            visit.site
        ).markup
    }

    private var raw: Markup {
        tag("p", .class("under")) {
            tag(
                "a",
                .href(visit.links.to("api", "v1", "operations", id, query: ["queue": detail.queue])),
                text: "Raw JSON"
            )
        }
    }
}
