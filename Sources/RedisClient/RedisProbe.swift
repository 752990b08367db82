import Logging
import NIOCore
import NIOPosix

/// Sends commands from a thread that may block, for start-up and tools.
package enum RedisProbe {
    /// Opens a connection, sends one pipeline, closes it.
    /// - Parameter timeout: the limit for connecting, and again for the answers.
    /// - Returns: the replies in order. Error replies stay in their places, so LOADING is an answer and not a failure.
    /// - Throws: ``RedisError``; `unreachable` if no server listens.
    package static func ask(
        _ endpoint: RedisEndpoint,
        _ commands: [RedisCommand],
        timeout: Duration = .seconds(2)
    ) throws -> [RedisValue] {
        let configuration = RedisConnectionConfiguration(connectTimeout: timeout, commandDeadline: timeout)
        var connector = RedisConnector(
            endpoint: endpoint,
            configuration: configuration,
            logger: Logger(label: "sluice.redis.probe") { _ in SwiftLogNoOpLogHandler() }
        )
        connector.greetsWithPing = false
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        return try connector.connect(on: eventLoop).flatMap { connection in
            connection.submit(commands).flatMap { replies in
                closed(connection).map { replies }
            }.flatMapError { error in
                closed(connection).flatMapThrowing { throw error }
            }
        }.wait()
    }

    /// Sends one pipeline to each server that holds keys: all masters of a cluster, or the only server.
    /// - Returns: the replies of each server.
    package static func askAll(
        _ endpoint: RedisEndpoint,
        _ commands: [RedisCommand],
        timeout: Duration = .seconds(2)
    ) throws -> [[RedisValue]] {
        guard endpoint.isCluster else { return [try ask(endpoint, commands, timeout: timeout)] }
        // The search for a cluster remembers its map.
        _ = try ask(endpoint, [], timeout: timeout)
        let map = ClusterSearch.lastMap(of: endpoint) ?? SlotMap()
        return try map.parts.map { try ask(endpoint.at($0.host), commands, timeout: timeout) }
    }

    private static func closed(_ connection: RedisConnection) -> EventLoopFuture<Void> {
        connection.close()
        return connection.closeFuture
    }
}
