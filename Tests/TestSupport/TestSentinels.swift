import RedisClient

/// A master, its replica and three sentinels for them, on loopback ports.
package final class TestSentinels: Sendable {
    package static let name = "mymaster"
    /// The servers. The first one is the initial master.
    package let servers: [TestServer]
    package let sentinels: [TestServer]
    private let guarding: Guarding

    /// The protection of the servers.
    package struct Guarding: Sendable {
        package var sentinelPassword: String?
        package var masterPassword: String?
        /// The certificates; if set, all processes use TLS, also among themselves.
        package var certificates: TestCertificates?

        package init(
            sentinelPassword: String? = nil,
            masterPassword: String? = nil,
            certificates: TestCertificates? = nil
        ) {
            self.sentinelPassword = sentinelPassword
            self.masterPassword = masterPassword
            self.certificates = certificates
        }

        func server(_ lines: [String]) throws -> TestServer.Options {
            try options(lines + (masterPassword.map { ["requirepass \($0)", "masterauth \($0)"] } ?? []))
        }

        func sentinel(_ lines: [String]) throws -> TestServer.Options {
            var all = lines + (sentinelPassword.map { ["requirepass \($0)"] } ?? [])
            if let masterPassword { all.append("sentinel auth-pass \(name) \(masterPassword)") }
            if masterPassword == nil, TestUsers.areOn {
                all.append("sentinel auth-user \(name) \(TestUsers.tester)")
                all.append("sentinel auth-pass \(name) \(TestUsers.password)")
            }
            var options = try options(all)
            options.isSentinel = true
            return options
        }

        private func options(_ lines: [String]) throws -> TestServer.Options {
            let replication = certificates == nil ? [] : ["tls-replication yes"]
            var options = TestServer.Options(lines + replication, port: try freePort())
            options.certificates = certificates
            return options
        }
    }

    private init(servers: [TestServer], sentinels: [TestServer], _ guarding: Guarding) {
        self.servers = servers
        self.sentinels = sentinels
        self.guarding = guarding
    }

    /// Starts the processes. Waits until the sentinels know each other and the replica, so that a failover is possible.
    package static func start(_ guarding: Guarding = Guarding()) async throws -> TestSentinels {
        let master = try TestServer.start(guarding.server(replication))
        let port = master.options.port
        let replica = try TestServer.start(guarding.server(replication + ["replicaof 127.0.0.1 \(port)"]))
        let sentinels = try (0..<3).map { _ in try TestServer.start(guarding.sentinel(watching(port))) }
        if master.hasUsers { for sentinel in sentinels { TestUsers.add(address: sentinel.options.port) } }
        let all = TestSentinels(servers: [master, replica], sentinels: sentinels, guarding)
        try await eventually("the sentinels know all") {
            try sentinels.allSatisfy { sentinel in
                let fields = try all.about(sentinel)
                return fields["num-other-sentinels"] == "2" && fields["num-slaves"] == "1"
            }
        }
        return all
    }

    /// Makes a master synchronise without a disk, and without the pause in which it waits for more replicas.
    private static let replication = [
        "repl-diskless-sync yes", "repl-diskless-sync-delay 0", "repl-ping-replica-period 1", "protected-mode no",
    ]

    private static func watching(_ port: Int) -> [String] {
        [
            "sentinel monitor \(name) 127.0.0.1 \(port) 2", "sentinel down-after-milliseconds \(name) 10000",
            "sentinel failover-timeout \(name) 6000", "sentinel parallel-syncs \(name) 1", "protected-mode no",
        ]
    }

    /// The `redis+sentinel://…` URL of all sentinels, with the required passwords.
    package var url: String {
        url(sentinelPassword: guarding.sentinelPassword, masterPassword: guarding.masterPassword)
    }

    /// Returns the URL with other passwords.
    package func url(sentinelPassword: String?, masterPassword: String?) -> String {
        let hosts = sentinels.map { "127.0.0.1:\($0.options.port)" }.joined(separator: ",")
        let scheme = guarding.certificates == nil ? "redis+sentinel" : "rediss+sentinel"
        let options =
            (sentinelPassword.map { ["sentinel_password=\($0)"] } ?? [])
            + (guarding.certificates.map { ["cacert=\($0.authority)"] } ?? [])
        let credentials = masterPassword.map { ":\($0)@" } ?? ""
        let query = options.isEmpty ? "" : "?" + options.joined(separator: "&")
        return "\(scheme)://\(credentials)\(hosts)/\(Self.name)\(query)"
    }

    /// Requests a failover, and waits until all sentinels name the other server.
    package func failOver() async throws {
        let before = try master()
        // A sentinel refuses while it has not heard from the replica for a while.
        try await eventually("the sentinel begins a failover") {
            (try? sentinels[0].ask(RedisCommand("SENTINEL", "FAILOVER", Self.name))[0].expectSuccess()) != nil
        }
        try await awaitMaster(otherThan: before)
    }

    /// Waits until all sentinels name another server than this one, and that server reports itself as master.
    package func awaitMaster(otherThan before: TestServer) async throws {
        try await eventually("there is another master") {
            let named = try sentinels.map { try about($0)["port"] ?? "" }
            guard Set(named).count == 1, named[0] != "\(before.options.port)" else { return false }
            // Sentinels close the connections to a server whose role they change.
            return (try? master().info("role")) == "master"
        }
    }

    /// Returns the server that the first sentinel names.
    package func master() throws -> TestServer {
        let port = try about(sentinels[0])["port"] ?? ""
        guard let server = servers.first(where: { "\($0.options.port)" == port }) else {
            throw CommandFailed(description: "the sentinels name the port \(port)")
        }
        return server
    }

    package func stop() { for server in sentinels + servers { server.stop() } }

    private func about(_ sentinel: TestServer) throws -> [String: String] {
        let words = try sentinel.ask(RedisCommand("SENTINEL", "MASTER", Self.name))[0].expectArray().compactMap(
            \.string
        )
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) { fields[words[index]] = words[index + 1] }
        return fields
    }
}
