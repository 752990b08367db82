import Logging
@_exported import OperationKeys
@_exported import Operations
@_exported import Schedules
import RedisBroker
import ServiceLifecycle

/// A producer's connection to a namespace: enqueues, follows and cancels operations.
///
/// ```swift
/// let sluice = try await SluiceClient.connect(to: "redis://localhost:6379/0")
/// let handle = try await sluice.enqueue(Resize(path: "a.png", width: 200), .priority(.high))
/// let resized = try await handle.value
/// await sluice.close()
/// ```
///
/// A client is a value that shares one connection. Copy it freely, and use it from any task.
public struct SluiceClient: Sendable {
    /// The namespace that every queue name is relative to.
    public let namespace: String
    package let broker: any ProducerBroker & OperatorBroker
    /// Signs and encrypts enqueued operations; nil = the client has no keys.
    package let seal: (any EnvelopeSeal)?
    /// Keeps operations while Redis is away; nil = an enqueue throws then.
    let buffer: EnqueueBuffer?
    /// Code around each enqueue.
    package private(set) var middleware: MiddlewareChain
    /// Logs a warning while a task waits for a queue that no live worker serves.
    let unserved: UnservedWatch
    /// The connection, whose server and settings a worker uses for its own ones; nil = the caller made the broker.
    package let redis: RedisBroker?
    /// The broker for workers of this client if `redis` is nil.
    package let workerBroker: any WorkerBroker & MonitorBroker
    private let onStart: @Sendable () async throws -> Void
    private let onClose: @Sendable () async -> Void

    /// Creates a client of any broker, for tests and for programs that connect by themselves.
    ///
    /// - Parameters:
    ///   - broker: the queue server.
    ///   - namespace: the namespace that the broker is bound to.
    ///   - keys: sign and encrypt enqueued operations.
    ///   - buffering: keeps operations while the broker is away.
    ///   - middleware: code around each enqueue, and around the runs of this client's workers.
    ///   - unservedPatience: how long a wait takes until the client checks whether a live worker serves the queue.
    ///   - logger: gets a line when buffering begins and ends, and when a task waits for a queue that no live worker
    ///     serves.
    ///   - onClose: called by `close`.
    package init(
        broker: any Broker,
        namespace: String = SluiceDefaults.namespace,
        keys: OperationKeys? = nil,
        buffering: EnqueueBuffering? = nil,
        middleware: [any OperationMiddleware] = [],
        unservedPatience: Duration = .seconds(5),
        logger: Logger = Logger(label: "sluice"),
        onClose: @escaping @Sendable () async -> Void = {}
    ) {
        self.broker = broker
        workerBroker = broker
        self.namespace = namespace
        seal = keys.map { OperationSeal($0, namespace: namespace) }
        buffer = buffering.map { EnqueueBuffer($0, logger: logger) { try await broker.enqueue($0, queue: $1) } }
        unserved = UnservedWatch(broker, namespace: namespace, patience: unservedPatience, logger: logger)
        redis = nil
        self.middleware = MiddlewareChain(middleware)
        onStart = {}
        self.onClose = onClose
    }

    /// Creates a client of a Redis server.
    package init(
        _ redis: RedisBroker,
        keys: OperationKeys? = nil,
        buffering: EnqueueBuffering? = nil,
        middleware: [any OperationMiddleware] = [],
        isEmbedded: Bool = false,
        logger: Logger
    ) {
        broker = redis
        workerBroker = redis
        self.redis = redis
        namespace = redis.namespace
        seal = keys.map { OperationSeal($0, namespace: redis.namespace) }
        buffer = buffering.map { EnqueueBuffer($0, logger: logger) { try await redis.enqueue($0, queue: $1) } }
        unserved = UnservedWatch(redis, namespace: redis.namespace, patience: .seconds(5), logger: logger)
        self.middleware = MiddlewareChain(middleware)
        onStart = { if isEmbedded { try await Self.startEmbedded(logger) } }
        onClose = { redis.close() }
    }

    /// Creates a client on a worker's connection, for the bodies that the worker runs. `close` does nothing then.
    package init(worker redis: RedisBroker, seal: (any EnvelopeSeal)?, middleware: MiddlewareChain, logger: Logger) {
        broker = redis
        workerBroker = redis
        self.redis = redis
        namespace = redis.namespace
        self.seal = seal
        self.middleware = middleware
        buffer = nil
        unserved = UnservedWatch(redis, namespace: redis.namespace, patience: .seconds(5), logger: logger)
        onStart = {}
        onClose = {}
    }

    /// Returns this client with more middleware, for the bodies of a worker.
    package func using(_ more: [any OperationMiddleware]) -> SluiceClient {
        var client = self
        client.middleware.all += more
        return client
    }

    /// Starts the embedded server if the configuration asks for it.
    func start() async throws { try await onStart() }

    /// Closes the connection. Enqueued operations stay in Redis; later calls throw.
    ///
    /// A client with a buffer first waits until Redis has stored the buffered operations, at most
    /// `EnqueueBuffering.closeTimeout`. Operations that are left are lost, and the log says how many.
    public func close() async {
        await buffer?.close()
        await onClose()
    }

    /// Waits until Redis has stored all operations of the client's buffer.
    ///
    /// - Parameter limit: longest time to wait; more than 100 years count as 100.
    /// - Returns: the number of operations that are still in the buffer; 0 without a buffer.
    @discardableResult
    public func flush(within limit: Duration = .seconds(30)) async -> Int {
        await buffer?.flush(within: limit.limited) ?? 0
    }
}

extension SluiceClient: Service {
    /// Keeps the client open until a graceful shutdown or a cancel of the task, and then closes it.
    ///
    /// List the client before the services that use it: a `ServiceGroup` shuts down in reverse order.
    ///
    /// - Throws: `OperationsError` with `.unavailable` if the embedded server cannot be started. While Redis is
    ///   away, the client waits for it.
    public func run() async throws {
        try await start()
        try? await gracefulShutdown()
        await close()
    }
}
