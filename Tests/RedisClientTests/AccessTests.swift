import RedisClient
import TestSupport
import Testing

@Suite("Access to a server", .serialized, .timeLimit(.minutes(60)))
struct AccessTests {
    private static let users = TestServer.Options([
        "requirepass top", "user worker on >pw ~* &* +@all -flushall",
        "user quiet on >pw ~app:* resetchannels +get +select",
        "user free on nopass ~* +@all", "user gone off >pw ~* +@all",
    ])

    private func with(_ server: TestServer, user: String?, password: String?, database: Int = 0) -> RedisEndpoint {
        var endpoint = server.endpoint
        (endpoint.user, endpoint.password, endpoint.database) = (user, password, database)
        return endpoint
    }

    @Test("is given by password, by user and password, and to a user without a password")
    func accepted() async throws {
        try await withServer(Self.users) { server in
            for (user, password, name) in [
                (nil, "top", "default"), ("default", "top", "default"), ("worker", "pw", "worker"),
                ("free", nil, "free"),
            ] as [(String?, String?, String)] {
                try await withConnection(with(server, user: user, password: password)) { connection in
                    let whoami = try await connection.send(RedisCommand("ACL", "WHOAMI"))
                    #expect(whoami.string == name)
                }
            }
        }
    }

    @Test("is refused as authentication for a wrong, missing or disabled password")
    func refused() async throws {
        try await withServer(Self.users) { server in
            for (user, password) in [
                (nil, nil), (nil, "wrong"), ("worker", "wrong"), ("nobody", "pw"), ("gone", "pw"),
            ] as [(String?, String?)] {
                let error = await redisError { _ = try await connect(with(server, user: user, password: password)) }
                #expect(error?.code == .authentication, "\(user ?? "-") \(error?.description ?? "no error")")
                #expect(error?.description.contains("wrong") == false)
            }
        }
    }

    @Test("Access errors have the code `permission`, and a user without PING can still connect")
    func permission() async throws {
        try await withServer(Self.users) { server in
            var configuration = RedisConnectionConfiguration.patient
            configuration.clientName = "n"
            try await withConnection(with(server, user: "quiet", password: "pw", database: 1), configuration) {
                connection in
                let allowed = try await connection.send(RedisCommand("GET", "app:x"))
                #expect(allowed == .null)
                for command in [RedisCommand("GET", "other"), RedisCommand("SET", "app:x", "v")] {
                    let error = await redisError { try await connection.send(command) }
                    #expect(error?.code == .permission)
                }
            }
        }
    }

    @Test(
        "selects the database, names the client without forbidden characters, and refuses an unknown database"
    )
    func databaseAndName() async throws {
        try await withServer { server in
            var configuration = RedisConnectionConfiguration.patient
            configuration.clientName = "sluice worker\n1"
            try await withConnection(with(server, user: nil, password: nil, database: 7), configuration) { connection in
                let info = try await connection.send(RedisCommand("CLIENT", "INFO")).expectString()
                #expect(info.contains(" db=7 "))
                #expect(info.contains(" name=sluice-worker-1 "))
            }
            let error = await redisError { _ = try await connect(with(server, user: nil, password: nil, database: 99)) }
            #expect(error?.message.contains("database 99") == true)
        }
    }

    @Test("fails as unreachable, with the reason, if no server listens")
    func nobody() async throws {
        let folder = try makeTemporaryFolder()
        let missing = await redisError { _ = try await connect(.unix(path: folder + "/none.sock")) }
        #expect(missing?.code == .unreachable)
        #expect(missing?.description.contains("No such file") == true)
        let closed = await redisError { _ = try await connect(.tcp(host: "127.0.0.1", port: try freePort())) }
        #expect(closed?.code == .unreachable)
        #expect(closed?.description.contains("refused") == true, "\(closed?.description ?? "")")
        // Without a network, a resolver may need long to give up. The end of the connect timeout has the same code.
        let production = RedisConnectionConfiguration()
        let unknown = await redisError { _ = try await connect(.tcp(host: "no-such-host.invalid"), production) }
        #expect(unknown?.code == .unreachable)
    }

    @Test("reports the refusal of a server at its client limit, over TCP and over a socket")
    func tooMany() async throws {
        try await withServer(.init(["maxclients 3"], port: freePort())) { server in
            for endpoint in [server.tcpEndpoint, server.endpoint] {
                var held: [RedisConnection] = []
                // The server counts a client for a moment after its connection was closed.
                try await eventually("the server has as many clients as it allows") {
                    _ = await redisError { held.append(try await connect(endpoint)) }
                    return held.count == 3
                }
                let refusal = await redisError { _ = try await connect(endpoint) }
                #expect(refusal?.serverError?.code == .tooManyClients, "\(refusal?.description ?? "no error")")
                #expect(refusal?.message.contains("ERR max number of clients reached") == true)
                #expect(refusal?.message.contains("TLS") == false, "\(refusal?.message ?? "")")
                try await withLink(endpoint) { link in
                    // Until the first attempt has ended, the error gives what it waits for instead of a reason.
                    try await eventually("the error of a call gives the refusal") {
                        let late = await redisError { try await link.send(RedisCommand("PING"), deadline: .seconds(1)) }
                        return late?.message.contains("max number of clients") == true
                    }
                }
                for connection in held {
                    connection.close()
                    try await connection.closeFuture.get()
                }
            }
        }
    }

    @Test("gives up within the connect timeout if the server accepts and stays silent")
    func silence() async throws {
        try await withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            defer { proxy.stop() }
            proxy.set(.blackhole)
            let start = ContinuousClock.now
            let configuration = RedisConnectionConfiguration(connectTimeout: .milliseconds(200))
            let error = await redisError { _ = try await connect(proxy.endpoint, configuration) }
            #expect(error?.code == .unreachable)
            expectPrompt("connecting to silence", since: start, promised: .milliseconds(200))
            try await eventually("the half-made connection is closed") { proxy.open == 0 }
        }
    }
}
