import Foundation
import Logging
import NIOPosix
import RedisClient

/// The Redis of a test: one server, or a cluster.
package enum TestRedis: Sendable {
    case server(TestServer)
    case cluster(TestCluster)

    /// The Redis for tests without special needs: one server, or three nodes with `SLUICE_TEST_TOPOLOGY=cluster`.
    ///
    /// Each test process has one. Tests are separated by namespaces.
    package static let shared: TestRedis = {
        guard isCluster else { return .server(.shared) }
        do { return .cluster(try TestCluster.start()) } catch { fatalError("the tests need a cluster: \(error)") }
    }()

    /// Whether `shared` is a cluster. Tests with their own server give the reason why a cluster tests nothing new:
    /// `.enabled(if: …, "why")`.
    package static let isCluster: Bool = {
        switch ProcessInfo.processInfo.environment["SLUICE_TEST_TOPOLOGY"] ?? "single" {
        case "single": return false
        case "cluster": return true
        case let other: fatalError("SLUICE_TEST_TOPOLOGY is single or cluster, not \(other)")
        }
    }()

    package static let isSingle = !isCluster

    /// Starts a Redis of that kind for a single test, which stops it at the end.
    /// - Parameter withUsers: see ``TestUsers``; nodes of a cluster never have them.
    package static func start(withUsers: Bool = true) throws -> TestRedis {
        if isCluster { return .cluster(try TestCluster.start()) }
        var options = TestServer.Options()
        options.hasUsers = withUsers
        return .server(try TestServer.start(options))
    }

    package func stop() { for server in servers { server.stop() } }

    package var endpoint: RedisEndpoint {
        switch self {
        case .server(let server): server.endpoint
        case .cluster(let cluster): cluster.endpoint
        }
    }

    /// The URL without a user.
    package var url: String {
        switch self {
        case .server(let server): "unix://\(server.socketPath)"
        case .cluster(let cluster): cluster.endpoint.description
        }
    }

    /// Returns the URL for a program in this role, if the tests use users.
    package func url(as role: TestUsers.Role) -> String { TestUsers.url(url, as: role) }

    /// Returns the URL with this user and password, visible in the text.
    package func url(user: String, password: String) -> String {
        url.replacingOccurrences(of: "://", with: "://\(user):\(password)@")
    }

    /// The servers that hold keys.
    package var servers: [TestServer] {
        switch self {
        case .server(let server): [server]
        case .cluster(let cluster): cluster.nodes
        }
    }

    /// Sends commands, each to the server of its key, from a thread that may block. Error replies keep their places.
    @discardableResult
    package func ask(_ commands: RedisCommand...) throws -> [RedisValue] {
        let link = RedisLink(
            endpoint,
            configuration: .patient,
            on: MultiThreadedEventLoopGroup.singleton.any(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        defer { link.close() }
        let replies = try link.submit(commands).wait()
        Seen.note(replies: replies)
        return replies
    }
}
