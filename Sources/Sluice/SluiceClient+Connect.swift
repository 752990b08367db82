import Dispatch
import EmbeddedRedis
import Foundation
import Logging
import RedisBroker
import RedisClient

extension SluiceClient {
    /// Creates a client, without any input or output: the client connects at its first call.
    ///
    /// ```swift
    /// let sluice = try SluiceClient(configuration: .fromEnvironment())
    /// let group = ServiceGroup(services: [sluice, worker], gracefulShutdownSignals: [.sigterm], logger: logger)
    /// ```
    ///
    /// A lost connection is restored; calls wait for it up to `SluiceConfiguration.Timeouts.command`.
    ///
    /// - Parameters:
    ///   - configuration: the server and all other settings.
    ///   - logger: gets a line when the connection is lost or restored, and when a task waits for operations of a queue
    ///     that no live worker serves.
    /// - Throws: `OperationsError` with `.invalidOption` for an invalid URL, address or time limit, with `.invalidName`
    ///   for an invalid namespace.
    public init(configuration: SluiceConfiguration, logger: Logger = Logger(label: "sluice")) throws {
        self.init(
            RedisBroker(
                try configuration.endpoint(),
                configuration: try configuration.brokerConfiguration(),
                logger: logger
            ),
            keys: configuration.keys,
            buffering: configuration.buffering,
            middleware: configuration.middleware,
            isEmbedded: configuration.server == .embedded,
            logger: logger
        )
    }

    /// Creates a client and waits until Redis answers.
    ///
    /// - Parameters:
    ///   - configuration: the server and all other settings.
    ///   - logger: gets a line when the connection is lost or restored, and when a task waits for operations of a queue
    ///     that no live worker serves.
    /// - Returns: a client that Redis has answered. With a buffer, the client is returned even while Redis is away.
    /// - Throws: `OperationsError`:
    ///   - `.invalidOption` for an invalid URL, address or time limit; `.invalidName` for an invalid namespace.
    ///   - `.unavailable` if no server answers in time and the client has no buffer, or if the embedded server cannot
    ///     be started; the message contains the fix.
    ///   - `.denied` if Redis refuses the user or the password; `.untrusted` if the certificate is not trusted.
    ///   - `.incompatible` if the namespace has another protocol than this program. In a cluster, the first enqueue
    ///     into a queue and the list of queues check the protocol.
    public static func connect(
        _ configuration: SluiceConfiguration,
        logger: Logger = Logger(label: "sluice")
    ) async throws -> SluiceClient {
        try await SluiceClient(configuration: configuration, logger: logger).connected()
    }

    /// Creates a client of the server with a URL and waits until Redis answers. All settings: `connect(_:logger:)`.
    ///
    /// - Parameters:
    ///   - url: as in `SluiceConfiguration.Server.url(_:)`.
    ///   - namespace: the namespace of all queues; two namespaces never see each other.
    ///   - logger: gets a line when the connection is lost or restored, and when a task waits for operations of a queue
    ///     that no live worker serves.
    /// - Returns: a client that Redis has answered.
    /// - Throws: as `connect(_:logger:)`.
    public static func connect(
        to url: String,
        namespace: String = SluiceDefaults.namespace,
        logger: Logger = Logger(label: "sluice")
    ) async throws -> SluiceClient {
        try await connect(SluiceConfiguration(.url(url), namespace: namespace), logger: logger)
    }

    /// Creates a client of the server that `SLUICE_REDIS_URL` or `REDIS_URL` names, and waits until Redis answers.
    ///
    /// `SluiceConfiguration.fromEnvironment(_:otherwise:)` says which variables are read.
    ///
    /// - Parameter logger: gets a line when the connection is lost or restored, and when a task waits for operations of
    ///   a queue that no live worker serves.
    /// - Returns: a client that Redis has answered.
    /// - Throws: as `connect(_:logger:)`; `OperationsError` with `.invalidOption` if no variable names a server;
    ///   `OperationKeysError` for keys that cannot be read.
    public static func connectFromEnvironment(
        logger: Logger = Logger(label: "sluice")
    ) async throws -> SluiceClient {
        try await connect(.fromEnvironment(), logger: logger)
    }

    /// Waits until Redis answers, and returns the client. If there is no answer, closes the client and throws.
    ///
    /// - Parameter patience: how long to try; nil = as long as for any call.
    package func connected(within patience: Duration? = nil) async throws -> SluiceClient {
        do { try await start() } catch {
            redis?.close()
            throw error
        }
        do { try await redis?.connect(within: patience) } catch {
            let waits = (error as? OperationsError)?.code == .unavailable && buffer != nil
            guard waits else {
                redis?.close()
                throw error
            }
        }
        return self
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

    static func startEmbedded(_ logger: Logger) async throws {
        do {
            let status = try await startedServer(EmbeddedRedis())
            if status.startedNow { logger.info("started the embedded Redis", metadata: ["pid": "\(status.pid)"]) }
        } catch { throw OperationsError(.unavailable, error.message) }
    }
}
