import Hummingbird
import Operations
import SluiceOperator
import TerminalText

/// Requests to all workers of a host: a question, and the requests.
struct HostRoutes: Sendable {
    static let actions: [WorkerAction] = [.quiet, .resume, .stop]

    let routes: Routes
    private var site: Site { routes.site }

    func add(to group: RouterGroup<DashboardContext>) {
        for action in Self.actions {
            let path = RouterPath("workers/hosts/\(action.rawValue)")
            routes.page(group, path) { visit in try confirmation(action, visit) }
            group.post(path) { request, context in try await perform(action, request, context) }
        }
    }

    private func confirmation(_ action: WorkerAction, _ visit: Visit) throws -> PageContent {
        _ = try action.permission.require(visit.visitor)
        let (host, workers) = try workers(for: action, on: visit.query["host"], try visit.board())
        return ConfirmationPage(
            place: .workers,
            question: "\(action.title) all workers of host \(host)?",
            subject: tag("ul", .class("reasons")) {
                workers.map { worker in
                    tag("li") {
                        tag("b", text: worker.label)
                        ", \(worker.phaseText), runs \(QuantityText.grouped(worker.inFlight)) in "
                            + worker.servedQueues.joined(separator: ", ")
                    }
                }
            },
            effect: action.effect,
            button: action.title,
            isFinal: action.isFinal,
            takesReason: false,
            target: Self.link(action, host, site.links),
            back: site.links.to("workers"),
            command: ["workers", action.rawValue, "--host", host]
        ).content
    }

    private func perform(
        _ action: WorkerAction,
        _ request: Request,
        _ context: DashboardContext
    ) async throws -> Response {
        let visitor = try action.permission.require(context.visitor)
        let reading = await site.loop.current()
        guard let board = reading.board else { throw PageFailure.unavailable(reading.failure ?? "no data") }
        let (host, workers) = try workers(for: action, on: request.fields["host"], board)
        let command = try action.command(slots: nil)
        var asked = 0
        for worker in workers {
            do {
                if try await site.broker.control(command, worker: worker, by: visitor.name) { asked += 1 }
            } catch {
                await site.loop.expire()
                throw PageFailure(
                    status: .serviceUnavailable,
                    title: "Not all workers were asked",
                    message: "\(asked) of \(workers.count) workers were asked, and then: \(error)",
                    notes: ["Asking again asks those that are left."],
                    command: ["workers", action.rawValue, "--host", host]
                )
            }
        }
        await site.loop.expire()
        return Response.seeOther(site.links.to("workers", query: ["outcome": OutcomeNotice.hostAsked.rawValue]))
    }

    /// The workers of a host that can obey.
    ///
    /// - Throws: `PageFailure` if the host has no worker, or none that can obey.
    private func workers(
        for action: WorkerAction,
        on host: String?,
        _ board: Board
    ) throws(PageFailure) -> (host: String, workers: [WorkerSummary]) {
        guard let host, let workers = HostSummary.all(board).first(where: { $0.host == host })?.workers else {
            throw .notFound("No worker of host \(host ?? "") runs.")
        }
        let possible = workers.filter(action.isPossible)
        guard !possible.isEmpty else {
            throw PageFailure(
                status: .conflict,
                title: "Nothing to do",
                message: workers.map { "Worker \($0.label) is \($0.phaseText)." }.joined(separator: " ")
            )
        }
        return (host, possible)
    }

    static func link(_ action: WorkerAction, _ host: String, _ links: Links) -> Link {
        links.to("workers", "hosts", action.rawValue, query: ["host": host])
    }
}

/// The live workers of one host.
struct HostSummary {
    let host: String
    let workers: [WorkerSummary]

    /// All hosts with live workers, by name.
    static func all(_ board: Board) -> [HostSummary] {
        let known = board.liveWorkers.filter { $0.info != nil }
        return Dictionary(grouping: known) { $0.info?.host ?? "" }.map(HostSummary.init).sorted { $0.host < $1.host }
    }
}
