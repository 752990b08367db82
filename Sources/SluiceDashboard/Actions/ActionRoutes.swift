import Hummingbird
import Operations
import SluiceOperator
import TerminalText

/// The pages that ask before a change, and the requests that make it.
///
/// Without these routes nothing can be changed: a read-only dashboard does not have them.
struct ActionRoutes: Sendable {
    let routes: Routes
    private var site: Site { routes.site }

    func add(to group: RouterGroup<DashboardContext>) {
        LimitRoutes(actions: self).add(to: group)
        for action in OperationAction.allCases {
            let path = RouterPath("ops/:id/\(action.rawValue)")
            routes.page(group, path) { visit in try await confirmation(action, visit) }
            group.post(path) { request, context in try await perform(action, request, context) }
        }
        for action in QueueAction.allCases {
            let path = RouterPath("queues/\(action.rawValue)")
            routes.page(group, path) { visit in try await confirmation(action, visit) }
            group.post(path) { request, context in try await perform(action, request, context) }
        }
    }

    /// Redis stores a reason with each operation, so it is short.
    private func reason(_ form: FormFields) -> String { (form["reason"] ?? "").oneLine }

    // MARK: Operations

    private func confirmation(_ action: OperationAction, _ visit: Visit) async throws -> PageContent {
        _ = try action.permission.require(visit.visitor)
        let text = try visit.parameters.name("id")
        let detail = try await OperationFinder(broker: site.broker).find(text, queue: visit.query["queue"])
        let id = detail.id.description
        let back = site.links.to("ops", id, query: ["queue": detail.queue])
        guard action.isAllowed(on: detail) else {
            throw PageFailure(
                status: .conflict,
                title: "Not possible now",
                message: "The operation cannot be \(action.kind.participle): it is \(detail.state.rawValue), and "
                    + (detail.refusesRelease && action == .release
                        ? "waits for its members, or for its unique key." : "this is possible in other states only.")
            )
        }
        return ConfirmationPage(
            place: .operations,
            question: action.question(on: detail),
            subject: parts {
                tag("b", text: detail.title(visit.view))
                " in queue \(detail.queue), "
                StateView.markup(detail.state)
                " "
                tag("span", .class("id dim"), text: id)
            },
            effect: action.effect(on: detail),
            warnings: action.consequence(for: try await Dependents(of: detail, site.broker)).map { [$0] } ?? [],
            button: action.confirmation(on: detail),
            isFinal: action.isFinal,
            takesReason: action.takesReason,
            isForced: action.isForced(on: detail),
            target: site.links.to("ops", id, action.rawValue, query: ["queue": detail.queue]),
            back: back,
            command: [action.kind.verb, "\(detail.queue)/\(id)"] + (action.isForced(on: detail) ? ["--force"] : [])
        ).content
    }

    private func perform(
        _ action: OperationAction,
        _ request: Request,
        _ context: DashboardContext
    ) async throws -> Response {
        let visitor = try action.permission.require(context.visitor)
        let form = try await request.form()
        let text = try context.parameters.name("id")
        let detail = try await OperationFinder(broker: site.broker).find(text, queue: request.fields["queue"])
        let address = OperationAddress(queue: detail.queue, id: detail.id)
        let terms = CancelRequest(reason: reason(form), by: visitor.name, isForced: form["force"] == "yes")
        let outcome = try await outcome(of: action, on: address, terms)
        await site.loop.expire()
        guard outcome.result == .done else {
            throw PageFailure(
                status: .conflict,
                title: "Nothing was changed",
                message: "The operation \(outcome.text).",
                command: ["show", "\(detail.queue)/\(detail.id)"]
            )
        }
        let notice = action.notice(outcome)
        guard action != .remove else {
            return Response.seeOther(site.links.to("ops", query: ["outcome": notice.rawValue]))
        }
        let query: KeyValuePairs<String, String?> = ["queue": detail.queue, "outcome": notice.rawValue]
        return Response.seeOther(site.links.to("ops", detail.id.description, query: query))
    }

    private func outcome(
        of action: OperationAction,
        on address: OperationAddress,
        _ terms: CancelRequest
    ) async throws -> OperationOutcome {
        do { try await site.broker.requireAnswer(of: address.queue) } catch {
            throw PageFailure.unavailable("Nothing was changed: \(error)")
        }
        let change = OperationChange(site.broker, action.kind, terms)
        do { return try await change.apply([address.id], queue: address.queue)[0] } catch {
            throw PageFailure.unknownOutcome(
                "\(error)",
                of: "operation",
                command: ["show", "\(address.queue)/\(address.id)"]
            )
        }
    }

    // MARK: Queues

    func queue(_ name: String?) async throws -> String {
        let known = try await site.broker.queues()
        guard let name, known.contains(name) else { throw LookupFailure.unknownQueue(name ?? "", known: known) }
        return name
    }

    private func confirmation(_ action: QueueAction, _ visit: Visit) async throws -> PageContent {
        _ = try Permission.pause.require(visit.visitor)
        let queue = try QueuePage.snapshot(visit)
        let places = action == .resume ? try await QueuePlaces.waitingNames(site.broker, queue) : nil
        return ConfirmationPage(
            place: .queues,
            question: "\(action.title) queue \(queue.queue)?",
            subject: parts {
                let workers = queue.liveWorkers.count
                "\(QuantityText.grouped(queue.counts[.ready] ?? 0)) ready, "
                    + "\(QuantityText.grouped(queue.counts[.executing] ?? 0)) running, "
                    + (workers == 1 ? "1 worker" : "\(QuantityText.grouped(workers)) workers")
            },
            effect: action.effect,
            warnings: places?.problems(queue, whenResumed: true).map { "Even then, \($0)." } ?? [],
            button: action.title,
            isFinal: false,
            takesReason: true,
            target: site.links.to("queues", action.rawValue, query: ["queue": queue.queue]),
            back: QueuePage.link(queue.queue, site.links),
            command: ["queue", action.rawValue, queue.queue]
        ).content
    }

    private func perform(
        _ action: QueueAction,
        _ request: Request,
        _ context: DashboardContext
    ) async throws -> Response {
        let visitor = try Permission.pause.require(context.visitor)
        let form = try await request.form()
        let name = try await queue(request.fields["queue"])
        let (by, reason) = (visitor.name, reason(form))
        try await site.broker.setPaused(
            action == .pause ? .pause(by: by, reason: reason) : .resume(by: by, reason: reason),
            queue: name
        )
        await site.loop.expire()
        return Response.seeOther(QueuePage.link(name, site.links, outcome: action.notice))
    }
}
