import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import SluiceDashboard

@Suite("Security of the dashboard", .timeLimit(.minutes(60)))
struct SecurityTests {
    @Test(
        "Only hosts that name this machine or were given are served, with any port",
        arguments: [
            ("localhost", true), ("localhost:4650", true), ("127.0.0.1:1", true), ("[::1]:4650", true),
            ("LOCALHOST", true), ("jobs.example.org", true), ("jobs.example.org:443", true),
            ("evil.example", false), ("localhost.evil.example", false), ("127.0.0.1.evil.example", false),
            ("", false), (":4650", false), ("localhost:", true), ("localhost:1x", false), ("[::1", false),
            ("user@localhost", false), ("10.0.0.1", false), ("[::1]x", false),
        ]
    )
    func host(_ host: String, _ isAllowed: Bool) {
        #expect(HostRule(bind: "127.0.0.1", others: ["Jobs.example.org"]).allows(host) == isAllowed)
    }

    @Test("The bind address is a host, but not the address of all interfaces")
    func bindAddress() {
        #expect(HostRule(bind: "10.0.0.1").allows("10.0.0.1:4650"))
        #expect(!HostRule(bind: "0.0.0.0").allows("0.0.0.0"))
        #expect(!HostRule(bind: "0.0.0.0").allows(nil))
    }

    @Test(
        "A changing request comes from the dashboard itself, by Sec-Fetch-Site, or else by Origin",
        arguments: [
            ("same-origin", nil, true), ("same-site", nil, false), ("cross-site", nil, false), ("none", nil, false),
            ("cross-site", "http://localhost:1", false), (nil, "http://localhost:1", true),
            (nil, "https://localhost:1", true), (nil, "http://localhost:2", false), (nil, "null", false),
            (nil, nil, false), (nil, "http://evil.example", false),
        ] as [(String?, String?, Bool)]
    )
    func crossSite(_ site: String?, _ origin: String?, _ isAllowed: Bool) {
        #expect(CrossSiteRule.allows(isChanging: true, site: site, origin: origin, host: "localhost:1") == isAllowed)
        #expect(CrossSiteRule.allows(isChanging: false, site: site, origin: origin, host: "localhost:1"))
    }

    @Test("A request without a host is no origin's own")
    func noHost() {
        #expect(!CrossSiteRule.allows(isChanging: true, site: nil, origin: "http://", host: ""))
        #expect(!CrossSiteRule.allows(isChanging: true, site: nil, origin: "http://x", host: nil))
    }

    @Test("A login link opens one session; sessions end by logout and after disuse, and each use extends them")
    func sessions() throws {
        let sessions = Sessions()
        let ann = Visitor(name: "ann", role: .operate)
        let link = sessions.makeLink(for: ann)
        let start = ContinuousClock.now
        #expect(sessions.redeem("x" + link) == nil)
        #expect(sessions.redeem(link) == ann)
        #expect(sessions.redeem(link) == nil)
        let secret = sessions.open(for: ann, at: start)
        #expect(sessions.visitor(link, at: start) == nil)
        #expect(sessions.visitor(secret, at: start + Sessions.idle - .seconds(1)) == ann)
        #expect(sessions.visitor(secret, at: start + Sessions.idle * 2 - .seconds(2)) == ann)
        #expect(sessions.visitor(secret, at: start + Sessions.idle * 4) == nil)
        let second = sessions.open(for: ann)
        sessions.end(second)
        #expect(sessions.visitor(second) == nil)
    }

    @Test("The session that was unused the longest ends when there are too many")
    func tooMany() throws {
        let sessions = Sessions()
        let visitor = Visitor(name: "ann", role: .viewer)
        let start = ContinuousClock.now
        var secrets: [String] = []
        for number in 0...Sessions.most {
            secrets.append(sessions.open(for: visitor, at: start + .seconds(number)))
        }
        let end = start + .seconds(Sessions.most + 1)
        #expect(sessions.visitor(secrets[0], at: end) == nil)
        #expect(sessions.visitor(secrets[1], at: end) == visitor)
        #expect(Set(secrets).count == secrets.count)
    }

    @Test("A viewer may change nothing, an operator all but remove, limit and stop, an admin everything")
    func roles() {
        #expect(Permission.allCases.allSatisfy { !Role.viewer.has($0) })
        let refused = Permission.allCases.filter { !Role.operate.has($0) }
        #expect(refused == [.remove, .limit, .enqueue, .changeWorker, .all])
        #expect(Permission.allCases.allSatisfy { Role.admin.has($0) })
    }

    @Test(
        "A base path has plain parts",
        arguments: [
            ("", ""), ("/", ""), ("jobs", "/jobs"), ("/jobs/", "/jobs"), ("/a/b-c_1.d", "/a/b-c_1.d"), ("/a b", nil),
            ("/../x", nil), ("/a?b", nil), ("/{id}", nil), ("/ä", nil), ("/*", nil),
        ] as [(String, String?)]
    )
    func basePath(_ typed: String, _ path: String?) {
        #expect(DashboardOptions.basePath(typed) == path)
    }
}

@Suite("People of the dashboard", .timeLimit(.minutes(60)))
struct UsersTests {
    /// The hash of `swordfish`.
    private static let hash = "sha256:b9f195c5cc7ef6afadbfbc42892ad47d3b24c6bc94bb510c4564a90a14e8b799"

    @Test("A token gives the name and the role of its line; a name from a proxy gives its role, or that of *")
    func users() throws {
        let users = try Users(
            parsing: """
                # people
                ann operator \(Self.hash)

                bob admin -
                * viewer -
                """
        )
        #expect(users.visitor(token: "swordfish") == Visitor(name: "ann", role: .operate))
        #expect(users.visitor(token: "Swordfish") == nil && users.visitor(token: "") == nil)
        #expect(users.visitor(named: "bob") == Visitor(name: "bob", role: .admin))
        #expect(users.visitor(named: "eve") == Visitor(name: "eve", role: .viewer))
        for name in ["*", "", "-", "(null)"] { #expect(users.visitor(named: name) == nil, "\(name)") }
        #expect(try Users(parsing: "bob admin -").visitor(named: "eve") == nil)
        #expect(try Users(parsing: "# none\n\n").isEmpty)
    }

    @Test(
        "A wrong line is refused with its number",
        arguments: [
            "ann", "ann king -", "ann viewer md5:00", "ann viewer sha256:00", "ann viewer - x", "* admin \(hash)",
            "ann viewer sha256:\(String(repeating: "g", count: 64))", "bob viewer -", "cat viewer \(hash)",
        ]
    )
    func wrongLines(_ line: String) throws {
        let error = try #require(throws: Users.LineError.self) {
            try Users(parsing: "bob admin -\nann viewer \(Self.hash)\n\(line)")
        }
        #expect(error.line == 3 && !error.reason.isEmpty)
    }

    @Test(
        "A range contains the addresses of its first bits",
        arguments: [
            ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false), ("10.1.2.128/25", "10.1.2.200", true),
            ("10.1.2.128/25", "10.1.2.7", false),
            ("0.0.0.0/0", "9.9.9.9", true), ("fd00::/8", "fd12::1", true), ("fd00::/8", "fe80::1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true), ("0.0.0.0/0", "fd12::1", false),
        ]
    )
    func ranges(_ range: String, _ address: String, _ isInside: Bool) throws {
        let range = try #require(AddressRange(range))
        #expect(range.contains(try SocketAddress(ipAddress: address, port: 1)) == isInside)
    }

    @Test(
        "A text that is no range is refused",
        arguments: ["", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "::/129", "host", "10.0.0.0/8/8"]
    )
    func noRanges(_ text: String) { #expect(AddressRange(text) == nil) }

    @Test("Only the header of a trusted proxy names a person, and only once")
    func proxies() throws {
        let desk = try Desk(
            users: Users(parsing: "ann operator \(Self.hash)\nbob admin -"),
            proxy: ProxyRule(ranges: [#require(AddressRange("10.0.0.0/8"))], header: "X-Forwarded-User")
        )
        let header = HTTPField.Name("X-Forwarded-User")!
        func visitor(_ fields: HTTPFields, from address: String?) throws -> Visitor? {
            let head = HTTPRequest(
                method: .get,
                scheme: "http",
                authority: "localhost",
                path: "/",
                headerFields: fields
            )
            return try Visitors(
                site: desk.site,
                request: Request(head: head, body: RequestBody(buffer: ByteBuffer())),
                remote: try address.map { try SocketAddress(ipAddress: $0, port: 1) }
            ).visitor()
        }
        #expect(try visitor([header: "bob"], from: "10.0.0.7") == Visitor(name: "bob", role: .admin))
        #expect(try visitor([header: "bob"], from: "11.0.0.7") == nil)
        #expect(try visitor([header: "bob"], from: nil) == nil)
        #expect(try visitor([header: "eve"], from: "10.0.0.7") == nil)
        var two: HTTPFields = [header: "bob"]
        two.append(HTTPField(name: header, value: "ann"))
        #expect(try visitor(two, from: "10.0.0.7") == nil)
        #expect(try visitor([.authorization: "Bearer swordfish"], from: nil)?.name == "ann")
        #expect(try visitor([.authorization: "Bearer x", header: "bob"], from: "10.0.0.7") == nil)
    }

    @Test(
        "An unknown token, which a proxy may add, allows no request of another site",
        arguments: [false, true]
    )
    func unknownToken(isOpen: Bool) async throws {
        let desk = try Desk(users: Users(parsing: "ann operator \(Self.hash)"), isOpen: isOpen)
        let id = try await desk.enqueue("Send")[0]
        let headers: HTTPFields = [.authorization: "Bearer x", .fetchSite: "cross-site"]
        let answer = try await desk("/ops/\(id)/cancel?queue=mail", .post, as: nil, headers: headers)
        #expect(answer.status == (isOpen ? 403 : 401))
        #expect(try await desk.detail(id)?.state == .ready)
    }

    @Test(
        "Only addresses of this machine are loopback",
        arguments: [
            ("127.0.0.1", true), ("localhost", true), ("::1", true), ("127.example.org", false), ("0.0.0.0", false),
        ]
    )
    func loopback(_ host: String, _ isLoopback: Bool) {
        #expect(DashboardOptions(host: host, namespace: "test", identity: "ann").isLoopback == isLoopback)
    }

    @Test("A program changes with a token without the headers of a browser; a person logs in with one")
    func tokens() async throws {
        let desk = try Desk(users: Users(parsing: "ann operator \(Self.hash)"))
        let id = try await desk.enqueue("Send")[0]
        let cancel = "/ops/\(id)/cancel?queue=mail"
        #expect(try await desk(cancel, .post, as: nil, headers: [.authorization: "Bearer x"]).status == 401)
        #expect(try await desk(cancel, .post, as: nil, headers: [.authorization: "Bearer swordfish"]).status == 303)
        #expect(try await desk.detail(id)?.cancel?.by == "ann")
        #expect(try await desk("/", as: nil).text.contains("name=\"token\""))
        let answer = try await desk("/login", .post, as: nil, form: "token=swordfish")
        let cookie = try #require(answer.headers[.setCookie]?.split(separator: ";").first)
        #expect(answer.status == 303)
        #expect(try await desk("/", as: nil, headers: [.cookie: String(cookie)]).status == 200)
        #expect(try await desk("/login", .post, as: nil, form: "token=x").status == 401)
    }
}
