import RedisClient

/// A master, its replica and three sentinels that watch them, on loopback ports.
package final class TestSentinels: Sendable {
    package static let name = "mymaster"
    /// The first is the master at the beginning.
    package let servers: [TestServer]
    package let sentinels: [TestServer]

    private init(servers: [TestServer], sentinels: [TestServer]) {
        self.servers = servers
        self.sentinels = sentinels
    }

    /// Starts them and waits until the sentinels know each other and the replica, so that a failover is possible.
    package static func start() async throws -> TestSentinels {
        let master = try TestServer.start(.init(replication, port: freePort()))
        let port = master.options.port
        let replica = try TestServer.start(.init(replication + ["replicaof 127.0.0.1 \(port)"], port: freePort()))
        let sentinels = try (0..<3).map { _ in
            var options = TestServer.Options(watching(port), port: try freePort())
            options.isSentinel = true
            return try TestServer.start(options)
        }
        let all = TestSentinels(servers: [master, replica], sentinels: sentinels)
        try await eventually("the sentinels know all") {
            try sentinels.allSatisfy { sentinel in
                let fields = try all.about(sentinel)
                return fields["num-other-sentinels"] == "2" && fields["num-slaves"] == "1"
            }
        }
        return all
    }

    /// A diskless synchronisation without the pause in which a master waits for more replicas.
    private static let replication = [
        "repl-diskless-sync yes", "repl-diskless-sync-delay 0", "repl-ping-replica-period 1", "protected-mode no",
    ]

    private static func watching(_ port: Int) -> [String] {
        [
            "sentinel monitor \(name) 127.0.0.1 \(port) 2", "sentinel down-after-milliseconds \(name) 1000",
            "sentinel failover-timeout \(name) 6000", "sentinel parallel-syncs \(name) 1", "protected-mode no",
        ]
    }

    /// `redis+sentinel://…` of all of them.
    package var url: String {
        let hosts = sentinels.map { "127.0.0.1:\($0.options.port)" }.joined(separator: ",")
        return "redis+sentinel://\(hosts)/\(Self.name)"
    }

    /// Asks for a failover, and waits until all sentinels name the other server.
    package func failOver() async throws {
        let before = try master()
        try sentinels[0].ask(RedisCommand("SENTINEL", "FAILOVER", Self.name))[0].expectSuccess()
        try await awaitMaster(otherThan: before)
    }

    /// Waits until all sentinels name another server than this one, and that one says itself that it is the master.
    package func awaitMaster(otherThan before: TestServer) async throws {
        try await eventually("there is another master") {
            let named = try sentinels.map { try about($0)["port"] ?? "" }
            guard Set(named).count == 1, named[0] != "\(before.options.port)" else { return false }
            // Sentinels end the connections to a server whose part they change.
            return (try? master().info("role")) == "master"
        }
    }

    /// The server that the first sentinel names.
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
