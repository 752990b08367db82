import Hummingbird
import Operations
import SluiceOperator

/// The pages that ask before a stored change is stopped or removed, and the requests that do it.
struct ChangeEndRoutes: Sendable {
    let routes: Routes
    private var site: Site { routes.site }

    func add(to group: RouterGroup<DashboardContext>) {
        routes.page(group, "changes/:id/stop") { visit in try await stopQuestion(visit) }
        group.post("changes/:id/stop") { _, context in try await stop(context) }
        routes.page(group, "changes/:id/remove") { visit in try await removeQuestion(visit) }
        group.post("changes/:id/remove") { _, context in try await remove(context) }
    }

    private func find(_ text: String) async throws -> StoredChange {
        guard let id = OperationID(text), let change = try await site.broker.changes(id).changes.first else {
            throw PageFailure.notFound("There is no change \(text).")
        }
        return change
    }

    // MARK: Stop

    private func job(_ change: StoredChange) throws(PageFailure) -> ChangeJob {
        guard let (job, _) = change.content else {
            throw PageFailure(
                status: .conflict,
                title: "Nothing was changed",
                message: "This version of the dashboard cannot read the change, so it does not run here."
            )
        }
        return job
    }

    private func stopQuestion(_ visit: Visit) async throws -> PageContent {
        let change = try await find(visit.parameters.name("id"))
        let job = try job(change)
        _ = try job.kind.permission.require(visit.visitor)
        return ConfirmationPage(
            place: .operations,
            question: "Stop this change?",
            subject: parts { job.title },
            effect: "The step under way is finished. Operations that are changed already stay changed.",
            button: "Stop",
            isFinal: true,
            takesReason: false,
            target: site.links.to("changes", change.id.description, "stop"),
            back: site.links.to("changes", change.id.description),
            command: job.command
        ).content
    }

    private func stop(_ context: DashboardContext) async throws -> Response {
        _ = try Permission.cancel.require(context.visitor)
        let change = try await find(context.parameters.name("id"))
        let visitor = try job(change).kind.permission.require(context.visitor)
        guard try await site.broker.stopChange(change.id, by: visitor.name) else {
            throw PageFailure(status: .conflict, title: "Nothing was changed", message: "The change has ended already.")
        }
        await site.loop.expire()
        return Response.seeOther(site.links.to("changes", change.id.description))
    }

    // MARK: Remove

    private func requireUnreadable(_ change: StoredChange) throws(PageFailure) {
        guard change.content == nil else {
            throw PageFailure(
                status: .conflict,
                title: "Nothing was changed",
                message: "The change can be read. Stop it instead; ended changes make room by themselves."
            )
        }
    }

    private func removeQuestion(_ visit: Visit) async throws -> PageContent {
        _ = try Permission.remove.require(visit.visitor)
        let change = try await find(visit.parameters.name("id"))
        try requireUnreadable(change)
        return ConfirmationPage(
            place: .operations,
            question: "Remove this change?",
            subject: parts { "Change \(change.id), which this version of the dashboard cannot read" },
            effect:
                "No dashboard goes on with it, also no newer one. Operations that are changed already stay changed.",
            button: "Remove",
            isFinal: true,
            takesReason: false,
            target: site.links.to("changes", change.id.description, "remove"),
            back: site.links.to("changes", change.id.description),
            command: ["doctor"]
        ).content
    }

    private func remove(_ context: DashboardContext) async throws -> Response {
        let visitor = try Permission.remove.require(context.visitor)
        let change = try await find(context.parameters.name("id"))
        try requireUnreadable(change)
        guard try await site.broker.removeChange(change.id) else {
            throw PageFailure.notFound("There is no change \(change.id).")
        }
        // An unreadable change names no queue, so the first one has the event.
        if let queue = try? await site.broker.queues().first {
            let event = QueueChange(.removeChange, by: visitor.name, detail: "\(change.id), which could not be read")
            try? await site.broker.noteEvent(event, of: nil, queue: queue)
        }
        await site.loop.expire()
        return Response.seeOther(site.links.to("changes"))
    }
}
