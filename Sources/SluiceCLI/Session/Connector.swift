import EmbeddedRedis
import Logging
import Operations
import RedisClient
import Sluice
import TerminalText

/// Connects to the Redis of the settings.
enum Connector {
    /// - Throws: `OperationsError` or `EmbeddedRedisError`.
    @Sendable
    static func connect(_ invocation: Invocation) async throws -> SluiceClient {
        let settings = invocation.settings
        return try await SluiceClient.connect(
            to: endpoint(invocation),
            namespace: settings.namespace.content,
            timeout: settings.connectTimeout.content,
            keys: settings.keys.content,
            onSlowWaits: { error in
                invocation.console.warn(SafeText.line("the end is noticed up to five seconds late: \(error)"))
            },
            logger: Logger(label: "sluice") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// The endpoint of the settings, or that of the embedded server, which is started if it does not run.
    static func endpoint(_ invocation: Invocation) async throws -> RedisEndpoint {
        if let endpoint = invocation.settings.redis.content { return endpoint }
        let server = EmbeddedRedis()
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
