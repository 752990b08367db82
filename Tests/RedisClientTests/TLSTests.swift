import RedisClient
import TestSupport
import Testing

@Suite("TLS", .serialized, .timeLimit(.minutes(60)))
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

    private func withStage(names: String, isExpired: Bool = false, _ body: (Stage) async throws -> Void) async throws {
        let certificates = try TestCertificates(in: makeTemporaryFolder(), names: names, isExpired: isExpired)
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
            let subscriber = RedisSubscriber(
                endpoint,
                configuration: patientSubscriber,
                on: anyLoop(),
                logger: silent
            )
            defer { subscriber.close() }
            subscriber.subscribe(["a"])
            var events = subscriber.events.makeAsyncIterator()
            #expect(await events.next() == .subscribed(epoch: 1))
            try stage.server.ask(RedisCommand("PUBLISH", "a", "x"))
            #expect(await events.next() == .message(channel: "a", payload: [120]))
        }
    }

    @Test("passes large values in both directions")
    func large() async throws {
        try await withStage(names: "DNS:localhost") { stage in
            let endpoint = try stage.endpoint(cacert: stage.certificates.authority)
            let value = [UInt8](repeating: 9, count: 2_000_000)
            let echo = try await withConnection(endpoint) { try await $0.send(RedisCommand("ECHO", value)) }
            #expect(echo == .bytes(value))
        }
    }

    @Test("refuses an untrusted certificate")
    func untrusted() async throws {
        try await withStage(names: "DNS:localhost,IP:127.0.0.1") { stage in
            let error = await redisError { _ = try await connect(stage.endpoint(cacert: nil)) }
            #expect(error?.code == .tls)
            #expect(error?.message.contains("not trusted") == true, "\(error?.message ?? "")")
            let other = try TestCertificates(in: makeTemporaryFolder())
            let wrong = await redisError { _ = try await connect(stage.endpoint(cacert: other.authority)) }
            #expect(wrong?.code == .tls)
            #expect(wrong?.message.contains("an authority in \(other.authority)") == true, "\(wrong?.message ?? "")")
        }
    }

    @Test("refuses an expired certificate, and reports its last day")
    func expired() async throws {
        try await withStage(names: "DNS:localhost,IP:127.0.0.1", isExpired: true) { stage in
            for host in ["localhost", "127.0.0.1"] {
                let error = await redisError {
                    _ = try await connect(stage.endpoint(host: host, cacert: stage.certificates.authority))
                }
                #expect(error?.code == .tls)
                let text = error?.message ?? ""
                #expect(text.contains("has expired: it was valid until 20"), "\(text)")
                #expect(!text.contains("not trusted") && !text.contains("OPENSSL"), "\(text)")
            }
        }
    }

    @Test("refuses a certificate for another host name or another address")
    func wrongName() async throws {
        try await withStage(names: "DNS:elsewhere.example,IP:192.0.2.7,IP:2001:db8::1") { stage in
            for host in ["localhost", "127.0.0.1"] {
                let error = await redisError {
                    _ = try await connect(stage.endpoint(host: host, cacert: stage.certificates.authority))
                }
                #expect(error?.code == .tls, "\(host): \(error?.description ?? "no error")")
                let part = "is for elsewhere.example, 192.0.2.7, 2001:db8::1, not for \(host)"
                #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
                #expect(error?.message.contains("<none>") == false)
            }
        }
    }

    @Test("reports a missing CA file, a server without TLS, or a server that expects TLS")
    func mismatch() async throws {
        try await withStage(names: "DNS:localhost") { stage in
            let missing = await redisError { _ = try await connect(stage.endpoint(cacert: "/no/such/file")) }
            #expect(missing?.code == .tls)
            #expect(missing?.message.contains("/no/such/file: No such file") == true, "\(missing?.message ?? "")")
            let empty = await redisError { _ = try await connect(stage.endpoint(cacert: stage.certificates.serverKey)) }
            #expect(empty?.message.contains("not a list of certificates") == true, "\(empty?.message ?? "")")
            let plain = await redisError { _ = try await connect(.tcp(host: "localhost", port: stage.port)) }
            #expect(plain?.code == .unreachable)
            #expect(plain?.message.contains("rediss://") == true, "\(plain?.message ?? "")")
        }
        try await withServer(.init(port: freePort())) { server in
            var endpoint = server.tcpEndpoint
            endpoint.tls = .init()
            let part = "the TLS handshake with 127.0.0.1:\(server.options.port)"
            // A plain Redis waits for the rest of a supposed command, so the attempt gives up. On a busy machine this
            // may happen before a connection exists.
            try await eventually("the error names the handshake") {
                let error = await redisError { _ = try await connect(endpoint, .init(connectTimeout: .seconds(2))) }
                return error?.code == .unreachable && error?.message.contains(part) == true
            }
        }
    }

    @Test("reports that it waits for the handshake with a silent listener, whichever side gives up first")
    func silence() async throws {
        try await withServer(.init(port: freePort())) { server in
            let proxy = try await FaultProxy.start(to: server.tcpEndpoint)
            proxy.set(.blackhole)
            var endpoint = proxy.endpoint
            endpoint.tls = .init()
            guard case .tcp(let host, let port) = endpoint.address else { return }
            let part = "the TLS handshake with \(host):\(port)"
            // The attempt itself gives up. On a busy machine this may happen before a connection exists.
            try await eventually("the try says what it waited for") {
                let error = await redisError {
                    _ = try await connect(endpoint, .init(connectTimeout: .milliseconds(300)))
                }
                return error?.code == .unreachable && error?.message.contains(part) == true
            }
            // Calls give up long before the attempt does.
            for (endpoint, part) in [(endpoint, part), (proxy.endpoint, "an answer from \(host):\(port)")] {
                try await withLink(endpoint, .init(connectTimeout: .seconds(120))) { link in
                    try await eventually("the error says what is waited for") {
                        let late = await redisError {
                            try await link.send(RedisCommand("PING"), deadline: .milliseconds(200))
                        }
                        return late?.message.contains("1 try in") == true && late?.message.contains(part) == true
                    }
                }
            }
            proxy.stop()
        }
    }
}
