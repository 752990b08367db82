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
/// - A graceful shutdown ends claiming and waits for what runs, at most `WorkerConfiguration.drainTimeout`. Operations that have not ended
///   then are given back to their queue, and the attempt is not counted.
/// - A cancel of the task gives everything back at once.
/// - `sluice workers stop` ends the work and not the program: the worker drains, `health` says so, and `run()` returns at the shutdown. Where
///   the program is the worker, `WorkerConfiguration.endsWhenStopped` makes it return at once.
/// - If the process dies, nothing is lost: after the lease, other workers run the operations that it held.
///
/// A worker has its own connections to the client's server. If Redis goes away, the worker waits for it.
public final class Worker: Service {
    /// Where a worker gets operations from.
    package enum Source: Sendable {
        case redis(RedisEndpoint, namespace: String, connectTimeout: Duration)
        /// A broker that the caller closes.
        case broker(any WorkerBroker & MonitorBroker)
    }

    private let service: WorkerService
    private let watch: ServerWatch?
    /// What the server said before the start.
    private let first = Mutex<ServerCheck?>(nil)
    /// Why the worker was stopped after its start.
    private let refusal = Mutex<WorkerError?>(nil)
    private let isStarted = Atomic(false)
    private let staysUp: Bool
    /// Ends once the program has asked for the end.
    private let ended = AsyncStream<Never>.makeStream()
    private let close: @Sendable () -> Void

    /// This incarnation of the worker, as `sluice workers ls` shows it.
    public var id: WorkerID { service.id }

    /// Whether the worker would claim an operation that is ready now, and why. Suited for readiness checks, however often they ask.
    public var health: WorkerHealth { service.health() }

    /// True once a stuck operation has stopped the worker under `StuckPolicy.replace`. End the process then, and start a fresh one.
    public var needsReplacement: Bool { service.needsReplacement }

    /// True if an operator has stopped the worker: it is not to be started again.
    package var isStoppedByOperator: Bool { service.isStoppedByOperator }

    /// Makes a worker, which works once `run()` is called.
    ///
    /// - Parameters:
    ///   - client: names the server, the namespace and the keys. The worker's connections are its own.
    ///   - configuration: queues, slots, limits of time; checked by `run()`.
    ///   - logger: gets the log lines of the worker.
    ///   - register: registers what the worker can run. An operation of another name waits for another worker.
    public convenience init(
        client: SluiceClient,
        configuration: WorkerConfiguration = WorkerConfiguration(),
        logger: Logger = Logger(label: "sluice.worker"),
        register: (inout OperationRegistry) -> Void
    ) {
        var registry = OperationRegistry()
        register(&registry)
        let source: Source
        if let endpoint = client.endpoint {
            source = .redis(endpoint, namespace: client.namespace, connectTimeout: .seconds(5))
        } else {
            source = .broker(client.workerBroker)
        }
        self.init(
            source,
            configuration: configuration,
            registry: registry,
            seal: client.seal,
            client: client,
            logger: logger
        )
    }

    /// - Parameters:
    ///   - source: where operations come from.
    ///   - id: of this incarnation: never to be used a second time.
    ///   - configuration: checked by `run()`.
    ///   - registry: what can be run here.
    ///   - seal: verifies and decrypts operations; nil = there are no keys.
    ///   - client: what bodies enqueue with, where the source is a broker; else it is one of the worker's own connection.
    ///   - watchInterval: how often the settings of Redis are looked at.
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
        let broker: any WorkerBroker & MonitorBroker
        var producer = client
        switch source {
        case .broker(let own):
            broker = own
            watch = nil
            close = {}
        case .redis(let endpoint, let namespace, let timeout):
            let names = RedisBrokerConfiguration(namespace: namespace, clientName: "sluice-worker")
            let redis = RedisBroker(endpoint, configuration: names, logger: logger)
            broker = redis
            close = { redis.close() }
            producer = SluiceClient(broker: redis, namespace: namespace, seal: seal, endpoint: endpoint, logger: logger)
            watch = ServerWatch(
                endpoint: endpoint,
                namespace: namespace,
                timeout: timeout,
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
            logger: logger,
            discover: { try await broker.queues() },
            idleProbe: { try await Self.isIdle(broker, configuration.queues) },
            stored: { id, queue in try await broker.details([id], queue: queue).first??.stored },
            producer: producer
        )
    }

    /// Works until a graceful shutdown, a cancel of the task, `stop()`, or the end of a burst.
    ///
    /// After `sluice workers stop` it has ended its work, and waits for one of these, since a service that returns ends the others of its
    /// group. It returns if `WorkerConfiguration.endsWhenStopped` is set, or a burst was to end it.
    ///
    /// - Throws: `WorkerError` with `.invalidConfiguration`; with `.unsafeServer` if Redis may throw operations away (`maxmemory` is set and
    ///   `maxmemory-policy` is not `noeviction`); with `.unsupportedServer` if Redis is older than 6.2, or one node of a cluster that was
    ///   named alone; with `.incompatible` if the namespace has another protocol; with `.alreadyRun` the second time. An unreachable Redis is waited for.
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

    /// Gives all operations back now. `run()` returns within two seconds, even if bodies go on.
    public func abandon() {
        service.abandon()
        ended.continuation.finish()
    }

    /// Begins a graceful shutdown of a process that is this worker and nothing else; see `WorkerService.stopProcess`.
    package func stopProcess() { service.stopProcess() }

    /// Refuses a server on which operations would get lost. Asks once, and not at all if the server does not answer.
    ///
    /// - Throws: `WorkerError` with `.unsafeServer`, `.unsupportedServer` or `.incompatible`.
    package func examine() async throws {
        guard let watch, first.withLock({ $0 }) == nil else { return }
        let check = try await watch.examine()
        first.withLock { $0 = check }
    }

    /// True if nothing runs anywhere in the worker's queues.
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
