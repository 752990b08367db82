import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("A dashboard inside an app", .timeLimit(.minutes(60)))
struct MountTests {
    @Test("Routes of the app stay, its login counts, and the dashboard's cookies and hosts do not")
    func mounted() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        var options = DashboardOptions(namespace: "test", identity: "x")
        (options.basePath, options.isMounted, options.patience) = ("/admin/jobs", true, .seconds(3_600))
        let router = Router()
        router.get("hello") { _, _ in "hello" }
        Dashboard(desk.site.client, options).addRoutes(to: router) { request, _ in
            switch request.headers[HTTPField.Name("X-Person")!] {
            case "ann": .init(name: "ann", role: .operator)
            case "eve": .init(name: "eve", role: .viewer)
            default: nil
            }
        }
        let person = HTTPField.Name("X-Person")!
        try await Application(router: router).test(.router) { client in
            func send(_ path: String, _ name: String?, _ method: HTTPRequest.Method = .get) async throws -> TestResponse
            {
                var headers: HTTPFields = [.fetchSite: "same-origin"]
                if let name { headers[person] = name }
                return try await client.execute(uri: path, method: method, headers: headers)
            }
            #expect(try await send("/hello", nil).status == .ok)
            #expect(try await send("/admin/jobs", "eve").status == .ok)
            #expect(try await send("/admin/jobs/", "eve").status == .ok)
            #expect(try await send("/admin/jobs/ops", nil).status == .unauthorized)
            #expect(try await send("/admin/jobs/login?token=x", "eve").status == .notFound)
            let page = String(buffer: try await send("/admin/jobs/ops/\(id)?queue=mail", "eve").body)
            #expect(page.contains("href=\"/admin/jobs/queues\"") && !page.contains("Log out"))
            let cancel = "/admin/jobs/ops/\(id)/cancel?queue=mail"
            #expect(try await send(cancel, "eve", .post).status == .forbidden)
            #expect(try await send(cancel, "ann", .post).status == .seeOther)
        }
        #expect(try await desk.detail(id)?.cancel?.by == "ann")
    }

    @Test(
        "Any page of a mounted dashboard goes on with a change that no program performs, and a read-only one does not"
    )
    func takeover() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let job = ChangeJob(.hold, .matching("queue:mail"), reason: "", by: "bob", expected: 1)
        let change = OperationID()
        _ = try await ChangeJobRun.store(job, as: change, starts: ["mail": 1], in: desk.broker)
        func visit(isReadOnly: Bool) async throws {
            var options = DashboardOptions(namespace: "test", identity: "x")
            (options.basePath, options.isMounted, options.isReadOnly) = ("/jobs", true, isReadOnly)
            (options.patience, options.changeLease) = (.seconds(3_600), .seconds(3_600))
            let router = Router()
            let dashboard = Dashboard(desk.site.client, options)
            dashboard.addRoutes(to: router) { _, _ in .init(name: "eve", role: .viewer) }
            try await Application(router: router).test(.router) { client in
                let answer = try await client.execute(uri: "/jobs/queues", method: .get)
                #expect(answer.status == .ok)
            }
            await dashboard.site.changes.finish()
        }
        try await visit(isReadOnly: true)
        #expect(try await desk.broker.changes(change).changes.first?.fence == 0)
        try await visit(isReadOnly: false)
        #expect(try await desk.broker.changes(change).changes.first?.isEnded ?? false)
        #expect(try await desk.detail(id)?.state == .blocked)
    }
}
