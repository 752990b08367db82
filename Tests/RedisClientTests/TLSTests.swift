import RedisClient
import TestSupport
import Testing

@Suite("TLS", .serialized)
struct TLSTests {
    private struct Stage {
        let server: TestServer
        let certificates: TestCertificates
        let port: Int

        func endpoint(host: String = "localhost", cacert: String?) throws -> RedisEndpoint {
            let query = cacert.map { "?cacert=\($0)" } ?? ""
            return try RedisEndpoint(url: "rediss://\(host):\(port)/3\(query)")
        }
    }

    private func withStage(names: String, _ body: (Stage) async throws -> Void) async throws {
        let certificates = try TestCertificates(in: makeTemporaryFolder(), names: names)
        let port = try freePort()
        try await withServer(.init(certificates.lines(port: port))) { server in
            try await body(Stage(server: server, certificates: certificates, port: port))
        }
    }

    @Test("works with a trusted certificate, by host name and by address, for commands and for pub/sub")
    func trusted() async throws {
        try await withStage(names: "DNS:localhost,IP:127.0.0.1") { stage in
            for host in ["localhost", "127.0.0.1"] {
                let endpoint = try stage.endpoint(host: host, cacert: stage.certificates.authority)
                try await withConnection(endpoint) { connection in
                    let info = try await connection.send(RedisCommand("CLIENT", "INFO"))
                    #expect(info.string?.contains(" db=3 ") == true)
                }
            }
            let endpoint = try stage.endpoint(cacert: stage.certificates.authority)
            let subscriber = RedisSubscriber(endpoint, on: anyLoop(), logger: silent)
            defer { subscriber.close() }
            subscriber.subscribe(["a"])
            var events = subscriber.events.makeAsyncIterator()
            #expect(await events.next() == .subscribed(epoch: 1))
            try stage.server.ask(RedisCommand("PUBLISH", "a", "x"))
            #expect(await events.next() == .message(channel: "a", payload: [120]))
        }
    }

    @Test("carries large values both ways")
    func large() async throws {
        try await withStage(names: "DNS:localhost") { stage in
            let endpoint = try stage.endpoint(cacert: stage.certificates.authority)
            let value = [UInt8](repeating: 9, count: 2_000_000)
            let echo = try await withConnection(endpoint) { try await $0.send(RedisCommand("ECHO", value)) }
            #expect(echo == .bytes(value))
        }
    }

    @Test("refuses a certificate that nobody trusts")
    func untrusted() async throws {
        try await withStage(names: "DNS:localhost,IP:127.0.0.1") { stage in
            let error = await redisError { _ = try await connect(stage.endpoint(cacert: nil)) }
            #expect(error?.code == .tls)
            #expect(error?.message.contains("not trusted") == true, "\(error?.message ?? "")")
            let other = try TestCertificates(in: makeTemporaryFolder())
            let wrong = await redisError { _ = try await connect(stage.endpoint(cacert: other.authority)) }
            #expect(wrong?.code == .tls)
        }
    }

    @Test("refuses a certificate for another host name and for another address")
    func wrongName() async throws {
        try await withStage(names: "DNS:elsewhere.example") { stage in
            for host in ["localhost", "127.0.0.1"] {
                let error = await redisError {
                    _ = try await connect(stage.endpoint(host: host, cacert: stage.certificates.authority))
                }
                #expect(error?.code == .tls, "\(host): \(error?.description ?? "no error")")
            }
        }
    }

    @Test("says so when the CA file is missing, the server speaks no TLS, or the server expects TLS")
    func mismatch() async throws {
        try await withStage(names: "DNS:localhost") { stage in
            let missing = await redisError { _ = try await connect(stage.endpoint(cacert: "/no/such/file")) }
            #expect(missing?.code == .tls)
            #expect(missing?.message.contains("/no/such/file") == true)
            let plain = await redisError { _ = try await connect(.tcp(host: "localhost", port: stage.port)) }
            #expect(plain?.code == .unreachable)
            #expect(plain?.message.contains("rediss://") == true, "\(plain?.message ?? "")")
        }
        try await withServer(.init(port: freePort())) { server in
            var endpoint = server.tcpEndpoint
            endpoint.tls = .init()
            let error = await redisError { _ = try await connect(endpoint) }
            // A plain Redis waits for the rest of what it takes for a command.
            #expect(error?.code == .unreachable)
            #expect(error?.message.contains("TLS") == true, "\(error?.message ?? "")")
        }
    }
}
