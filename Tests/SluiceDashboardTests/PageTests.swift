import HTTPTypes
import Hummingbird
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Pages of the dashboard", .timeLimit(.minutes(60)))
struct PageTests {
    private static let hostile = "<script>alert(1)</script>\u{202e}\u{1b}[31m\"'&"

    /// The address of every page, and of the API.
    private func paths(_ id: OperationID) -> [String] {
        let operation = "/ops/\(id)"
        let confirmations = OperationAction.allCases.map { "\(operation)/\($0.rawValue)?queue=mail" }
        return [
            "/", "/ops", "/ops?state=dead", "/ops?q=tag%3Ax", "/ops/new",
            "/ops/new?name=Send&queue=mail", "\(operation)/edit?queue=mail", "\(operation)/rerun?queue=mail",
            "\(operation)?queue=mail", operation, "/queues",
            "/workers", "/schedules", "/schedules?queue=mail", "/schedules/show?queue=mail&id=none",
            "/schedules/pause?schedule=mail%2Fnone",
            "/groups", "/groups?all=yes", "/groups/show?id=\(id)&queue=mail", "/graph?id=\(id)&queue=mail",
            "/events", "/events?changes=only", "/doctor", "/doctor?run=now", "/about", "/healthz",
            "/queues/pause?queue=mail",
            "/queues/resume?queue=mail", "/queues/show?queue=mail", "/queues/limit?queue=mail",
            "/queues/limit/confirm?queue=mail&concurrency=4", "/performance", "/performance?view=slower",
            "/performance/name?name=Send", "/errors", "/api/v1/stats", "/api/v1/operations", "/api/v1/operations/\(id)",
            "/api/v1/operations/\(id)/explanation", "/login", "/nothing",
            "/live/ops?state=ready&since=0&rows=mail%2F\(id)", "/live/words", "/export/operations.csv",
            "/export/operations.jsonl",
            "/api/v1/queues", "/api/v1/workers", "/api/v1/events", "/api/v1/doctor", "/api/v1/statistics",
            "/api/v1/errors",
            "/api/v1/schedules", "/api/v1/groups", "/api/v1/graph/\(id)", "\(operation)/files/arguments.txt",
            "\(operation)/files/result.txt", "\(operation)/files/log.txt",
        ] + confirmations
    }

    @Test("GET and HEAD of every page change nothing in Redis, and every response has the headers")
    func readsOnly() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send", arguments: ["to": "a@example.org"])[0]
        func state() async throws -> String {
            var text = ""
            for queue in try await desk.broker.queues() {
                let snapshot = try await desk.broker.snapshot(queue: queue, executingRows: 10)
                let counts = OperationState.allCases.map { snapshot.counts[$0] ?? 0 }
                text += "\(queue) \(counts) \(snapshot.totals.sorted { $0.key < $1.key }) \(snapshot.sequence) "
                text += "\(snapshot.eventSequence) \(snapshot.paused)"
            }
            return text + "\(try await desk.detail(id)!.record)"
        }
        let before = try await state()
        for path in paths(id) {
            for method in [HTTPRequest.Method.get, .head] {
                let answer = try await desk(path, method)
                #expect(answer.status < 500, "\(method) \(path): \(answer.status) \(answer.text)")
                let policy = HTTPField.Name("Content-Security-Policy")!
                #expect(
                    answer.headers[policy]
                        == "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                        + "connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; "
                        + "frame-ancestors 'none'"
                )
                #expect(answer.headers[HTTPField.Name("X-Content-Type-Options")!] == "nosniff")
                #expect(answer.headers[HTTPField.Name("Referrer-Policy")!] == "same-origin")
                #expect(answer.headers[.cacheControl] == "no-store", "\(path)")
                #expect(answer.headers[HTTPField.Name("Access-Control-Allow-Origin")!] == nil)
            }
        }
        #expect(try await state() == before)
    }

    @Test("Without a login only the login page, the files and the health check are served")
    func login() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send")[0]
        for path in paths(id) + ["/live"] where path != "/healthz" {
            let answer = try await desk(path, as: nil)
            #expect(answer.status == 401, "\(path)")
            #expect(!answer.text.contains("Send"))
        }
        #expect(try await desk("/healthz", as: nil).status == 200)
        #expect(try await desk("/assets/\(Asset.style.name)", as: nil).status == 200)
        #expect(try await desk("/ops/\(id)/cancel?queue=mail", .post, as: nil).status == 401)
    }

    @Test("A login link works once, and HEAD does not use it up")
    func loginLink() async throws {
        let desk = Desk(basePath: "/jobs")
        let secret = desk.site.sessions.makeLink(for: Visitor(name: "ann", role: .viewer))
        #expect(try await desk("/jobs/login?token=\(secret)", .head, as: nil).status == 401)
        let answer = try await desk("/jobs/login?token=\(secret)", as: nil)
        #expect(answer.status == 303 && answer.location == "/jobs/")
        let cookie = try #require(answer.headers[.setCookie])
        #expect(cookie.contains("Path=/jobs; SameSite=Lax; HttpOnly"))
        let session = String(cookie.prefix { $0 != ";" })
        #expect(try await desk("/jobs/", as: nil, headers: [.cookie: "x=1; \(session)"]).status == 200)
        #expect(try await desk("/jobs/login?token=\(secret)", as: nil).status == 401)
        #expect(
            try await desk("/jobs/logout", .post, as: nil, headers: [.cookie: session, .fetchSite: "same-origin"])
                .status == 303
        )
        #expect(try await desk("/jobs/", as: nil, headers: [.cookie: session]).status == 401)
    }

    @Test("Hostile text in names, queues' operations, tags, arguments and every field of a request is shown as text")
    func hostileText() async throws {
        let desk = Desk()
        let hostile = Self.hostile
        let ids = try await desk.enqueue(hostile, arguments: [hostile: .string(hostile)], tags: [hostile])
        _ = try await desk.broker.cancel([ids[0]], request: CancelRequest(reason: hostile, by: hostile), queue: "mail")
        let encoded = Links(basePath: "").to(
            "ops",
            query: ["q": hostile, "state": hostile, "cursor": hostile, "outcome": hostile]
        )
        let pages = [
            "/ops", "/ops/\(ids[0])?queue=mail", "/events?since=24h", encoded.text,
            encoded.text.replacing("/ops", with: "/events"), "/ops/%3Cscript%3E", "/ops/\(ids[0])?queue=%3Cscript%3E",
            "/queues/pause?queue=%3Cscript%3E", "/login?token=%3Cscript%3E", "/%3Cscript%3E",
        ]
        for path in pages {
            let answer = try await desk(path)
            #expect(answer.headers[.contentType] == "text/html; charset=utf-8", "\(path)")
            #expect(!answer.text.lowercased().contains("<script>"), "\(path)")
            // The value of a field comes back unchanged.
            #expect(!answer.text.replacing(/value="[^"]*"/, with: "").contains("\u{1b}"), "\(path)")
        }
        let operation = try await desk("/ops/\(ids[0])?queue=mail").text
        #expect(operation.contains("&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\x1b[31m&quot;&#39;&amp;"))
    }

    @Test("An unknown operation, queue or page is a page of its own, and in the API a JSON object")
    func unknown() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        for path in [
            "/ops/01J9ZM2Q0000000000000000ZZ?queue=mail", "/ops/01J9ZM2Q0000000000000000ZZ", "/ops/7QK2MX", "/nothing",
            "/assets/x.css",
        ] {
            let answer = try await desk(path)
            #expect(answer.status == 404 && answer.text.contains("<main"), "\(path)")
        }
        let answer = try await desk("/api/v1/operations/7QK2MX")
        #expect(answer.status == 404)
        #expect(try JSONValue(parsing: answer.text)["error"]?["code"] == 404)
    }

    @Test("The end of an id leads to the operation, and a wrong query to its error and the fix")
    func searches() async throws {
        let desk = Desk()
        let id = try await desk.enqueue("Send", "Other")[0]
        #expect(try await desk("/ops/\(id.description.suffix(8))").text.contains(id.description))
        let wrong = try await desk("/ops?q=nmae:Send")
        #expect(
            wrong.status == 200 && wrong.text.contains("did you mean") && wrong.text.contains("value=\"nmae:Send\"")
        )
        let found = try await desk("/ops?q=name:Send&state=ready").text
        #expect(found.contains(">Send<") && !found.contains(">Other<"))
        #expect(found.contains("1 shown; 2 of 2 scanned, 1 found, no more"))
        #expect(found.contains(" -N test list state:ready name:Send<"))
    }

    @Test("A command names the namespace, unless it is the usual one; commands of other programs stay")
    func namespaces() {
        let (name, usual) = (Program.name, CommandLineView(namespace: SluiceDefaults.namespace))
        #expect(
            CommandLineView(namespace: "shop").markup(["list", "a b"]).html.contains(
                "\(name) -N shop list &#39;a b&#39;<"
            )
        )
        #expect(usual.markup(["list"]).html.contains(">\(name) list<"))
        #expect(CommandLineView(namespace: "shop").markup(text: "redis-cli PING").html.contains(">redis-cli PING<"))
    }

    @Test("An id in the query box finds its operation, the end of one with a mark or by the link below an empty list")
    func ids() async throws {
        let desk = Desk()
        let operation = NewOperation(
            id: OperationID(key: "import/2026"),
            envelope: OperationEnvelope(name: "Send").encoded()
        )
        _ = try await desk.broker.enqueue([operation], queue: "mail")
        try await desk.enqueue("Other")
        let end = "\(operation.id.description.suffix(8))"
        for text in [operation.id.description, "…" + end] {
            let page = try await desk(Links(basePath: "").to("ops", query: ["q": text]).text).text
            #expect(page.contains(">Send<") && !page.contains(">Other<"), "\(text)")
        }
        for text in [end, "import/2026"] {
            let empty = try await desk(Links(basePath: "").to("ops", query: ["q": text, "state": "dead"]).text).text
            let link = try #require(empty.firstMatch(of: /<a href="([^"]+)">Search for an operation with the id/))
            let page = try await desk("\(link.1)").text
            #expect(page.contains(">Send<") && !page.contains(">Other<"), "\(text)")
        }
        for text in ["name:Missing", "-missing", "two words", "\"missing\""] {
            let page = try await desk(Links(basePath: "").to("ops", query: ["q": text, "state": "dead"]).text).text
            #expect(page.contains("No dead operation matches") && !page.contains("with the id"), "\(text)")
        }
    }

    @Test(
        "The text of an own id leads to its operation, with any characters",
        arguments: ["import/2026", "50%", "a b+c", "..", ".", "ü?x#y", "a:b&c=d", "%2F"]
    )
    func ownIDs(_ text: String) async throws {
        let desk = Desk()
        let operation = NewOperation(id: OperationID(key: text), envelope: OperationEnvelope(name: "Send").encoded())
        _ = try await desk.broker.enqueue([operation], queue: "mail")
        // Browsers resolve dots in a path, so these texts are found by their ids only.
        let name = [".", ".."].contains(text) ? operation.id.description : text
        #expect(try await desk(Links(basePath: "").to("ops", name).text).text.contains(operation.id.description))
    }

    @Test("Pages by cursor show every operation once")
    func cursors() async throws {
        let desk = Desk()
        for _ in 0..<120 { try await desk.enqueue("Send") }
        var seen: [String] = []
        var path: String? = "/ops?state=ready"
        while let next = path {
            let text = try await desk(next).text
            seen += text.matches(of: /class="id" href="\/ops\/([0-9A-Z]{26})\?/).map { String($0.1) }
            let found = text.firstMatch(of: /href="([^"]*cursor=[^"]*)">Next page/)
            path = found.map { String($0.1).replacing("&amp;", with: "&") }
        }
        #expect(seen.count == 120 && Set(seen).count == 120)
    }

    @Test("Files have names by content, and a browser that has one gets no second copy")
    func assets() async throws {
        let desk = Desk()
        let page = try await desk("/").text
        for asset in Asset.all {
            #expect(asset.name == Asset.deadIcon.name || page.contains("/assets/\(asset.name)\""))
            let answer = try await desk("/assets/\(asset.name)")
            #expect(answer.status == 200 && answer.headers[.cacheControl]?.contains("immutable") ?? false)
            let tag = try #require(answer.headers[.eTag])
            #expect(try await desk("/assets/\(asset.name)", headers: [.ifNoneMatch: tag]).status == 304)
        }
        #expect(!page.contains("style=") && !page.contains("<script>") && !page.contains("onclick"))
    }

    @Test("A fragment is only the content of the page")
    func fragment() async throws {
        let text = try await Desk()("/", headers: [.fragment: "1"]).text
        #expect(text.contains("<main id=\"page\"") && !text.contains("<html"))
    }

    @Test("The theme is kept in a cookie, and the browser returns only to a page of the dashboard")
    func theme() async throws {
        let desk = Desk()
        let answer = try await desk("/theme", .post, form: "theme=dark&back=%2Fops%3Fstate%3Ddead")
        #expect(answer.status == 303 && answer.location == "/ops?state=dead")
        #expect(answer.headers[.setCookie]?.hasPrefix("sluice-theme=dark") ?? false)
        #expect(try await desk("/theme", .post, form: "theme=dark&back=https%3A%2F%2Fevil.example").location == "/")
        #expect(try await desk("/theme", .post, form: "theme=pink").status == 400)
    }
}
