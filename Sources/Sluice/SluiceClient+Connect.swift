import Dispatch
import EmbeddedRedis
import Foundation
import Logging
import RedisBroker
import RedisClient

extension SluiceClient {
    /// Connects to a Redis (6.2 or newer) or Valkey server.
    ///
    /// The client restores a lost connection by itself; calls wait for it up to five seconds.
    ///
    /// - Parameters:
    ///   - url: `redis://[user[:password]@]host[:port][/database]`, `rediss://…` for TLS with a verified certificate
    ///     (`?cacert=FILE` names the authorities), `unix:///path/to/socket`,
    ///     `redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/MASTER[/database]`, or for a cluster
    ///     `redis+cluster://[user[:password]@]host[:port][,host[:port]…]`; the last two also with `rediss+`.
    ///   - namespace: the namespace of all queues; two namespaces never see each other.
    ///   - timeout: longest time to wait for the first answer, more than zero and at most 100 years.
    ///   - keys: sign and encrypt enqueued operations; nil = neither.
    ///   - buffering: keeps operations in memory while Redis is away; nil = an enqueue throws then.
    ///   - logger: gets a line when the connection is lost or restored, and when a task waits for operations of a queue
    ///     that no live worker serves.
    /// - Returns: a client that Redis has answered. With a buffer, the client is returned even while Redis is away.
    /// - Throws: `OperationsError`:
    ///   - `.invalidOption` for an invalid URL or timeout; `.invalidName` for an invalid namespace.
    ///   - `.unavailable` if no server answers in time and the client has no buffer.
    ///   - `.denied` if Redis refuses the user or the password; `.untrusted` if the certificate is not trusted.
    ///   - `.incompatible` if the namespace has another protocol than this program. In a cluster, the first enqueue
    ///     into a queue and the list of queues check the protocol.
    public static func connect(
        to url: String,
        namespace: String = Defaults.namespace,
        timeout: Duration = .seconds(5),
        keys: OperationKeys? = nil,
        buffering: EnqueueBuffering? = nil,
        logger: Logger = Logger(label: "sluice")
    ) async throws -> SluiceClient {
        try TimeLimit.check(timeout, "the connect timeout")
        let endpoint: RedisEndpoint
        do { endpoint = try RedisEndpoint(url: url) } catch { throw OperationsError(.invalidOption, error.message) }
        return try await connect(
            to: endpoint,
            namespace: namespace,
            timeout: timeout,
            keys: keys,
            buffering: buffering,
            logger: logger
        )
    }

    /// Connects to the embedded server: a private redis-server of this user on a unix socket.
    ///
    /// The call starts the server if it does not run. All programs of the user share the server; `sluice redis stop`
    /// stops it.
    ///
    /// - Parameters:
    ///   - namespace: the namespace of all queues.
    ///   - keys: sign and encrypt enqueued operations; nil = neither.
    ///   - buffering: keeps operations in memory while Redis is away; nil = an enqueue throws then.
    ///   - logger: gets a line when the server was started, when the connection is lost or restored, and when a task
    ///     waits for operations of a queue that no live worker serves.
    /// - Returns: a client that Redis has answered.
    /// - Throws: `OperationsError` with `.unavailable` if no redis-server is installed or it cannot be started; the
    ///   message contains the fix.
    public static func connectToEmbeddedServer(
        namespace: String = Defaults.namespace,
        keys: OperationKeys? = nil,
        buffering: EnqueueBuffering? = nil,
        logger: Logger = Logger(label: "sluice")
    ) async throws -> SluiceClient {
        let server = EmbeddedRedis()
        do {
            let status = try await startedServer(server)
            if status.startedNow { logger.info("started the embedded Redis", metadata: ["pid": "\(status.pid)"]) }
        } catch { throw OperationsError(.unavailable, error.message) }
        return try await connect(
            to: server.endpoint,
            namespace: namespace,
            keys: keys,
            buffering: buffering,
            logger: logger
        )
    }

    /// Connects to the server that the environment names: `SLUICE_REDIS_URL`, else `REDIS_URL`, else the embedded
    /// server.
    ///
    /// A program that a worker runs as an operation (`SLUICE_OPERATION_ID` is set) never uses the embedded server,
    /// because its worker may use another one. `sluice worker --pass-redis` passes the URL on.
    ///
    /// The namespace is `SLUICE_NAMESPACE` or the default. Keys come from the file that `SLUICE_KEYS_FILE` names, or
    /// from `SLUICE_KEYS`.
    ///
    /// - Parameters:
    ///   - environment: the variables.
    ///   - buffering: keeps operations in memory while Redis is away; nil = an enqueue throws then.
    ///   - logger: gets a line when the connection is lost or restored, and when a task waits for operations of a queue
    ///     that no live worker serves.
    /// - Returns: a client that Redis has answered.
    /// - Throws: as `connect(to:namespace:timeout:keys:buffering:logger:)` and
    ///   `connectToEmbeddedServer(namespace:keys:buffering:logger:)`; `OperationKeysError`; `OperationsError` with
    ///   `.unavailable` for an operation's program without a URL.
    public static func connectFromEnvironment(
        _ environment: [String: String] = ProcessInfo.processInfo.environment,
        buffering: EnqueueBuffering? = nil,
        logger: Logger = Logger(label: "sluice")
    ) async throws -> SluiceClient {
        // A variable that was read from a file may end with a newline.
        let value = { (name: String) in
            environment[name].map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.flatMap {
                $0.isEmpty ? nil : $0
            }
        }
        let namespace = value("SLUICE_NAMESPACE") ?? Defaults.namespace
        let keys = try OperationKeys.fromEnvironment(environment)
        guard let url = value("SLUICE_REDIS_URL") ?? value("REDIS_URL") else {
            if operationOfThisProcess(environment) != nil {
                throw OperationsError(
                    .unavailable,
                    "SLUICE_REDIS_URL is not set, and a program that runs as an operation uses no private Redis; "
                        + "start its worker with --pass-redis"
                )
            }
            return try await connectToEmbeddedServer(
                namespace: namespace,
                keys: keys,
                buffering: buffering,
                logger: logger
            )
        }
        return try await connect(to: url, namespace: namespace, keys: keys, buffering: buffering, logger: logger)
    }

    package static func connect(
        to endpoint: RedisEndpoint,
        namespace: String,
        timeout: Duration = .seconds(5),
        keys: OperationKeys? = nil,
        buffering: EnqueueBuffering? = nil,
        onSlowWaits: (@Sendable (OperationsError) -> Void)? = nil,
        onOutage: (@Sendable (OperationsError) -> Void)? = nil,
        logger: Logger
    ) async throws -> SluiceClient {
        try NameRule.check(namespace, role: "namespace")
        let configuration = RedisBrokerConfiguration(
            namespace: namespace,
            connectTimeout: timeout,
            failsFastWhenRefused: true,
            onSlowWaits: onSlowWaits,
            onOutage: onOutage
        )
        let broker = RedisBroker(endpoint, configuration: configuration, logger: logger)
        do { try await broker.connect(within: timeout) } catch {
            let waits = (error as? OperationsError)?.code == .unavailable && buffering != nil
            guard waits else {
                broker.close()
                throw error
            }
        }
        return SluiceClient(
            broker: broker,
            namespace: namespace,
            keys: keys,
            buffering: buffering,
            logger: logger,
            endpoint: endpoint
        ) { broker.close() }
    }

    /// The id of the operation that this process runs as a program; nil for any other process.
    package static func operationOfThisProcess(
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String? {
        environment["SLUICE_OPERATION_ID"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Starts the embedded server on a thread that may block.
    package static func startedServer(
        _ server: EmbeddedRedis
    ) async throws(EmbeddedRedisError) -> EmbeddedRedis.Status {
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { () throws(EmbeddedRedisError) in try server.start() })
            }
        }
        return try result.get()
    }
}
