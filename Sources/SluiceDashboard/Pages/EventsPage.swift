import Operations
import Selectors
import SluiceOperator
import TerminalText

/// The stored events of the last time: who changed what, and how operations ended.
struct EventsPage {
    private static let rows = 200
    private static let spans: [(text: String, duration: Duration)] = [
        ("10m", .seconds(600)), ("1h", .seconds(3_600)), ("24h", .seconds(86_400)),
    ]

    let visit: Visit
    private let typed: String
    private let onlyChanges: Bool
    private let span: (text: String, duration: Duration)
    private var items: [EventFeed.Item] = []
    private var reasons = EndReasons()
    private var older: NewestEvents.Mark?
    private let before: NewestEvents.Mark?
    private var error: String?

    init(_ visit: Visit) async throws {
        self.visit = visit
        typed = visit.query["q"] ?? ""
        onlyChanges = visit.query["changes"] != nil
        let since = visit.query["since"] ?? Self.spans[1].text
        guard let span = Self.spans.first(where: { $0.text == since }) else {
            throw PageFailure.badRequest("Events are shown since \(Self.spans.map(\.text).joined(separator: ", ")).")
        }
        self.span = span
        before = try visit.query["before"].map(NewestEvents.Mark.init(text:))
        do {
            (items, older) = try await read()
            reasons = await EndReasons(of: items, visit.site.broker)
        } catch let failure as QueryError { error = "\(failure)" }
    }

    /// Reads the newest events of the span.
    private func read() async throws -> ([EventFeed.Item], older: NewestEvents.Mark?) {
        let filter = try EventFilter(typed.isEmpty ? [] : [typed], onlyChanges: onlyChanges)
        let newest = NewestEvents(limit: Self.rows, filter: filter, before: before)
        try await newest.read(visit.site.broker, since: span.duration)
        return (newest.items, newest.older)
    }

    var content: PageContent {
        PageContent("Events", .events, command: command, isLive: false) {
            tag("h1", text: "Events")
            tabs
            search
            if let error {
                Notice.markup(.bad, error)
            } else if items.isEmpty {
                Empty.markup(
                    before == nil
                        ? "No event is stored for this time. Enqueues, starts and finishes are not stored."
                        : "No older event is stored for this time."
                )
                pages
            } else {
                TableView.markup("Events", ["When", "Queue", "Who", "What", "Operations"], items.compactMap(row))
                pages
            }
        }
    }

    private var pages: Markup? {
        guard older != nil || before != nil else { return nil }
        return tag("div", .class("under")) {
            if older != nil { "\(QuantityText.grouped(items.count)) events are shown" }
            if let older {
                tag(
                    "a",
                    .class("button"),
                    .href(link(since: span.text, onlyChanges: onlyChanges, before: older)),
                    text: "Older"
                )
            } else if !items.isEmpty {
                "No more in the last \(span.text)"
            }
            if before != nil {
                tag("a", .href(link(since: span.text, onlyChanges: onlyChanges)), text: "Newest")
            }
        }
    }

    private var command: [String] {
        ["events", "--since", span.text, "--no-follow"] + (onlyChanges ? ["--changes"] : [])
            + (typed.isEmpty ? [] : [typed])
    }

    private func link(since: String, onlyChanges: Bool, before: NewestEvents.Mark? = nil) -> Link {
        visit.links.to(
            "events",
            query: ["since": since, "changes": onlyChanges ? "only" : nil, "q": typed, "before": before?.text]
        )
    }

    private var tabs: Markup {
        tag("nav", .class("tabs"), .named("aria-label", "Time and kind")) {
            Self.spans.map {
                tab("last \($0.text)", link(since: $0.text, onlyChanges: onlyChanges), $0.text == span.text)
            }
            tag(
                "a",
                .class("switch"),
                .named("role", "button"),
                .named("aria-pressed", onlyChanges ? "true" : "false"),
                .href(link(since: span.text, onlyChanges: !onlyChanges)),
                text: onlyChanges ? "☑ Changes only" : "☐ Changes only"
            )
        }
    }

    private func tab(_ text: String, _ link: Link, _ isCurrent: Bool) -> Markup {
        isCurrent
            ? tag("a", .href(link), .named("aria-current", "true"), text: text) : tag("a", .href(link), text: text)
    }

    private var search: Markup {
        SearchForm.markup(
            "events",
            typed: typed,
            placeholder: "state:dead queue:mail",
            visit.links,
            keeping: [("since", span.text), ("changes", onlyChanges ? "only" : nil)]
        )
    }

    private func label(ofWorker id: String) -> String? {
        let board = visit.reading.board
        return board?.workers.first { $0.id == id }?.label ?? board?.lost.first { $0.id == id }?.label
            ?? OperationID(id).flatMap { visit.site.loop.seen[$0]?.worker.label }
    }

    private func who(_ change: QueueChange?) -> Markup {
        let who = change.map { $0.author(label(ofWorker:)) } ?? "worker"
        guard let change, change.verb == .recover else { return tag("span", .title(who), text: who) }
        return tag("a", .class("plain"), .href(WorkerLink.to(change.by, visit.links)), .title(who), text: who)
    }

    /// The object of a change. Its id, with which the text begins, is a link.
    private func sentence(_ change: QueueChange, _ batch: EventBatch) -> Markup {
        let text = change.sentence(naming: batch.subject)
        guard let id = OperationID(String(text.prefix(OperationID.characterCount))) else { return Markup(text: text) }
        let link: Markup
        switch change.verb {
        case .control:
            let label = label(ofWorker: id.description) ?? id.description
            link = tag("a", .href(WorkerLink.to(id.description, visit.links)), text: label)
        case _ where change.storedChange != nil:
            link = tag("a", .href(visit.links.to("changes", id.description)), text: id.description)
        default:
            link = OperationLink.markup(id, queue: batch.queue, visit.links)
        }
        return link + Markup(text: String(text.dropFirst(OperationID.characterCount)))
    }

    private func row(_ item: EventFeed.Item) -> [Cell]? {
        guard case .batch(let batch, let at) = item else { return nil }
        return [
            Cell("When") {
                TimeView.markup(at, now: visit.reading.board?.snapshot.time)
                tag(
                    "span",
                    .class("detail"),
                    text: TimeText.clock(at, now: visit.reading.board?.snapshot.time) + " UTC"
                )
            },
            Cell("Queue") { QueuePage.anchor(batch.queue, visit.links) },
            Cell("Who", "worker" + (batch.change == nil ? " dim" : "")) { who(batch.change) },
            Cell("What", "what") {
                if let change = batch.change {
                    change.deed
                    tag("span", .class("detail")) { sentence(change, batch) }
                }
                for (state, count) in batch.countsInOrder {
                    tag("div") {
                        if count > 1 { "\(QuantityText.grouped(count)) are " }
                        StateView.markup(state)
                        if state == .retrying, batch.change == nil { " after a failed attempt" }
                    }
                }
            },
            Cell("Operations") {
                let ids = Set(batch.transitions.map(\.id)).sorted()
                for id in ids.prefix(5) {
                    OperationLink.markup(id, queue: batch.queue, visit.links)
                    " "
                }
                if ids.count > 5 { "and \(QuantityText.grouped(ids.count - 5)) more" }
                if let reason = reasons.text(of: batch, at: at) { tag("span", .class("detail"), text: reason) }
            },
        ]
    }
}
