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
        #expect(sessions.redeem("x" + link, at: start) == nil)
        let session = try #require(sessions.redeem(link, at: start))
        #expect(session.visitor == ann)
        #expect(sessions.redeem(link, at: start) == nil)
        #expect(sessions.visitor(link, at: start) == nil)
        #expect(sessions.visitor(session.secret, at: start + Sessions.idle - .seconds(1)) == ann)
        #expect(sessions.visitor(session.secret, at: start + Sessions.idle * 2 - .seconds(2)) == ann)
        #expect(sessions.visitor(session.secret, at: start + Sessions.idle * 4) == nil)
        let second = try #require(sessions.redeem(sessions.makeLink(for: ann)))
        sessions.end(second.secret)
        #expect(sessions.visitor(second.secret) == nil)
    }

    @Test("The session that was unused the longest ends when there are too many")
    func tooMany() throws {
        let sessions = Sessions()
        let visitor = Visitor(name: "ann", role: .viewer)
        let start = ContinuousClock.now
        var secrets: [String] = []
        for number in 0...Sessions.most {
            let link = sessions.makeLink(for: visitor)
            secrets.append(try #require(sessions.redeem(link, at: start + .seconds(number))).secret)
        }
        let end = start + .seconds(Sessions.most + 1)
        #expect(sessions.visitor(secrets[0], at: end) == nil)
        #expect(sessions.visitor(secrets[1], at: end) == visitor)
        #expect(Set(secrets).count == secrets.count)
    }

    @Test("A viewer may change nothing, an operator all but remove, an admin everything")
    func roles() {
        #expect(Permission.allCases.allSatisfy { !Role.viewer.has($0) })
        #expect(Permission.allCases.filter { !Role.operate.has($0) } == [.remove])
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
