import Logging
import RedisBroker
import RedisClient
import ServiceLifecycle
@_exported import Sluice
import Synchronization
@_exported import WorkerRuntime

/// A worker as a service of your program: it claims operations from Redis and runs them.
///
/// ```swift
/// let sluice = try await SluiceClient.connect(to: "redis://localhost:6379/0")
/// let worker = Worker(client: sluice) { $0.register(Resize.self) }
/// try await ServiceGroup(
///     services: [sluice, worker, server],
///     gracefulShutdownSignals: [.sigterm],
///     logger: logger
/// ).run()
/// ```
///
/// List the client before the worker: a group shuts services down in reverse order.
///
/// - A graceful shutdown stops claims and waits for running operations, at most `WorkerConfiguration.drainTimeout`. The
///   worker then gives back operations that have not ended, and their attempt is not counted.
/// - A cancel of the task gives everything back at once.
/// - `sluice workers stop` ends the work but not the program: the worker drains, `health` says so, and `run()` returns
///   at the shutdown. In a program that is only a worker, `WorkerConfiguration.endsWhenStopped` makes `run()` return at
///   once.
/// - If the process dies, nothing is lost: after the lease, other workers run the operations that it held.
///
/// A worker has its own connections to the client's server. If Redis goes away, the worker waits for it.
public final class Worker: Service {
    /// The source of a worker's operations.
    package enum Source: Sendable {
        /// A server, and the settings of the worker's connections to it.
        case redis(RedisEndpoint, RedisBrokerConfiguration)
        /// A broker that the caller closes.
        case broker(any WorkerBroker & MonitorBroker)
    }

    private let service: WorkerService
    private let watch: ServerWatch?
    /// The check of the server before the start.
    private let first = Mutex<ServerCheck?>(nil)
    /// Why the worker was stopped after its start.
    private let refusal = Mutex<WorkerError?>(nil)
    private let isStarted = Atomic(false)
    private let staysUp: Bool
    /// Ends once the program has asked the worker to end.
    private let ended = AsyncStream<Never>.makeStream()
    private let close: @Sendable () -> Void

    /// The id of this incarnation of the worker, as `sluice workers ls` shows it.
    public var id: WorkerID { service.id }

    /// Whether the worker would claim an operation that is ready now, and why. Readiness checks may ask at any rate.
    public var health: WorkerHealth { service.health() }

    /// True once a stuck operation has stopped the worker under `StuckPolicy.replace`. End the process then, and start
    /// a new one.
    public var needsReplacement: Bool { service.needsReplacement }

    /// True if an operator has stopped the worker; do not start it again.
    package var isStoppedByOperator: Bool { service.isStoppedByOperator }

    /// Creates a worker, which works once `run()` is called.
    ///
    /// - Parameters:
    ///   - client: provides server, namespace and keys. The worker makes its own connections.
    ///   - configuration: queues, slots and time limits; checked by `run()`.
    ///   - logger: gets the log lines of the worker.
    ///   - register: registers the operations that the worker can run. An operation of another name waits for another
    ///     worker.
    public convenience init(
        client: SluiceClient,
        configuration: WorkerConfiguration = WorkerConfiguration(),
        logger: Logger = Logger(label: "sluice.worker"),
        register: (inout OperationRegistry) -> Void
    ) {
        var registry = OperationRegistry()
        register(&registry)
        self.init(
            client.redis.map { .redis($0.endpoint, $0.configuration) } ?? .broker(client.workerBroker),
            configuration: configuration,
            registry: registry,
            seal: client.seal,
            client: client,
            logger: logger
        )
    }

    /// - Parameters:
    ///   - source: the source of the worker's operations.
    ///   - id: the id of this incarnation; never use it a second time.
    ///   - configuration: checked by `run()`.
    ///   - registry: the operations that the worker can run.
    ///   - seal: verifies and decrypts operations; nil = no keys.
    ///   - client: the client with which bodies enqueue if the source is a broker; otherwise the worker makes one on
    ///     its own connection.
    ///   - watchInterval: the time between two checks of Redis's settings.
    ///   - logger: gets the log lines of the worker.
    package init(
        _ source: Source,
        id: WorkerID = WorkerID(),
        configuration: WorkerConfiguration,
        registry: OperationRegistry,
        seal: (any EnvelopeSeal)?,
        client: SluiceClient? = nil,
        watchInterval: Duration = .seconds(60),
        logger: Logger
    ) {
        staysUp = !configuration.endsWhenStopped && configuration.burst == .none
        let middleware = MiddlewareChain((client?.middleware.all ?? []) + registry.middleware)
        let broker: any WorkerBroker & MonitorBroker
        var producer = client?.using(registry.middleware)
        switch source {
        case .broker(let own):
            broker = own
            watch = nil
            close = {}
        case .redis(let endpoint, let settings):
            let redis = RedisBroker(endpoint, configuration: settings.ofWorker, logger: logger)
            broker = redis
            close = { redis.close() }
            producer = SluiceClient(worker: redis, seal: seal, middleware: middleware, logger: logger)
            watch = ServerWatch(
                endpoint: endpoint,
                namespace: settings.namespace,
                timeout: settings.connectTimeout,
                interval: watchInterval,
                allowsEviction: configuration.allowsEviction,
                logger: logger
            )
        }
        service = WorkerService(
            id: id,
            broker: broker,
            registry: registry,
            configuration: configuration,
            seal: seal,
            middleware: middleware,
            logger: logger,
            discover: { try await broker.queues() },
            idleProbe: { try await Self.isIdle(broker, configuration.queues) },
            stored: { id, queue in try await broker.details([id], queue: queue).first??.stored },
            producer: producer
        )
    }

    /// Works until a graceful shutdown, a cancel of the task, `stop()`, or the end of a burst.
    ///
    /// After `sluice workers stop` the worker has ended its work, but `run()` still waits for one of these. A service
    /// that returns would end the other services of its group. With `WorkerConfiguration.endsWhenStopped` or a burst,
    /// `run()` returns at once.
    ///
    /// - Throws: `WorkerError`; an unreachable Redis is no error, the worker waits for it.
    ///   - `.invalidConfiguration` for an invalid setting or registration.
    ///   - `.unsafeServer` if Redis may evict operations (`maxmemory` is set and `maxmemory-policy` is not
    ///     `noeviction`).
    ///   - `.unsupportedServer` if Redis is older than 6.2, or is one node of a cluster that was named alone.
    ///   - `.incompatible` if the namespace has another protocol.
    ///   - `.alreadyRun` the second time.
    public func run() async throws {
        try await work()
        guard isStoppedByOperator, staysUp else { return }
        await cancelWhenGracefulShutdown { for await _ in self.ended.stream {} }
    }

    private func work() async throws {
        guard !isStarted.exchange(true, ordering: .relaxed) else {
            throw WorkerError(.alreadyRun, "a worker can run only once: make another one")
        }
        defer { close() }
        try await examine()
        let watching = Task {
            await watch?.run(since: first.withLock { $0 }) { error in
                refusal.withLock { $0 = error }
                service.stop()
            }
        }
        defer { watching.cancel() }
        try await service.run()
        if let error = refusal.withLock({ $0 }) { throw error }
    }

    /// Begins a graceful shutdown; `run()` returns when it is over.
    public func stop() {
        service.stop()
        ended.continuation.finish()
    }

    /// Gives all operations back at once. `run()` returns within two seconds, even if bodies continue.
    public func stopNow() {
        service.stopNow()
        ended.continuation.finish()
    }

    /// Begins a graceful shutdown of a process that is only this worker; see `WorkerService.stopProcess`.
    package func stopProcess() { service.stopProcess() }

    /// Refuses a server on which operations would get lost. Asks until the server has answered once; a server that does
    /// not answer is not refused.
    ///
    /// - Throws: `WorkerError` with `.unsafeServer`, `.unsupportedServer` or `.incompatible`.
    package func examine() async throws {
        guard let watch, first.withLock({ $0 }) == nil else { return }
        let check = try await watch.examine()
        first.withLock { $0 = check }
    }

    /// True if no operation runs in the worker's queues, on any worker.
    private static func isIdle(_ broker: any MonitorBroker, _ selection: QueueSelection) async throws -> Bool {
        let queues: [String]
        switch selection {
        case .all: queues = try await broker.queues()
        case .named(let shares): queues = shares.map(\.name)
        }
        for queue in queues {
            let snapshot = try await broker.snapshot(queue: queue, executingRows: 0)
            if (snapshot.counts[.executing] ?? 0) > 0 { return false }
        }
        return true
    }
}
