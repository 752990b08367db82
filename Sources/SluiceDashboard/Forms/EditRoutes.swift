import Hummingbird
import Operations
import SluiceOperator
import TerminalText

/// The page that changes an operation that waits, and the request that does it.
struct EditRoutes: Sendable {
    let routes: Routes
    private var site: Site { routes.site }

    func add(to group: RouterGroup<DashboardContext>) {
        routes.page(group, "ops/:id/edit") { visit in
            _ = try Permission.edit.require(visit.visitor)
            let detail = try await find(visit.parameters, visit.query)
            guard detail.state.isWaiting, detail.links.group == nil else { throw refusal(detail) }
            return EditPage(detail, site).content
        }
        group.post("ops/:id/edit") { request, context in try await perform(request, context) }
    }

    private func find(_ parameters: Parameters, _ query: FormFields) async throws -> OperationDetail {
        try await OperationFinder(broker: site.broker).find(parameters.name("id"), queue: query["queue"])
    }

    private func refusal(_ detail: OperationDetail) -> PageFailure {
        let isGroup = detail.links.group != nil
        return PageFailure(
            status: .conflict,
            title: "Not possible now",
            message: isGroup
                ? "The operation \(GroupSummary.refusal(of: "edit", detail.id))."
                : "The operation is \(detail.state.rawValue), so it cannot be edited. Waiting operations can."
        )
    }

    private func perform(_ request: Request, _ context: DashboardContext) async throws -> Response {
        let visitor = try Permission.edit.require(context.visitor)
        var form = TypedForm(try await request.form(upTo: Limits.operationForm))
        let detail = try await find(context.parameters, request.fields)
        func page(_ status: HTTPResponse.Status, _ problem: String?) async throws -> Response {
            let page = EditPage(detail, site, form, problem: problem).content
            return try await routes.answer(page, status: status, request, context)
        }
        guard detail.links.group == nil else { throw refusal(detail) }
        guard detail.state.isWaiting else {
            return try await page(
                .conflict,
                "Nothing was changed: the operation is \(detail.state.rawValue) by now. Waiting operations can be edited."
            )
        }
        guard form.fields["version"] == EditPage.version(detail) else {
            return try await page(
                .conflict,
                "Nothing was changed: the operation has changed since this page was opened. "
                    + "Compare its present values with what you typed, and save again."
            )
        }
        let wanted = wanted(&form, detail)
        guard form.errors.isEmpty else { return try await page(.badRequest, "Nothing was changed.") }
        guard !wanted.isEmpty else {
            return try await page(.conflict, "Nothing to change: these are the present values.")
        }
        do { try await site.broker.requireAnswer(of: detail.queue) } catch {
            throw PageFailure.unavailable("Nothing was changed: \(error)")
        }
        do {
            let edit = try wanted.edit(detail, site.client.seal, now: try await now(wanted, detail.queue))
            let outcome = try await store(edit, detail, by: visitor.name)
            guard let refusal = outcome.refusal else { return done(detail) }
            return try await page(.conflict, "Nothing was changed: the operation \(refusal.text).")
        } catch let error as OperationsError where [.refused, .invalidOption, .tooLarge].contains(error.code) {
            return try await page(.conflict, "Nothing was changed: the operation \(error.message).")
        }
    }

    private func now(_ wanted: EditRequest, _ queue: String) async throws -> Int64 {
        wanted.at == nil ? 0 : try await site.broker.snapshot(queue: queue, executingRows: 0).time
    }

    private func wanted(_ form: inout TypedForm, _ detail: OperationDetail) -> EditRequest {
        var wanted = EditRequest()
        if let priority = form.priority(), priority != detail.record.header.priority { wanted.priority = priority }
        let present = detail.dueText ?? ""
        if form.line("start") != present {
            switch form.start() {
            case .delay(let delay): wanted.delay = delay
            case .at(let time): wanted.at = time
            case nil where form.line("start").isEmpty:
                form.refuse("start", "The operation waits for a time. To start it now, retry it.")
            case nil: break
            }
        }
        guard EditPage.reasonWithoutTags(detail, site.client.seal) == nil else {
            if form.fields["tags"] != nil { form.refuse("tags", "Tags cannot be changed here.") }
            return wanted
        }
        let tags = form.tags()
        if tags != detail.envelope.tags { wanted.tags = tags }
        return wanted
    }

    private func store(_ edit: OperationEdit, _ detail: OperationDetail, by name: String) async throws -> EditOutcome {
        do {
            let outcome = try await site.broker.edit([edit], by: name, queue: detail.queue)[0]
            await site.loop.expire()
            return outcome
        } catch {
            throw PageFailure(
                status: .serviceUnavailable,
                title: "The change may have been made",
                message: "Redis was asked, and then: \(error)",
                notes: ["Look at the operation before you try again."],
                command: ["show", "\(detail.queue)/\(detail.id)"]
            )
        }
    }

    private func done(_ detail: OperationDetail) -> Response {
        let query: KeyValuePairs<String, String?> = ["queue": detail.queue, "outcome": OutcomeNotice.edited.rawValue]
        return Response.seeOther(site.links.to("ops", detail.id.description, query: query))
    }
}
