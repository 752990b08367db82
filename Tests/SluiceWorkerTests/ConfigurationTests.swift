import Logging
import NIOCore
import NIOPosix
import NIOSSL
import RedisClient
import SluiceWorker
import TestSupport
import Testing

@testable import RedisBroker

private struct Twice: DistributedOperation {
    static let name = "twice"
    var number: Int

    func main(_ context: OperationContext) async throws -> Int { number * 2 }
}

@Suite("The configuration of a client", .timeLimit(.minutes(60)))
struct ConfigurationTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Runs one operation with a client and a worker of this configuration.
    private func double(_ number: Int, _ configuration: SluiceConfiguration) async throws -> Int {
        let sluice = try SluiceClient(configuration: configuration, logger: logger)
        let worker = Worker(client: sluice, logger: logger) { $0.register(Twice.self) }
        let run = Task { try await worker.run() }
        let result = try await sluice.enqueue(Twice(number: number)).value
        worker.stop()
        try await run.value
        await sluice.close()
        return result
    }

    @Test("A client without a call has no connection; its first call makes one")
    func lazy() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try TestServer.start()
        defer { server.stop() }
        let sluice = try SluiceClient(
            configuration: .init(.url(server.url(as: .producer)), timeouts: .patient, eventLoopGroup: group),
            logger: logger
        )
        // This connection begins later on the same event loop, so an earlier one is in the list as well.
        let later = try await RedisConnection.connect(server.endpoint, on: group.next(), logger: logger).get()
        #expect(!(try names(server).contains("sluice:commands")))
        _ = try await sluice.enqueue(name: "noop")
        #expect(try names(server).contains("sluice:commands"))
        later.close()
        await sluice.close()
        try await group.shutdownGracefully()
    }

    private func names(_ server: TestServer) throws -> String {
        try server.ask(RedisCommand("CLIENT", "LIST"))[0].expectString()
    }

    @Test("Client and worker run on the event loop group of the configuration")
    func eventLoopGroup() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let configuration = SluiceConfiguration(
            .url(TestServer.shared.url(as: .worker)),
            namespace: uniqueNamespace("loops"),
            timeouts: .patient,
            eventLoopGroup: group
        )
        let sluice = try SluiceClient(configuration: configuration, logger: logger)
        #expect(sluice.redis?.link.eventLoop === group.next())
        await sluice.close()
        #expect(try await double(4, configuration) == 8)
        try await group.shutdownGracefully()
    }

    @Test("TLS works with a client certificate; without one, the error gives the server's reason")
    func clientCertificate() async throws {
        let certificates = try TestCertificates(in: makeTemporaryFolder())
        let port = try freePort()
        let lines = certificates.lines(port: port).map { $0 == "tls-auth-clients no" ? "tls-auth-clients yes" : $0 }
        var options = TestServer.Options(lines)
        options.hasUsers = false
        let server = try TestServer.start(options)
        defer { server.stop() }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(certificates.authority)
        var configuration = SluiceConfiguration(.tcp(host: "localhost", port: port), tls: tls, timeouts: .patient)
        let refusal = await #expect(throws: OperationsError.self) {
            try await SluiceClient.connect(configuration, logger: logger)
        }
        #expect(refusal?.message.contains("certificate") == true, "\(refusal?.message ?? "")")
        configuration.tls?.certificateChain = try NIOSSLCertificate.fromPEMFile(certificates.serverCertificate)
            .map { .certificate($0) }
        configuration.tls?.privateKey = .privateKey(try NIOSSLPrivateKey(file: certificates.serverKey, format: .pem))
        #expect(try await double(21, configuration) == 42)
    }

    @Test("Credentials of the configuration replace those of the URL")
    func credentials() async throws {
        var options = TestServer.Options(["requirepass s3cret"])
        options.hasUsers = false
        let server = try TestServer.start(options)
        defer { server.stop() }
        var configuration = SluiceConfiguration(.url("unix://:wrong@\(server.socketPath)"), timeouts: .patient)
        let refusal = await #expect(throws: OperationsError.self) {
            try await SluiceClient.connect(configuration, logger: logger)
        }
        #expect(refusal?.code == .denied)
        configuration.credentials = .init(password: "s3cret")
        #expect(try await double(3, configuration) == 6)
    }

    @Test("Two clients of one process in two namespaces do not see each other's operations")
    func twoClients() async throws {
        let url = TestServer.shared.url(as: .operator)
        let one = try await SluiceClient.test(url, namespace: uniqueNamespace("one"))
        let two = try await SluiceClient.test(url, namespace: uniqueNamespace("two"))
        let reference = try await one.enqueue(name: "noop")
        _ = try await two.enqueue(name: "other")
        #expect(try await one.reference(reference.id, queue: "default").state() == .ready)
        let error = await #expect(throws: OperationsError.self) {
            try await two.reference(reference.id, queue: "default").state()
        }
        #expect(error?.code == .notFound)
        await one.close()
        _ = try await two.enqueue(name: "other")
        await two.close()
    }

    @Test("A configuration that is printed shows no password")
    func secrets() {
        var configuration = SluiceConfiguration(.url("redis://ada:s3cret@h:1/0"))
        configuration.credentials = .init(user: "ada", password: "s3cret")
        var dumped = ""
        dump(configuration, to: &dumped)
        let texts = [
            dumped, "\(configuration)", "\(configuration.server)", String(reflecting: configuration.credentials),
        ]
        #expect(texts.allSatisfy { !$0.contains("s3cret") && $0.contains("ada") }, "\(texts)")
    }

    private static let wrong: [(SluiceConfiguration, String)] = [
        (.init(.url("http://h")), "scheme"),
        (.init(.tcp(host: "")), "host"),
        (.init(.tcp(host: "h", port: 0)), "port 0"),
        (.init(.tcp(host: "h", port: 70_000)), "70000"),
        (.init(.tcp(host: "h", database: -1)), "database -1"),
        (.init(.unixSocket(path: "redis.sock")), "not absolute"),
        (.init(.unixSocket(path: "/r.sock"), tls: .makeClientConfiguration()), "unix socket has no TLS"),
        (.init(.url("rediss://h?cacert=/ca.pem"), tls: .makeClientConfiguration()), "cacert"),
        (.init(.tcp(host: "h"), timeouts: .init(command: .zero)), "command timeout"),
        (.init(.tcp(host: "h"), timeouts: .init(enqueue: .seconds(-1))), "enqueue timeout"),
        (.init(.tcp(host: "h"), timeouts: .init(durability: .seconds(Int64.max))), "durability timeout"),
    ]

    @Test("An invalid server or time limit throws an error that names it", arguments: wrong.indices)
    func bad(index: Int) {
        let (configuration, word) = Self.wrong[index]
        let error = #expect(throws: OperationsError.self) { try SluiceClient(configuration: configuration) }
        #expect(error?.code == .invalidOption)
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
    }

    @Test("The environment names server, namespace and keys; without a server, the error names the variable")
    func environment() throws {
        let found = try SluiceConfiguration.fromEnvironment([
            "SLUICE_REDIS_URL": "redis://a\n", "REDIS_URL": "redis://b", "SLUICE_NAMESPACE": "shop",
        ])
        #expect(found.server == .url("redis://a") && found.namespace == "shop" && found.keys == nil)
        #expect(try SluiceConfiguration.fromEnvironment(["REDIS_URL": "redis://b"]).server == .url("redis://b"))
        #expect(try SluiceConfiguration.fromEnvironment([:], otherwise: .embedded).server == .embedded)
        for (environment, server, word) in [
            ([:], nil, "SLUICE_REDIS_URL nor REDIS_URL is set"),
            (["SLUICE_REDIS_URL": " "], nil, "SLUICE_REDIS_URL nor REDIS_URL is set"),
            (["SLUICE_OPERATION_ID": "1"], SluiceConfiguration.Server.embedded, "--pass-redis"),
        ] as [([String: String], SluiceConfiguration.Server?, String)] {
            let error = #expect(throws: OperationsError.self) {
                try SluiceConfiguration.fromEnvironment(environment, otherwise: server)
            }
            #expect(error?.code == .invalidOption && error?.message.contains(word) == true)
        }
    }
}
