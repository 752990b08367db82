import Logging
import NIOCore
import NIOPosix
import RedisClient
import Synchronization
import TestSupport

let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// The settings of a subscriber that does not take a busy machine for a vanished peer.
let patientSubscriber = RedisConnectionConfiguration(connectTimeout: patience, pingDeadline: patience)

/// Returns an event loop for the connections of a test.
func anyLoop() -> any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }

func connect(
    _ endpoint: RedisEndpoint = TestServer.shared.endpoint,
    _ configuration: RedisConnectionConfiguration = .patient
) async throws -> RedisConnection {
    try await RedisConnection.connect(endpoint, configuration: configuration, on: anyLoop(), logger: silent).get()
}

/// Runs a body with a connection, and closes the connection at the end.
@discardableResult
func withConnection<Result>(
    _ endpoint: RedisEndpoint = TestServer.shared.endpoint,
    _ configuration: RedisConnectionConfiguration = .patient,
    _ body: (RedisConnection) async throws -> Result
) async throws -> Result {
    let connection = try await connect(endpoint, configuration)
    defer { connection.close() }
    return try await body(connection)
}

/// Runs a body with a link, and closes the link at the end.
func withLink<Result>(
    _ endpoint: RedisEndpoint = TestServer.shared.endpoint,
    _ configuration: RedisConnectionConfiguration = .patient,
    _ body: (RedisLink) async throws -> Result
) async throws -> Result {
    let link = RedisLink(endpoint, configuration: configuration, on: anyLoop(), logger: silent)
    defer { link.close() }
    return try await body(link)
}

/// Runs a body with a separate server, and stops the server at the end.
func withServer<Result>(
    _ options: TestServer.Options = TestServer.Options(),
    _ body: (TestServer) async throws -> Result
) async throws -> Result {
    let server = try TestServer.start(options)
    defer { server.stop() }
    return try await body(server)
}

/// Returns the error that a call throws; nil = the call succeeds.
func redisError(_ body: () async throws -> Void) async -> RedisError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? RedisError
    }
}

/// A counter shared by tasks.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .acquiring) }

    func add() { count.add(1, ordering: .releasing) }
}
