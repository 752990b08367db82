import Logging
import NIOCore

/// One socket to one Redis server, ready for commands: AUTH, SELECT and CLIENT SETNAME are done.
///
/// Calls from any thread are pipelined. Calls of one event-loop tick share a write. Nothing here needs Swift's
/// cooperative pool: any thread except the event loop's may block in `wait()` on the futures.
package final class RedisConnection: Sendable {
    package let endpoint: RedisEndpoint
    package let eventLoop: any EventLoop
    let configuration: RedisConnectionConfiguration
    let channel: any Channel
    let handler: CommandHandler
    let queue: CommandQueue

    init(connector: RedisConnector, channel: any Channel, handler: CommandHandler) {
        endpoint = connector.endpoint
        configuration = connector.configuration
        eventLoop = channel.eventLoop
        self.channel = channel
        self.handler = handler
        queue = CommandQueue(eventLoop: channel.eventLoop, limits: connector.configuration.queueLimits)
        queue.attach(.connection(handler))
        let queue = queue
        channel.closeFuture.whenComplete { _ in
            queue.close(handler.notSent(handler.failure ?? RedisError(.closed, "the connection was closed")))
        }
    }

    /// Connects and logs in within the configured connect timeout.
    /// - Parameter key: in a cluster, connect to the node that has this key; nil takes any node.
    /// - Returns: a connection that has answered a PING, or ``RedisError``: `unreachable`, `timeout`, `tls`,
    ///   `authentication`, `permission`, or `server` (for example LOADING).
    package static func connect(
        _ endpoint: RedisEndpoint,
        near key: String? = nil,
        configuration: RedisConnectionConfiguration = RedisConnectionConfiguration(),
        on eventLoop: any EventLoop,
        logger: Logger
    ) -> EventLoopFuture<RedisConnection> {
        RedisConnector(endpoint: endpoint, configuration: configuration, logger: logger)
            .connect(on: eventLoop, near: key.map(KeySlot.of))
    }

    /// Sends one command. Fails at once as `overloaded` if too much is pending.
    /// - Parameter deadline: the time from now to the reply; nil takes the configured one. A missed deadline closes the
    ///   connection, because later replies cannot be matched.
    /// - Returns: the reply. An error reply fails the future with ``RedisError/serverError`` set.
    package func submit(_ command: RedisCommand, deadline: Duration? = nil) -> EventLoopFuture<RedisValue> {
        queue.submit(.command(command), configuration.deadline(deadline))
    }

    /// Sends one pipeline.
    /// - Returns: the replies in order; error replies stay in their places as ``RedisValue/error(_:)``.
    package func submit(_ commands: [RedisCommand], deadline: Duration? = nil) -> EventLoopFuture<[RedisValue]> {
        queue.submit(all: commands, configuration.deadline(deadline))
    }

    /// Sends one command like `submit`, but waits for room instead of failing as `overloaded`.
    @discardableResult
    package func send(_ command: RedisCommand, deadline: Duration? = nil) async throws -> RedisValue {
        try await queue.send(.command(command), configuration.deadline(deadline))
    }

    @discardableResult
    package func send(_ commands: [RedisCommand], deadline: Duration? = nil) async throws -> [RedisValue] {
        try await queue.send(all: commands, configuration.deadline(deadline))
    }

    /// Completes when the socket is closed for any reason.
    package var closeFuture: EventLoopFuture<Void> { channel.closeFuture }

    /// Closes the socket. Unanswered calls fail as `closed`.
    package func close() {
        channel.close(promise: nil)
    }
}

extension RedisConnectionConfiguration {
    var queueLimits: CommandQueue.Limits { .init(commands: maxPendingCommands, bytes: maxPendingBytes) }
    var replyLimits: ReplyLimits { .init(maxBytes: maxReplyBytes, maxArrayElements: maxArrayElements) }

    func deadline(_ own: Duration?) -> NIODeadline {
        own.map { .after($0) } ?? .now() + commandPatience
    }
}
