import Foundation
import Hummingbird
import Operations
import Sluice
import SluiceOperator
import TerminalText

/// The pages with forms of operations: edit, rerun, and a new one.
struct FormRoutes: Sendable {
    let routes: Routes
    private var site: Site { routes.site }

    func add(to group: RouterGroup<DashboardContext>) {
        EditRoutes(routes: routes).add(to: group)
        RerunRoutes(routes: routes).add(to: group)
        routes.page(group, "ops/new") { visit in try await page(visit) }
        group.post("ops/new") { request, context in try await enqueue(request, context) }
    }

    private func page(_ visit: Visit) async throws -> PageContent {
        _ = try Permission.enqueue.require(visit.visitor)
        let board = visit.reading.board
        let known = board?.snapshot.queues.map(\.queue) ?? []
        let name = visit.query["name"] ?? ""
        let queue = visit.query["queue"] ?? (known.count == 1 ? known[0] : SluiceDefaults.queue)
        let form = TypedForm(
            FormFields([
                "id": OperationID().description, "name": name, "queue": queue,
                "priority": OperationPriority.normal.rawValue,
            ])
        )
        guard NameRule.allows(name), NameRule.allows(queue) else {
            var typed = form
            if !name.isEmpty { _ = typed.read("name") { try NameRule.check(name, role: "operation name") } }
            _ = typed.read("queue") { try NameRule.check(queue, role: "queue") }
            return NewOperationPage(site: site, board: board, form: typed, arguments: .init([], visit.view)).choice
        }
        let snapshot = board?.snapshot.queues.first { $0.queue == queue }
        let samples =
            if let snapshot { try await ArgumentFields.samples(of: name, snapshot, site) } else { [OperationDetail]() }
        site.words.add(samples)
        return NewOperationPage(site: site, board: board, form: form, arguments: .init(samples, visit.view)).content
    }

    // MARK: Enqueue

    private func enqueue(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let visitor = try Permission.enqueue.require(context.visitor)
        var form = TypedForm(try await request.form(upTo: Limits.operationForm))
        let enqueuing = NewOperations(site: site)
        let id = try enqueuing.id(form)
        let fields = ArgumentFields(form.fields)
        func page(_ status: HTTPResponse.Status, _ problem: Markup) async throws -> Response {
            let reading = await site.loop.current()
            let page = NewOperationPage(
                site: site,
                board: reading.board,
                form: form,
                arguments: fields,
                problem: problem
            )
            return try await routes.answer(page.content, status: status, request, context)
        }
        let queue = try await enqueuing.queue(&form)
        let made = try await operation(id, fields, &form, by: visitor.name)
        guard let operation = made, form.errors.isEmpty else {
            return try await page(
                .badRequest,
                Notice.markup(.bad, "Nothing was enqueued. Correct the marked fields.")
            )
        }
        let change = enqueuing.change(form, by: visitor.name)
        switch try await enqueuing.enqueue(operation, queue: queue, change, .enqueued) {
        case .enqueued(let response): return response
        case .taken(let holder):
            form.refuse("unique", "\(holder) has this key, so nothing was enqueued.")
            return try await page(
                .conflict,
                tag("p", .class("notice bad"), .named("role", "alert")) {
                    "Nothing was enqueued: the unique key belongs to "
                    OperationLink.markup(holder, queue: queue, site.links)
                }
            )
        }
    }

    /// - Returns: nil if a field is refused.
    private func operation(
        _ id: OperationID,
        _ fields: ArgumentFields,
        _ form: inout TypedForm,
        by author: String
    ) async throws -> NewOperation? {
        let name = form.line("name")
        _ = form.read("name") { try NameRule.check(name, role: "operation name") }
        let arguments = fields.arguments(&form)
        var options = EnqueueOptions(.id(id))
        options.priority = form.priority()
        options.tags = form.tags()
        options.headers = NewOperations.signed([:], by: author)
        let key = form.line("unique")
        if !key.isEmpty {
            _ = form.read("unique") { try UniqueKeyRule.check(key) }
            options.uniqueness = .init(key: UniqueKey(key), policy: .join)
        }
        let delay = try await NewOperations(site: site).delay(form.start(), &form)
        guard form.errors.isEmpty, let arguments else { return nil }
        return form.read("arguments") {
            var operation = try options.operation(name: name, arguments: arguments, serverTime: nil)
            operation.delayMilliseconds = delay
            return operation
        }
    }
}
