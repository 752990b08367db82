import Logging
import NIOCore
import RedisClient

/// Makes a broker's connections, each named for its purpose.
struct ConnectionFactory: Sendable {
    let endpoint: RedisEndpoint
    let configuration: RedisBrokerConfiguration
    let logger: Logger
    private let outages = NodeOutages()

    init(endpoint: RedisEndpoint, configuration: RedisBrokerConfiguration, logger: Logger) {
        self.endpoint = endpoint
        self.configuration = configuration
        self.logger = logger
    }

    func link(
        _ purpose: String,
        on loop: any EventLoop,
        _ deadline: Duration,
        onConnect: RedisLink.ConnectHook? = nil
    ) -> RedisLink {
        RedisLink(
            endpoint,
            configuration: connection(purpose, deadline),
            on: loop,
            logger: logger,
            onConnect: onConnect
        )
    }

    /// Opens a connection to the server that has a key. The connection does not reconnect.
    func single(_ purpose: String, near key: String) async throws -> RedisConnection {
        try await RedisConnection.connect(
            endpoint,
            near: key,
            configuration: connection(purpose, configuration.commandDeadline),
            on: configuration.eventLoopGroup.any(),
            logger: logger
        ).get()
    }

    func subscriber() -> RedisSubscriber {
        RedisSubscriber(
            endpoint,
            configuration: connection("pubsub", configuration.commandDeadline),
            on: configuration.eventLoopGroup.any(),
            logger: logger
        )
    }

    private func connection(_ purpose: String, _ deadline: Duration) -> RedisConnectionConfiguration {
        RedisConnectionConfiguration(
            connectTimeout: configuration.connectTimeout,
            commandDeadline: deadline,
            clientName: "\(configuration.clientName):\(purpose)",
            // An idle worker may cost Redis 20 commands a minute: 12 heartbeats, 2 waits for the wake-up token with
            // their claims, and 3 of these pings. Heartbeats deliver what a dead subscription misses before its next
            // ping.
            pingInterval: .seconds(20),
            failsFastWhenRefused: configuration.failsFastWhenRefused,
            connectsAtOnce: false,
            outages: outages
        )
    }
}
