import Logging
import NIOCore
import NIOPosix
import RedisClient
import Synchronization
import TestSupport

let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// One event loop for the connections of a test.
func anyLoop() -> any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }

func connect(
    _ endpoint: RedisEndpoint = TestServer.shared.endpoint,
    _ configuration: RedisConnectionConfiguration = RedisConnectionConfiguration()
) async throws -> RedisConnection {
    try await RedisConnection.connect(endpoint, configuration: configuration, on: anyLoop(), logger: silent).get()
}

/// A connection that is closed at the end.
@discardableResult
func withConnection<Result>(
    _ endpoint: RedisEndpoint = TestServer.shared.endpoint,
    _ configuration: RedisConnectionConfiguration = RedisConnectionConfiguration(),
    _ body: (RedisConnection) async throws -> Result
) async throws -> Result {
    let connection = try await connect(endpoint, configuration)
    defer { connection.close() }
    return try await body(connection)
}

/// A link that is closed at the end.
func withLink<Result>(
    _ endpoint: RedisEndpoint = TestServer.shared.endpoint,
    _ configuration: RedisConnectionConfiguration = RedisConnectionConfiguration(),
    _ body: (RedisLink) async throws -> Result
) async throws -> Result {
    let link = RedisLink(endpoint, configuration: configuration, on: anyLoop(), logger: silent)
    defer { link.close() }
    return try await body(link)
}

/// A server of its own that is stopped at the end.
func withServer<Result>(
    _ options: TestServer.Options = TestServer.Options(),
    _ body: (TestServer) async throws -> Result
) async throws -> Result {
    let server = try TestServer.start(options)
    defer { server.stop() }
    return try await body(server)
}

/// The error that a call throws, or nil if it succeeds.
func redisError(_ body: () async throws -> Void) async -> RedisError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? RedisError
    }
}

/// A number that tasks count up together.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .acquiring) }

    func add() { count.add(1, ordering: .releasing) }
}
