import Hummingbird

/// The pages of statistics.
struct FigureRoutes: Sendable {
    let routes: Routes

    func add(to group: RouterGroup<DashboardContext>) {
        routes.page(group, "performance") { visit in try await PerformancePage(visit).content }
        routes.page(group, "errors") { visit in try await ErrorsPage(visit).content }
        routes.page(group, "queues/show") { visit in try await QueuePage(visit).content }
        routes.page(group, "performance/name") { visit in try await NamePage(visit).content }
    }
}
