import EmbeddedRedis
import Logging
import Operations
import RedisBroker
import RedisClient
import Sluice
import SluiceOperator
import TerminalText

/// Connects to the Redis server of the settings.
enum Connector {
    /// Connects a client.
    ///
    /// - Throws: `OperationsError`, `EmbeddedRedisError`, or `CLIError` if no Redis is named inside an operation.
    @Sendable
    static func connect(_ invocation: Invocation) async throws -> SluiceClient {
        let settings = invocation.settings
        let silent = Logger(label: "sluice") { _ in SwiftLogNoOpLogHandler() }
        let configuration = RedisBrokerConfiguration(
            namespace: settings.namespace.content,
            connectTimeout: settings.connectTimeout.content,
            failsFastWhenRefused: true,
            onSlowWaits: { error in
                invocation.console.warn(SafeText.line("the end is noticed up to five seconds late: \(error)"))
            },
            onOutage: { [console = invocation.console] in console.warnOfOutage($0) }
        )
        let redis = RedisBroker(try await endpoint(invocation), configuration: configuration, logger: silent)
        return try await SluiceClient(redis, keys: settings.keys.content, logger: silent)
            .connected(within: settings.connectTimeout.content)
    }

    /// The environment variables with which a program reaches the same Redis and namespace.
    static func variables(_ invocation: Invocation) async throws -> [String: String] {
        let url =
            if let url = invocation.settings.redisURL { url } else { try await endpoint(invocation).description }
        return ["SLUICE_REDIS_URL": url, "SLUICE_NAMESPACE": invocation.settings.namespace.content]
    }

    /// The embedded server, which has the connect timeout to answer.
    static func embeddedRedis(_ settings: Settings) -> EmbeddedRedis {
        EmbeddedRedis(patience: settings.connectTimeout.content)
    }

    /// The endpoint of the settings, or the endpoint of the embedded server. Starts that server if necessary.
    static func endpoint(_ invocation: Invocation) async throws -> RedisEndpoint {
        if let endpoint = invocation.settings.redis.content { return endpoint }
        guard SluiceConfiguration.operationOfThisProcess() == nil else {
            throw CLIError(
                .badConfiguration,
                "no Redis URL is set, and a program of an operation cannot use the embedded Redis",
                fix: "\(Program.name) worker --pass-redis …, or set SLUICE_REDIS_URL in the program"
            )
        }
        let server = embeddedRedis(invocation.settings)
        let status = try await SluiceClient.startedServer(server)
        if status.startedNow {
            invocation.console.note(
                "started the embedded Redis \(status.version) (pid \(status.pid)) on \(status.socketPath); "
                    + "stop it with: \(Program.name) redis stop"
            )
        }
        return server.endpoint
    }
}
