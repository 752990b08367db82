import Hummingbird
import Operations
import SluiceOperator
import TerminalText

/// The pages that ask before a request to a worker, and the requests.
struct WorkerRoutes: Sendable {
    let routes: Routes
    private var site: Site { routes.site }

    func add(to group: RouterGroup<DashboardContext>) {
        for action in WorkerAction.allCases {
            let path = RouterPath("workers/\(action.rawValue)")
            routes.page(group, path) { visit in try await confirmation(action, visit) }
            group.post(path) { request, context in try await perform(action, request, context) }
        }
    }

    /// - Throws: `PageFailure` or `LookupFailure` if no such worker runs.
    private func find(_ text: String?, _ reading: Reading) async throws -> WorkerSummary {
        guard let board = reading.board else { throw PageFailure.unavailable(reading.failure ?? "no data") }
        switch try await WorkerFinder.find(text ?? "", board, site) {
        case .present(let worker): return worker
        case .lost(let worker):
            throw PageFailure(
                status: .conflict,
                title: "The worker was lost",
                message: "Worker \(worker.label) was lost: there is no process that could obey.",
                command: ["workers", "show", worker.id]
            )
        }
    }

    /// - Throws: `PageFailure` if the worker does not take the command, such as a resume after a stop.
    private func require(_ action: WorkerAction, _ worker: WorkerSummary) throws(PageFailure) {
        guard action.isPossible(worker) else {
            throw PageFailure(
                status: .conflict,
                title: "Nothing to do",
                message: "Worker \(worker.label) is \(worker.phaseText)."
            )
        }
    }

    private func confirmation(_ action: WorkerAction, _ visit: Visit) async throws -> PageContent {
        _ = try action.permission.require(visit.visitor)
        let worker = try await find(visit.query["id"], visit.reading)
        try require(action, worker)
        let slots = action == .slots ? ["\(worker.info?.slots ?? SluiceDefaults.slots)"] : []
        return ConfirmationPage(
            place: .workers,
            question: action == .slots ? "Change the slots of this worker?" : "\(action.title) this worker?",
            subject: subject(action, worker),
            effect: action.effect + (worker.isLost ? " This one is lost: it obeys if it comes back." : ""),
            button: action == .slots ? "Change the slots" : action.title,
            isFinal: action.isFinal,
            takesReason: false,
            target: site.links.to("workers", action.rawValue, query: ["id": worker.id]),
            back: WorkerLink.to(worker.id, site.links),
            command: ["workers", action.rawValue] + slots + [worker.id]
        ).content
    }

    private func subject(_ action: WorkerAction, _ worker: WorkerSummary) -> Markup {
        parts {
            tag("b", text: worker.label)
            let place = worker.info.map { " on \($0.host), pid \($0.pid)" } ?? ""
            "\(place), \(worker.phaseText), runs \(QuantityText.grouped(worker.inFlight)) in "
                + worker.servedQueues.joined(separator: ", ") + " "
            tag("span", .class("id dim"), text: worker.id)
            if action == .slots {
                tag("label", .class("line")) {
                    "Slots "
                    void(
                        "input",
                        .named("type", "number"),
                        .name("slots"),
                        .named("min", "1"),
                        .named("max", "10000"),
                        .flag("required"),
                        .value(worker.info.map { "\($0.slots)" } ?? "")
                    )
                }
            }
        }
    }

    private func perform(
        _ action: WorkerAction,
        _ request: Request,
        _ context: DashboardContext
    ) async throws -> Response {
        let visitor = try action.permission.require(context.visitor)
        let command = try action.command(slots: try await request.form()["slots"])
        let worker = try await find(request.fields["id"], await site.loop.current())
        try require(action, worker)
        let isStored: Bool
        do {
            isStored = try await site.broker.control(command, worker: worker, by: visitor.name)
        } catch {
            await site.loop.expire()
            throw PageFailure(
                status: .serviceUnavailable,
                title: "The request may have been stored",
                message: "Redis was asked, and then: \(error)",
                notes: ["Look at the worker before you try again."],
                command: ["workers", "show", worker.id]
            )
        }
        await site.loop.expire()
        guard isStored else {
            throw PageFailure(
                status: .conflict,
                title: "Nothing was changed",
                message: worker.answer(to: command, isStored: false)
            )
        }
        let query: KeyValuePairs<String, String?> = ["id": worker.id, "outcome": OutcomeNotice.workerAsked.rawValue]
        return Response.seeOther(site.links.to("workers", "show", query: query))
    }
}

/// Finds workers by name, id, or the end of an id.
enum WorkerFinder {
    static func find(_ text: String, _ board: Board, _ site: Site) async throws -> WorkerLookup.Found {
        let lookup = WorkerLookup(workers: board.workers, lost: board.lost, absent: board.snapshot.absent)
        do { return try lookup.find(text) } catch let failure where failure.code != .notFound { throw failure } catch {
            // The board has the newest lost workers only.
            return try await WorkerLookup(board.snapshot, site.broker).find(text)
        }
    }
}

/// The link of a worker's page.
enum WorkerLink {
    static func to(_ id: String, _ links: Links) -> Link { links.to("workers", "show", query: ["id": id]) }

    /// The worker of a running operation in a table, which leads to the worker's page.
    static func anchor(_ entry: ExecutingSummary, _ links: Links) -> Markup {
        tag(
            "a",
            .class("plain"),
            .href(to(entry.row.worker, links)),
            .title(entry.workerLabel),
            text: entry.workerLabel
        )
    }
}
