import Hummingbird
import Operations
import SluiceOperator
import TerminalText

/// The page that enqueues an operation again, and the request that does it.
struct RerunRoutes: Sendable {
    let routes: Routes
    private var site: Site { routes.site }

    func add(to group: RouterGroup<DashboardContext>) {
        routes.page(group, "ops/:id/rerun") { visit in
            _ = try Permission.rerun.require(visit.visitor)
            let detail = try await find(visit.parameters, visit.query)
            let queues = try await site.broker.queues()
            return RerunPage(detail, site, queues: queues, mayChange: visit.may(.enqueue)).content
        }
        group.post("ops/:id/rerun") { request, context in try await perform(request, context) }
    }

    /// - Throws: `PageFailure` for an operation that cannot be repeated.
    private func find(_ parameters: Parameters, _ query: FormFields) async throws -> OperationDetail {
        let detail = try await OperationFinder(broker: site.broker).find(parameters.name("id"), queue: query["queue"])
        do { _ = try detail.rerun(site.client.seal) { _ in } } catch let error as OperationsError
            where error.code == .refused
        {
            throw PageFailure(
                status: .conflict,
                title: "Not possible",
                message: "The operation \(error.message)."
            )
        }
        return detail
    }

    private func perform(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let visitor = try Permission.rerun.require(context.visitor)
        var form = TypedForm(try await request.form(upTo: Limits.operationForm))
        let detail = try await find(context.parameters, request.fields)
        let enqueuing = NewOperations(site: site)
        let queue = try await enqueuing.queue(&form)
        let operation = try await operation(detail, &form, by: visitor.name)
        if form.line("name") != detail.envelope.name || queue != detail.queue || arguments(detail, &form) != nil {
            _ = try Permission.enqueue.require(visitor)
        }
        if let operation, form.errors.isEmpty {
            let change = enqueuing.change(form, rerunOf: detail, by: visitor.name)
            let outcome = try await enqueuing.enqueue(operation, queue: queue, change, .rerun)
            guard case .enqueued(let response) = outcome else {
                throw PageFailure(status: .conflict, title: "Nothing was enqueued", message: "A unique key is taken.")
            }
            return response
        }
        let page = RerunPage(
            detail,
            site,
            form,
            queues: try await site.broker.queues(),
            mayChange: visitor.role.has(.enqueue),
            problem: "Nothing was enqueued. Correct the marked fields."
        )
        return try await routes.answer(page.content, status: .badRequest, request, context)
    }

    /// - Returns: nil if a field is refused.
    private func operation(
        _ detail: OperationDetail,
        _ form: inout TypedForm,
        by name: String
    ) async throws -> NewOperation? {
        let enqueuing = NewOperations(site: site)
        let id = try enqueuing.id(form)
        let arguments = arguments(detail, &form)
        let (priority, start, tags) = (form.priority(), form.start(), form.tags())
        let title = form.line("name")
        _ = form.read("name") { try NameRule.check(title, role: "operation name") }
        let delay = try await enqueuing.delay(start, &form)
        guard form.errors.isEmpty, let priority else { return nil }
        return form.read("arguments") {
            var operation = try detail.rerun(site.client.seal) { envelope in
                (envelope.name, envelope.tags) = (title, tags)
                if let arguments { envelope.arguments = arguments }
                envelope.headers = NewOperations.signed(envelope.headers, by: name)
            }
            (operation.id, operation.priority, operation.delayMilliseconds) = (id, priority, delay)
            return operation
        }
    }

    /// The changed arguments; nil = those of the operation.
    private func arguments(_ detail: OperationDetail, _ form: inout TypedForm) -> [UInt8]? {
        let text = form.text("arguments")
        guard let shown = RerunPage.arguments(detail, site) else {
            if !text.isEmpty { form.refuse("name", "Arguments are hidden here, so they cannot be changed.") }
            return nil
        }
        guard text != shown else { return nil }
        return form.read("arguments") { try JSONValue(parsing: text).serializedBytes() }
    }
}
