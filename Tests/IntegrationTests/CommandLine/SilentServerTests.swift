import Foundation
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite(
        "servers that do not answer",
        .enabled(if: TestRedis.isSingle, "the servers are the tests' own, and none of them is a cluster")
    )
    struct SilentServerTests {
        private let sluice = CommandLine()

        /// Runs a command against an address that does not answer, and checks its error.
        private func expect(_ parts: String..., at url: String, advice: String) async throws {
            // The timeout is long enough for a busy machine to reach the stage that the message names.
            let outcome = try await sluice("stats", "--connect-timeout", "20s", environment: ["SLUICE_REDIS_URL": url])
            #expect(outcome.code == 69, "\(outcome.errors)")
            #expect(outcome.output.isEmpty)
            for part in parts + ["from: SLUICE_REDIS_URL in the environment"] {
                #expect(outcome.errors.contains(part), "\(part): \(outcome.errors)")
            }
            #expect(outcome.errors.split(separator: "\n").last == "  try:  \(advice)", "\(outcome.errors)")
        }

        @Test("rediss:// to a port without TLS: the error names the handshake and suggests redis-cli --tls")
        func plainPort() async throws {
            let server = try TestServer.start(.init(port: freePort()))
            let port = server.options.port
            try await expect(
                "the TLS handshake with 127.0.0.1:\(port)",
                "does it speak TLS on this port?",
                at: "rediss://127.0.0.1:\(port)",
                advice: "redis-cli -h 127.0.0.1 -p \(port) --tls ping"
            )
        }

        @Test("A silent listener: the error names the handshake with TLS, and the answer without TLS")
        func silence() async throws {
            let server = try TestServer.start(.init(port: freePort()))
            let proxy = try await FaultProxy.start(to: server.tcpEndpoint)
            defer { proxy.stop() }
            proxy.set(.blackhole)
            guard case .tcp(let host, let port) = proxy.endpoint.address else { return }
            try await expect(
                "the TLS handshake with \(host):\(port)",
                at: "rediss://\(host):\(port)?cacert=/etc/ssl/certs/ca-certificates.crt",
                advice: "redis-cli -h \(host) -p \(port) --tls --cacert /etc/ssl/certs/ca-certificates.crt ping"
            )
            try await expect(
                "an answer from \(host):\(port)",
                "does it expect TLS? then use rediss://",
                at: "redis://\(host):\(port)",
                advice: "redis-cli -h \(host) -p \(port) ping"
            )
        }

        @Test("A sentinel that names a silent master: the error names both and suggests to ask the sentinel")
        func silentMaster() async throws {
            let master = try TestServer.start(.init(port: freePort()))
            let place = "127.0.0.1:\(master.options.port)"
            var options = TestServer.Options(
                ["sentinel monitor main 127.0.0.1 \(master.options.port) 1", "protected-mode no"],
                port: try freePort()
            )
            options.isSentinel = true
            let sentinel = try TestServer.start(options)
            master.signal(SIGSTOP)
            defer { master.signal(SIGCONT) }
            let port = sentinel.options.port
            try await expect(
                "the master at \(place), named by sentinel 127.0.0.1:\(port)",
                "an answer from \(place)",
                at: "redis+sentinel://127.0.0.1:\(port)/main",
                advice: "redis-cli -h 127.0.0.1 -p \(port) sentinel get-master-addr-by-name main"
            )
        }
    }
}
