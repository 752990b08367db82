import Logging
import NIOPosix
import RedisClient
import TestSupport
import Testing

@Suite("An endpoint behind sentinels", .serialized, .timeLimit(.minutes(60)))
struct SentinelTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func link(_ url: String, connectTimeout: Duration = .seconds(2)) throws -> RedisLink {
        RedisLink(
            try RedisEndpoint(url: url),
            configuration: RedisConnectionConfiguration(connectTimeout: connectTimeout, commandDeadline: patience),
            on: MultiThreadedEventLoopGroup.singleton.any(),
            logger: logger
        )
    }

    private func port(_ link: RedisLink, tls: Bool = false) async throws -> Int? {
        try await link.send(RedisCommand("CONFIG", "GET", tls ? "tls-port" : "port")).array?.last?.int
    }

    @Test("leads to the master, also if some sentinels are missing or do not know it")
    func discovery() async throws {
        let group = try await TestSentinels.start()
        defer { group.stop() }
        let stranger = try TestServer.start(.init(port: freePort()))
        let known = "127.0.0.1:\(group.sentinels[2].options.port)"
        let hosts = "127.0.0.1:\(try freePort()),127.0.0.1:\(stranger.options.port),\(known)"
        for url in [group.url, "redis+sentinel://\(hosts)/mymaster/2"] {
            let link = try link(url)
            #expect(try await port(link) == group.master().options.port)
            link.close()
        }
    }

    /// Starts sentinels that do not know each other. The first one has another master than the two others.
    private func divided() async throws -> (masters: [TestServer], sentinels: [TestServer], url: String) {
        let masters = try (0..<2).map { _ in try TestServer.start(.init(port: freePort())) }
        let sentinels = try [0, 1, 1].map { index in
            let watching = "sentinel monitor \(TestSentinels.name) 127.0.0.1 \(masters[index].options.port) 2"
            var options = TestServer.Options([watching, "protected-mode no"], port: try freePort())
            options.isSentinel = true
            return try TestServer.start(options)
        }
        let hosts = sentinels.map { "127.0.0.1:\($0.options.port)" }.joined(separator: ",")
        return (masters, sentinels, "redis+sentinel://\(hosts)/\(TestSentinels.name)")
    }

    @Test("leads to the master that most sentinels name, even if the others answer first")
    func majority() async throws {
        let (masters, sentinels, url) = try await divided()
        defer { for server in masters + sentinels { server.stop() } }
        for _ in 0..<20 {
            try await eventually("the link leads to the master that most sentinels name") {
                let start = ContinuousClock.now
                let fresh = try link(url)
                defer { fresh.close() }
                if (try? await port(fresh)) == masters[1].options.port { return true }
                // A single sentinel decides only if the others are late by half a second. Such a round is repeated.
                #expect(ContinuousClock.now - start >= .milliseconds(500))
                return false
            }
        }
    }

    @Test("is requested again if a message of the sentinels may have been missed")
    func missed() async throws {
        // A link that begins to hear the sentinels also asks for changes before that. If the sentinels change at that
        // moment, the link misses nothing.
        for _ in 0..<10 where try await missesAChange() { return }
        Issue.record("the link followed each time before anything could be missed")
    }

    /// - Returns: false if the link knew of the change before its subscription was cut.
    private func missesAChange() async throws -> Bool {
        let (masters, sentinels, url) = try await divided()
        defer { for server in masters + sentinels { server.stop() } }
        let link = try link(url)
        defer { link.close() }
        // If most sentinels answer late, the link begins with the other master, and then leaves it.
        try await eventually("the link leads to the master that most sentinels name") {
            (try? await port(link)) == masters[1].options.port
        }
        for sentinel in sentinels {
            try await eventually("the link hears the sentinel") {
                try sentinel.ask(RedisCommand("CLIENT", "LIST", "TYPE", "pubsub"))[0].string?.contains(" sub=1 ")
                    == true
            }
        }
        // No sentinel announces this change.
        for sentinel in sentinels[1...] {
            let replies = try sentinel.ask(
                RedisCommand("SENTINEL", "REMOVE", TestSentinels.name),
                RedisCommand("SENTINEL", "MONITOR", TestSentinels.name, "127.0.0.1", masters[0].options.port, 2)
            )
            for reply in replies { try reply.expectSuccess() }
        }
        guard (try? await port(link)) == masters[1].options.port else { return false }
        try sentinels[2].ask(RedisCommand("CLIENT", "KILL", "TYPE", "pubsub"))[0].expectSuccess()
        try await eventually("the link leads to the other master") {
            (try? await port(link)) == masters[0].options.port
        }
        return true
    }

    @Test("lists the asked sentinels and their answers if no master is known")
    func nobody() async throws {
        let (masters, sentinels, _) = try await divided()
        defer { for server in masters + sentinels { server.stop() } }
        let dead = try freePort()
        let url = "redis+sentinel://127.0.0.1:\(dead),127.0.0.1:\(sentinels[0].options.port)/other"
        let link = try link(url)
        try await eventually("both are named") {
            let error = await redisError { try await link.send(RedisCommand("PING"), deadline: .seconds(1)) }
            return error?.code == .unreachable && error?.message.contains("127.0.0.1:\(dead): ") == true
                && error?.message.contains("knows no master \"other\"") == true
        }
        link.close()
    }

    @Test("that does not answer is reported before the attempt has ended, with the sentinels that name it")
    func silentMaster() async throws {
        let (masters, sentinels, url) = try await divided()
        defer { for server in masters + sentinels { server.stop() } }
        for master in masters { master.signal(SIGSTOP) }
        defer { for master in masters { master.signal(SIGCONT) } }
        let link = try link(url, connectTimeout: .seconds(60))
        defer { link.close() }
        let parts = ["the master at 127.0.0.1:", "named by sentinel 127.0.0.1:", "an answer from 127.0.0.1:"]
        try await eventually("the error says what is waited for") {
            let error = await redisError { try await link.send(RedisCommand("PING"), deadline: .milliseconds(200)) }
            return parts.allSatisfy { error?.message.contains($0) == true }
        }
    }

    @Test("is found again after a failover, whether the old master becomes a replica or dies")
    func failover() async throws {
        let group = try await TestSentinels.start()
        defer { group.stop() }
        let link = try link(group.url)
        let old = try group.master()
        #expect(try await port(link) == old.options.port)
        try await group.failOver()
        let next = try group.master()
        #expect(next !== old)
        // The sentinels need eight seconds to make the living old master a replica.
        try await eventually("the link leads to the new master", within: .seconds(5)) {
            (try? await port(link)) == next.options.port
        }
        try await link.send(RedisCommand("SET", "k", "1")).expectSuccess()
        try await eventually("the old master follows the new one") {
            (try? old.info("master_link_status")) == "up"
        }
        next.crash()
        try await group.awaitMaster(otherThan: next)
        try await eventually("the link leads to the first master again") {
            (try? await port(link)) == old.options.port
        }
        try await link.send(RedisCommand("SET", "k", "2")).expectSuccess()
        link.close()
    }

    /// The protection of sentinels and servers.
    private static func guarding(tls: Bool) throws -> TestSentinels.Guarding {
        let certificates = try tls ? TestCertificates(in: makeTemporaryFolder()) : nil
        return .init(sentinelPassword: "of-sentinels", masterPassword: "of-the-master", certificates: certificates)
    }

    @Test(
        "with separate passwords for sentinels and master is found and found again, with and without TLS",
        arguments: [false, true]
    )
    func passwords(tls: Bool) async throws {
        let group = try await TestSentinels.start(Self.guarding(tls: tls))
        defer { group.stop() }
        let link = try link(group.url)
        #expect(try await port(link, tls: tls) == group.master().options.port)
        try await link.send(RedisCommand("SET", "k", "1")).expectSuccess()
        try await group.failOver()
        let next = try group.master()
        try await eventually("the link leads to the new master") {
            (try? await port(link, tls: tls)) == next.options.port
        }
        #expect(try await link.send(RedisCommand("GET", "k")).string == "1")
        link.close()
    }

    @Test("reports which of the two passwords is wrong, and shows neither")
    func wrongPasswords() async throws {
        let group = try await TestSentinels.start(Self.guarding(tls: false))
        defer { group.stop() }
        let (sentinel, master) = ("of-sentinels", "of-the-master")
        let cases: [(sentinel: String?, master: String?, code: String)] = [
            (nil, master, "NOAUTH"), ("mistaken", master, "WRONGPASS"), (sentinel, nil, "NOAUTH"),
            (sentinel, "mistaken", "WRONGPASS"),
        ]
        for (sentinelPassword, masterPassword, code) in cases {
            let link = try link(group.url(sentinelPassword: sentinelPassword, masterPassword: masterPassword))
            var text = ""
            try await eventually("\(sentinelPassword ?? "none"), \(masterPassword ?? "none"): it says \(code)") {
                let error = await redisError { try await link.send(RedisCommand("PING"), deadline: .seconds(2)) }
                text = "\(error?.description ?? "")"
                return text.contains(code)
            }
            let isOfMaster = group.servers.contains { text.contains(":\($0.options.port): ") }
            #expect(isOfMaster == (sentinelPassword == sentinel), "it names the wrong server: \(text)")
            for word in [sentinel, master, "mistaken"] { #expect(!text.contains(word), "\(text)") }
            link.close()
        }
    }

    @Test("with an untrusted certificate is refused, for sentinels and master")
    func untrusted() async throws {
        let group = try await TestSentinels.start(Self.guarding(tls: true))
        defer { group.stop() }
        let url = try #require(group.url.firstMatch(of: /(.*)&cacert=.*/)?.1)
        let link = try link(String(url))
        try await eventually("it says that the certificate is refused") {
            let error = await redisError { try await link.send(RedisCommand("PING"), deadline: .seconds(3)) }
            return error.map { "\($0)" }?.lowercased().contains("certificate") == true
        }
        link.close()
    }

    @Test("is left with its READONLY error when it has become a replica")
    func readOnly() async throws {
        let master = try TestServer.start(.init(port: freePort()))
        let other = try TestServer.start(.init(port: freePort()))
        let link = RedisLink(
            master.tcpEndpoint,
            configuration: .patient,
            on: MultiThreadedEventLoopGroup.singleton.any(),
            logger: logger
        )
        try await link.send(RedisCommand("SET", "k", "1")).expectSuccess()
        let epoch = link.epoch
        try master.ask(RedisCommand("REPLICAOF", "127.0.0.1", other.options.port))[0].expectSuccess()
        let error = await #expect(throws: RedisError.self) { try await link.send(RedisCommand("SET", "k", "2")) }
        #expect(error?.serverError?.code == .readOnly)
        try await eventually("there is a new connection") { link.epoch > epoch }
        link.close()
    }
}
