import Hummingbird
import Operations
import SluiceOperator
import TerminalText

/// The pages of changes of many operations, and the requests that begin them.
struct ChangeRoutes: Sendable {
    let routes: Routes
    private var site: Site { routes.site }

    func add(to group: RouterGroup<DashboardContext>) {
        routes.page(group, "changes") { visit in try await ChangesPage(visit).content }
        if !site.options.isReadOnly { addActions(to: group) }
        routes.page(group, "changes/:id") { visit in try await ChangePage(visit).content }
    }

    private func addActions(to group: RouterGroup<DashboardContext>) {
        routes.page(group, "changes/new") { visit in
            let target = try ChangeTarget(visit.query)
            try require(target, visit.visitor)
            return try await ChangePlanPage(visit, target, plan(target)).content
        }
        group.post("changes") { request, context in try await begin(request, context) }
        ChangeEndRoutes(routes: routes).add(to: group)
    }

    /// - Throws: `PageFailure` if the visitor does not have the rights.
    private func require(_ target: ChangeTarget, _ visitor: Visitor?) throws(PageFailure) {
        for permission in target.permissions { _ = try permission.require(visitor) }
    }

    private func plan(_ target: ChangeTarget) async throws -> ChangePlan {
        try await ChangePlan(target.action.kind, target.target, broker: site.broker, view: site.options.view)
    }

    // MARK: Begin

    private func begin(_ request: Request, _ context: DashboardContext) async throws -> Response {
        // Every change of operations needs at least this right, so a viewer learns nothing else.
        _ = try Permission.cancel.require(context.visitor)
        let form = try await request.form()
        let target = try ChangeTarget(form)
        try require(target, context.visitor)
        guard let visitor = context.visitor, let id = form["change"].flatMap({ OperationID($0) }),
            let shown = form["count"].flatMap(Int.init), shown >= 0, form["digest"] == target.digest(count: shown)
        else { throw refusal("The change is not the one that the plan has shown.", target, form) }
        let typed = (form["typed"] ?? "").filter { !" ,.'\u{A0}\u{202F}".contains($0) }
        guard typed == "\(shown)" else {
            throw refusal("Type \(shown) to confirm. The field had “\(form["typed"] ?? "")”.", target, form)
        }
        // The form was sent before, and the answer may have been lost.
        let place = site.links.to("changes", id.description)
        guard try await site.broker.changes(id).changes.isEmpty else { return Response.seeOther(place) }
        let plan = try await plan(target)
        guard plan.count > 0 else {
            throw refusal("No operation is left that can be \(target.action.kind.participle).", target, form)
        }
        guard abs(plan.count - shown) <= max(10, shown / 10) else {
            throw refusal(
                "The plan has shown \(QuantityText.grouped(shown)) operations, and now they are "
                    + "\(QuantityText.grouped(plan.count)).",
                target,
                form
            )
        }
        let job = ChangeJob(
            target.action.kind,
            target.target,
            spread: try spread(form, target),
            reason: form["reason"] ?? "",
            by: visitor.name,
            from: site.options.machine,
            expected: plan.count
        )
        let (starts, queues) = (plan.starts, plan.queues)
        guard try await ChangeJobRun.store(job, as: id, starts: starts, queues: queues, in: site.broker) != .full else {
            throw refusal("\(StoredChange.openLimit) changes have not ended. Wait for one, or stop one.", target, form)
        }
        await site.changes.start()
        await site.loop.expire()
        return Response.seeOther(place)
    }

    private func spread(_ form: FormFields, _ target: ChangeTarget) throws -> Duration? {
        guard target.action == .retry, let text = form["spread"] else { return nil }
        do {
            let spread = try DurationText.parse(text)
            try TimeLimit.check(spread, "spread")
            return spread
        } catch { throw refusal("\(error)", target, form) }
    }

    /// The answer to a form that begins nothing. The new plan keeps what was typed, so that a spread is not lost.
    private func refusal(_ message: String, _ target: ChangeTarget, _ form: FormFields) -> PageFailure {
        var failure = PageFailure(
            status: .conflict,
            title: "Nothing was changed",
            message: message,
            notes: ["Look at the plan again, and confirm it."]
        )
        let (reason, spread) = (form["reason"], target.action == .retry ? form["spread"] : nil)
        let link = target.plan(site.links, reason: reason, spread: spread)
        failure.next = .init(link: link, title: "New plan")
        return failure
    }
}

extension ChangeKind {
    var permission: Permission {
        switch self {
        case .cancel: .cancel
        case .retry: .retry
        case .hold: .hold
        case .release: .release
        case .remove: .remove
        }
    }
}

extension ChangeJob {
    /// The words of the command that makes the change.
    var command: [String] {
        let words =
            switch target {
            case .matching(let text): [kind.verb, "-w", text.isEmpty ? "queue:*" : text]
            case .marked(let addresses): [kind.verb] + addresses.map { "\($0.queue)/\($0.id)" }
            }
        return words + (spread.map { ["--spread", DurationText.precise($0)] } ?? [])
    }
}
