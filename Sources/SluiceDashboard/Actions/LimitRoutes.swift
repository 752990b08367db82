import Hummingbird
import Operations
import Selectors
import SluiceOperator
import TerminalText

/// The pages that change the limits of a queue: a form, and the question before the change.
struct LimitRoutes: Sendable {
    let actions: ActionRoutes
    private var site: Site { actions.routes.site }

    func add(to group: RouterGroup<DashboardContext>) {
        actions.routes.page(group, "queues/limit") { visit in try form(visit) }
        actions.routes.page(group, "queues/limit/confirm") { visit in try confirmation(visit) }
        group.post("queues/limit") { request, context in try await perform(request, context) }
    }

    private func queue(_ visit: Visit) throws -> QueueSnapshot {
        _ = try Permission.limit.require(visit.visitor)
        return try QueuePage.snapshot(visit)
    }

    // MARK: Form

    private func form(_ visit: Visit) throws -> PageContent {
        let queue = try queue(visit)
        let form = LimitForm(queue.limits)
        return PageContent(
            "Limits of \(queue.queue)",
            .queues,
            command: ["queue", "limit", queue.queue],
            isLive: false
        ) {
            tag(
                "form",
                .class("panel confirm"),
                .named("method", "get"),
                .action(visit.links.to("queues", "limit", "confirm"))
            ) {
                tag("h1", text: "Limits of queue \(queue.queue)")
                tag("p", text: LimitText.line(queue, time: .relative))
                void("input", .named("type", "hidden"), .name("queue"), .value(queue.queue))
                LimitForm.Field.allCases.map { field in
                    tag("label") {
                        tag("b", text: field.title)
                        tag("span", .class("dim"), text: " \(field.about)")
                        void(
                            "input",
                            .named("type", "text"),
                            .named("name", field.rawValue),
                            .value(form.texts[field] ?? ""),
                            .named("placeholder", "none"),
                            .named("autocomplete", "off")
                        )
                    }
                }
                tag("p", .class("dim"), text: "Limits of single keys are set with sluice queue limit.")
                tag("div", .class("buttons")) {
                    tag("button", .class("main"), text: "Continue")
                    tag("a", .class("button"), .href(QueuePage.link(queue.queue, visit.links)), text: "Back")
                }
            }
        }
    }

    // MARK: Question

    private func confirmation(_ visit: Visit) throws -> PageContent {
        let queue = try queue(visit)
        let words = LimitForm(visit.query).words(changing: LimitForm(queue.limits))
        _ = try TypedLimits(words)
        guard !words.isEmpty else {
            throw PageFailure(status: .conflict, title: "Nothing to change", message: "The queue has these limits.")
        }
        return ConfirmationPage(
            place: .queues,
            question: "Set these limits of queue \(queue.queue)?",
            subject: parts {
                tag("ul", .class("reasons")) { words.map { tag("li", text: $0.replacing("=", with: " ")) } }
                "Now: \(LimitText.line(queue, time: .relative))"
            },
            effect: "The limits hold for the next starts, on all workers together. Running operations continue.",
            button: "Set limits",
            isFinal: false,
            takesReason: false,
            target: visit.links.to(
                "queues",
                "limit",
                query: ["queue": queue.queue, "limits": words.joined(separator: " ")]
            ),
            back: QueuePage.link(queue.queue, visit.links),
            command: ["queue", "limit", queue.queue] + words
        ).content
    }

    // MARK: Change

    private func perform(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let visitor = try Permission.limit.require(context.visitor)
        let name = try await actions.queue(request.fields["queue"])
        let words = (request.fields["limits"] ?? "").split(separator: " ").map(String.init)
        let limits = try TypedLimits(words).limits
        guard !limits.isEmpty else { throw PageFailure.badRequest("The request has no limits.") }
        _ = try await site.broker.setLimits(limits, by: visitor.name, queue: name)
        await site.loop.expire()
        return Response.seeOther(QueuePage.link(name, site.links, outcome: .limited))
    }
}

/// The limits of a queue as fields of a form.
struct LimitForm {
    /// The limits that the form has, by their names on the command line.
    enum Field: String, CaseIterable {
        case concurrency, rate, burst
        case keyConcurrency = "key.concurrency"
        case keyRate = "key.rate"
        case keyBurst = "key.burst"

        var title: String {
            switch self {
            case .concurrency: "Concurrency"
            case .rate: "Rate"
            case .burst: "Burst"
            case .keyConcurrency: "Concurrency of each limit key"
            case .keyRate: "Rate of each limit key"
            case .keyBurst: "Burst of each limit key"
            }
        }

        var about: String {
            switch self {
            case .concurrency, .keyConcurrency: "how many run at once, on all workers together"
            case .rate, .keyRate: "starts in a time: 100/s or 20/1m"
            case .burst, .keyBurst: "starts that may be saved; needs a rate"
            }
        }
    }

    private(set) var texts: [Field: String] = [:]

    init(_ fields: FormFields) {
        for field in Field.allCases {
            let text = (fields[field.rawValue] ?? "").filter { !$0.isWhitespace }
            texts[field] = text == "none" ? "" : text
        }
    }

    init(_ limits: QueueLimits) {
        set(.concurrency, .rate, .burst, limits.concurrency, limits.rate)
        set(.keyConcurrency, .keyRate, .keyBurst, limits.perKey.concurrency, limits.perKey.rate)
    }

    private mutating func set(
        _ number: Field,
        _ rate: Field,
        _ burst: Field,
        _ concurrency: Int?,
        _ value: QueueRate?
    ) {
        texts[number] = concurrency.map(String.init) ?? ""
        let period = value.map { $0.period == .seconds(1) ? "s" : DurationText.exact($0.period) }
        texts[rate] = value.map { "\($0.count)/\(period ?? "s")" } ?? ""
        texts[burst] = value.map { "\($0.burst)" } ?? ""
    }

    /// The changes as words of the command line: `concurrency=8`, `rate=none`.
    func words(changing old: LimitForm) -> [String] {
        words(.concurrency, .rate, .burst, old) + words(.keyConcurrency, .keyRate, .keyBurst, old)
    }

    private func words(_ number: Field, _ rate: Field, _ burst: Field, _ old: LimitForm) -> [String] {
        var words: [String] = []
        if texts[number] != old.texts[number] { words.append(word(number)) }
        guard texts[rate] != old.texts[rate] || texts[burst] != old.texts[burst] else { return words }
        words.append(word(rate))
        let hasRate = texts[rate] != ""
        // A burst that was not typed anew belongs to the old rate.
        if hasRate, let text = texts[burst], text != "", texts[rate] == old.texts[rate] || text != old.texts[burst] {
            words.append(word(burst))
        } else if !hasRate, let text = texts[burst], text != "", text != old.texts[burst] {
            words.append(word(burst))
        }
        return words
    }

    private func word(_ field: Field) -> String {
        let text = texts[field] ?? ""
        return "\(field.rawValue)=\(text.isEmpty ? "none" : text)"
    }
}
