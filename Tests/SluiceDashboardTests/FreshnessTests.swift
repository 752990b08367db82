import BrokerModel
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Age of the data", .timeLimit(.minutes(60)))
struct FreshnessTests {
    private let desk = Desk()

    @Test("A page without updates says so to its script; each page says when its data was read, and none is live yet")
    func pages() async throws {
        let id = try await desk.enqueue("Send")[0]
        let operation = "/ops/\(id)"
        let live = [
            "/", "/ops", "\(operation)?queue=mail", "/queues", "/queues/show?queue=mail", "/workers", "/performance",
        ]
        let still = [
            "\(operation)/cancel?queue=mail", "\(operation)/edit?queue=mail", "\(operation)/rerun?queue=mail",
            "/ops/new",
            "/queues/pause?queue=mail", "/queues/limit?queue=mail", "/changes/new?action=cancel&q=queue%3Amail",
            "/events", "/errors", "/doctor", "/about", "/workers/show?id=\(WorkerID())",
        ]
        for (paths, isLive) in [(live, "yes"), (still, "no")] {
            for path in paths {
                let answer = try await desk(path)
                #expect(answer.status == 200, "\(path)")
                #expect(answer.text.contains("data-live=\"\(isLive)\""), "\(path)")
                #expect(answer.text.contains(/data-age="[0-9]+"/), "\(path)")
                #expect(answer.text.contains(/class="badge read" id="badge" title="Read at [0-9:]+ UTC"/), "\(path)")
                #expect(answer.text.contains(/id="badge-text">at [0-9:]+ UTC</), "\(path)")
            }
        }
    }

    @Test("A page whose data was read later than that of the others has its own age")
    func own() async throws {
        let desk = desk
        try await desk.enqueue("Send")
        var layout = Layout(site: desk.site, visitor: nil, theme: .system)
        layout.reading = await desk.site.loop.current()
        let board = try #require(layout.reading?.board)
        layout.now = board.readAt + .seconds(9)
        var page = PageContent("Doctor", isLive: false) { "" }
        #expect(layout.main(page).html.contains("data-age=\"9000\""))
        page.readAt = board.readAt + .seconds(7)
        #expect(layout.main(page).html.contains("data-age=\"2000\""))
    }
}
