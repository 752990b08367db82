import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Operations
import SluiceOperator
import TestSupport
import Testing

@testable import SluiceDashboard

/// Rules for every route, also for those that are added later: the router and the sources say which there are.
@Suite("All routes of the dashboard", .timeLimit(.minutes(60)))
struct RouteTests {
    /// Routes that change nothing in Redis, though their method is POST.
    private static let frame = ["/login", "/logout", "/theme"]
    /// A stream, which does not end.
    private static let stream = "/live"

    /// Text that means something to a browser, a terminal, a shell, a spreadsheet, a path, or a parser.
    private static let hostile =
        HostileText.samples + [
            "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onload='alert(1)",
            "</title><script>x</script>",
            "javascript:alert(1)", "//evil.example/", "\\\\evil.example\\", "\r\nSet-Cookie: x=1", "\u{0}", "\u{2028}",
            "../../etc/passwd", "%2e%2e%2f", "%", "%zz", "=1+1", "$(id)",
            "`id`",
            "{{7*7}}", "NaN", "-1", "99999999999999999999", "1e400", "PT1S", "0000-00-00", "😀",
            String(repeating: "x", count: 5_000),
            "{", "[[[[", "eyJ9", "e30=", "\"", "a:\"", "args.a.b:<b>", "(", "state:<b>", "queue:\"<b>\"",
        ]

    /// Those that are tried in each field alone.
    private static let short = ["<script>alert(1)</script>", "99999999999999999999"]

    private func routes(_ desk: Desk, _ method: HTTPRequest.Method) -> [String] {
        Routes(site: desk.site).router().routes.filter { $0.method == method }.map { "\($0.path)" }
    }

    /// The names of the fields of queries and forms that the sources read.
    private func fields() throws -> [String] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
        let folder = tests.appending(path: "../../Sources/SluiceDashboard").standardizedFileURL
        var names: Set<String> = []
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        for case let file as URL in try #require(files) where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /(?:query|fields|form)\["(\w+)"\]/) { names.insert(String(match.1)) }
        }
        return names.sorted()
    }

    /// The address of a route, with values for its variable parts and the fields of its query.
    private func address(_ path: String, _ value: String, _ query: [(String, String)] = []) -> String {
        let parts = path.split(separator: "/").map { part in
            part.contains(/[{:*]/) ? encoded(value) : String(part)
        }
        let pairs = query.map { "\($0)=\(encoded($1))" }
        return "/" + parts.joined(separator: "/") + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }

    private func encoded(_ text: String) -> String { String(Links(basePath: "").to(text).text.dropFirst()) }

    @Test("Hostile text in each path part, field and header of every GET route is shown as text or refused")
    func hostileText() async throws {
        let desk = Desk(isOpen: true)
        let id = try await desk.enqueue("Send")[0].description
        let fields = try fields()
        #expect(fields.contains("cursor") && fields.contains("q"))
        let paths = routes(desk, .get).filter { $0 != Self.stream }
        #expect(paths.count > 10)
        try await Application(router: Routes(site: desk.site).router()).test(.router) { client in
            for text in Self.hostile {
                for path in paths {
                    try await expectHarmless(client, address(path, text))
                    try await expectHarmless(client, address(path, id, fields.map { ($0, text) }))
                    // A wrong field may hide the others, so each field is also alone.
                    for field in fields where Self.short.contains(text) {
                        let query = [(field, text)] + (field == "queue" ? [] : [("queue", "mail")])
                        try await expectHarmless(client, address(path, id, query))
                    }
                }
                // A client sends no other characters in a header.
                guard text.unicodeScalars.allSatisfy({ (0x20..<0x7f).contains($0.value) }) else { continue }
                for name in Self.headers { try await expectHarmless(client, "/", [HTTPField.Name(name)!: text]) }
            }
        }
    }

    private static let headers = [
        "Cookie", "Referer", "Accept", "Accept-Language", "Authorization", "X-Forwarded-For", "Sluice-Fragment",
    ]

    private func expectHarmless(
        _ client: any TestClientProtocol,
        _ address: String,
        _ headers: HTTPFields = [:]
    ) async throws {
        let answer = try await client.execute(uri: address, method: .get, headers: headers)
        #expect(answer.status.code < 500, "\(address): \(answer.status)")
        #expect(answer.headers[.setCookie] == nil, "\(address)")
        #expect(!(answer.headers[.location] ?? "").contains("evil"), "\(address)")
        guard answer.headers[.contentType]?.hasPrefix("text/html") ?? false else { return }
        let page = String(buffer: answer.body).replacing(/value="[^"]*"/, with: "")
        let raw = [
            "<script>", "<img", ":<b>", "onload='", "\u{1b}", "\u{9b}", "\u{202e}", "\u{0}", "href=\"javascript",
        ].filter(page.contains)
        #expect(raw.isEmpty, "\(address): \(raw.debugDescription)")
    }

    @Test("A viewer, another site, and a request without a login get nothing from any changing route")
    func changingRoutes() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        let record = try await desk.detail(id)
        let paths = routes(desk, .post).filter { !Self.frame.contains($0) }
        #expect(paths.count >= OperationAction.allCases.count)
        for path in paths {
            let target = address(path, id.description, [("queue", "mail")])
            #expect(try await desk(target, .post, as: .viewer, form: "reason=x").status == 403, "\(path)")
            #expect(try await desk(target, .post, as: nil, form: "reason=x").status == 401, "\(path)")
            #expect(
                try await desk(target, .post, form: "", headers: [.fetchSite: "cross-site"]).status == 403,
                "\(path)"
            )
            #expect(
                try await desk(target, .post, form: "", headers: [.origin: "http://evil.example"]).status == 403,
                "\(path)"
            )
        }
        #expect(try await desk.detail(id) == record)
        #expect(try await desk.broker.queues() == ["mail"])
    }

    @Test("Only GET, HEAD and POST are served, and a read-only dashboard has no changing route")
    func methods() {
        let known: [HTTPRequest.Method] = [.get, .head, .post]
        for desk in [Desk(), Desk(isReadOnly: true)] {
            #expect(Routes(site: desk.site).router().routes.allSatisfy { known.contains($0.method) })
        }
        let changing = Set(routes(Desk(isReadOnly: true), .post)).subtracting(Self.frame)
        #expect(changing.isEmpty, "\(changing)")
    }

    @Test("All files together are below 150 KB, and the scripts below 40 KB, even without compression")
    func sizes() {
        let scripts = [Asset.script, Asset.stream].map(\.bytes.count).reduce(0, +)
        #expect(scripts < 40_000)
        #expect(Asset.all.map(\.bytes.count).reduce(0, +) < 150_000)
    }
}
