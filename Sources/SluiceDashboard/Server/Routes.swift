import HTTPTypes
import Hummingbird
import SluiceOperator

/// The routes of a dashboard.
struct Routes: Sendable {
    let site: Site

    func router() -> Router<DashboardContext> {
        let router = Router(context: DashboardContext.self, options: [.autoGenerateHeadEndpoints])
        router.add(middleware: Gate(site: site))
        let base = router.group(RouterPath(site.options.basePath))
        addFrame(to: base)
        addPages(to: base)
        return router
    }

    // MARK: Login, colours and files

    private func addFrame(to group: RouterGroup<DashboardContext>) {
        group.get("assets/:name") { request, context in
            let name = try context.parameters.name("name")
            guard let asset = Asset.all.first(where: { $0.name == name }) else {
                throw PageFailure.notFound("There is no such file.")
            }
            return Response.asset(asset, for: request)
        }
        group.get("healthz") { _, _ in Response.text("ok\n", "text/plain; charset=utf-8") }
        group.get("readyz") { _, _ in
            let isReady = await site.loop.current().failure == nil
            let response = Response.text(isReady ? "ok\n" : "Redis does not answer\n", "text/plain; charset=utf-8")
            return isReady
                ? response : Response(status: .serviceUnavailable, headers: response.headers, body: response.body)
        }
        if !site.options.isMounted { LoginRoutes(site: site).add(to: group) }
        group.post("theme") { request, _ in
            let form = try await request.form()
            guard let theme = form["theme"].flatMap(Theme.init) else { throw PageFailure.badRequest("unknown colours") }
            let back = form["back"].flatMap { site.links.inside($0) } ?? site.links.to()
            return Response.seeOther(back, cookie: site.setCookie(Theme.cookie, theme.rawValue, "; Max-Age=31536000"))
        }
    }

    // MARK: Pages

    private func addPages(to group: RouterGroup<DashboardContext>) {
        page(group, "") { visit in try OverviewPage(visit).content }
        page(group, "ops") { visit in try await OperationsPage(visit).content }
        page(group, "ops/:id") { visit in try await OperationPage(visit).content }
        page(group, "graph") { visit in try await GraphPage(visit).content }
        page(group, "groups") { visit in try await GroupsPage(visit).content }
        page(group, "groups/show") { visit in try await GroupPage(visit).content }
        page(group, "queues") { visit in try QueuesPage(visit).content }
        FigureRoutes(routes: self).add(to: group)
        page(group, "workers") { visit in try WorkersPage(visit).content }
        page(group, "workers/show") { visit in try await WorkerPage.content(visit) }
        page(group, "schedules") { visit in try await SchedulesPage(visit).content }
        page(group, "schedules/show") { visit in try await SchedulePage(visit).content }
        page(group, "events") { visit in try await EventsPage(visit).content }
        page(group, "doctor") { visit in try await DoctorPage(visit).content }
        page(group, "about") { visit in AboutPage(visit: visit).content }
        page(group, "live/ops") { visit in try await ListRefresh(visit).content }
        group.get("live/words") { [site] request, _ in
            Response.json(site.words.suggestions(await site.loop.current().board), for: request)
        }
        LiveRoute(site: site).add(to: group)
        ExportRoute(site: site).add(to: group)
        OperationFiles(site: site).add(to: group)
        APIRoutes(site: site).add(to: group)
        ChangeRoutes(routes: self).add(to: group)
        if !site.options.isReadOnly {
            ActionRoutes(routes: self).add(to: group)
            FormRoutes(routes: self).add(to: group)
            ScheduleRoutes(routes: self).add(to: group)
            WorkerRoutes(routes: self).add(to: group)
            HostRoutes(routes: self).add(to: group)
        }
    }

    /// Adds a page, also as the part of it that a script fetches.
    func page(
        _ group: RouterGroup<DashboardContext>,
        _ path: RouterPath,
        _ make: @escaping @Sendable (Visit) async throws -> PageContent
    ) {
        group.get(path) { request, context in
            let visit = try await visit(request, context)
            let content = try await make(visit)
            let layout = Layout(visit)
            if request.headers[.fragment] != nil {
                return Response.fragment(layout.main(content), of: visit.reading, for: request)
            }
            return Response.html(layout.document(content))
        }
    }

    /// Answers a form with a page, for example with the form again and what is wrong in it.
    func answer(
        _ content: PageContent,
        status: HTTPResponse.Status,
        _ request: Request,
        _ context: DashboardContext
    ) async throws -> Response {
        .html(Layout(try await visit(request, context)).document(content), status: status)
    }

    private func visit(_ request: Request, _ context: DashboardContext) async throws -> Visit {
        guard let visitor = context.visitor else { throw PageFailure.forbidden("This page needs a login.") }
        // An app runs no service of the dashboard, so its pages look for changes that are left.
        if site.options.isMounted, !site.options.isReadOnly { await site.changes.startIfDue() }
        return Visit(
            site: site,
            visitor: visitor,
            reading: await site.loop.current(),
            parameters: context.parameters,
            query: request.fields,
            link: site.links.inside(request.uri.string) ?? site.links.to(),
            theme: request.theme
        )
    }
}

extension HTTPField.Name {
    /// Asks only for the content of a page, without its frame.
    static let fragment = HTTPField.Name("Sluice-Fragment")!
}
