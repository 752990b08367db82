import BuiltinOperations
import Foundation
import Logging
import Operations
import RedisBroker
import RedisClient
import ServiceLifecycle
import Sluice
import SluiceMonitor
import SluiceWorker
import Synchronization

/// A worker process: its connections, what it can run, its signals.
struct WorkerRun: Sendable {
    let invocation: Invocation
    let configuration: WorkerConfiguration
    let registry: OperationRegistry
    let logFormat: LogFormat
    let logLevel: Logger.Level
    /// Works also where Redis may throw operations away.
    let allowsEviction: Bool
    /// How often the settings of Redis are looked at.
    let watchInterval: Duration
    /// Where the worker tells its health.
    let healthTarget: HealthTarget?
    /// The id that a supervisor has chosen for this process; nil = there is none.
    let supervised: WorkerID?

    /// Works until it is stopped or its burst is over.
    func run() async throws -> ExitStatus {
        let signals = StopSignals()
        let (endpoint, server) = try await prepare()
        let broker = broker(endpoint)
        defer { broker.close() }
        let service = WorkerService(
            id: supervised ?? WorkerID(),
            broker: broker,
            registry: registry,
            configuration: configuration,
            seal: invocation.seal,
            logger: logger,
            discover: { try await broker.queues() },
            idleProbe: { try await isIdle(broker) },
            checkpoint: { id, queue in try await broker.details([id], queue: queue).first??.checkpoint }
        )
        let refused = Mutex<CLIError?>(nil)
        let watching = Task {
            await watch(endpoint).run(since: server) { error in
                refused.withLock { $0 = error }
                service.stop()
            }
        }
        defer { watching.cancel() }
        let status = try await telling({ service.health() }) {
            banner("\(endpoint)", service.id)
            if supervised != nil { heed(service) }
            return try await serve(service, signals)
        }
        if let error = refused.withLock({ $0 }) { throw error }
        return status == .done && service.needsReplacement ? .replaced : status
    }

    /// Works as several processes, until it is stopped or their burst is over.
    func run(processes: Int) async throws -> ExitStatus {
        let signals = StopSignals()
        let (endpoint, _) = try await prepare()
        let broker = broker(endpoint)
        defer { broker.close() }
        let board = try healthTarget.map { _ in try HealthBoard() }
        defer { board?.remove() }
        let supervisor = try Supervisor(
            count: processes,
            configuration: configuration,
            arguments: invocation.arguments,
            broker: broker,
            board: board,
            logger: logger
        )
        signals.attach(drain: supervisor.stop, abandon: supervisor.stop)
        return try await telling(supervisor.health) {
            logger.info("supervising", metadata: ["processes": "\(processes)", "pid": "\(getpid())"])
            return await supervisor.run() ?? signals.status
        }
    }

    /// Tells the health meanwhile, where that is wanted.
    private func telling(
        _ health: @escaping @Sendable () -> WorkerHealth,
        while body: () async throws -> ExitStatus
    ) async throws -> ExitStatus {
        guard let healthTarget else { return try await body() }
        let post = HealthPost(healthTarget, logger: logger, health: health)
        try await post.start()
        let outcome: Result<ExitStatus, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        await post.stop()
        return try outcome.get()
    }

    /// A supervisor that is gone cannot say that all should end.
    private func heed(_ service: WorkerService) {
        Leash.watch {
            logger.warning("the supervisor has ended")
            service.stopProcess()
        }
    }

    /// Reaches Redis, if it is there, and looks whether it is one to work on.
    private func prepare() async throws -> (RedisEndpoint, ServerCheck?) {
        try await tryToConnect()
        let endpoint = try await Connector.endpoint(invocation)
        return (endpoint, try await watch(endpoint).examine())
    }

    private func broker(_ endpoint: RedisEndpoint) -> RedisBroker {
        let namespace = invocation.settings.namespace.content
        return RedisBroker(
            endpoint,
            configuration: RedisBrokerConfiguration(namespace: namespace, clientName: "sluice-worker"),
            logger: logger
        )
    }

    /// Whoever starts a worker wants to know at once that its Redis is not there. It waits for it all the same, as it does when
    /// Redis goes away later: on a start of the whole machine nobody says which comes first. A burst has nothing to wait for.
    private func tryToConnect() async throws {
        do { await (try invocation.connect()).close() } catch {
            let report = ErrorTranslation.report(error, settings: invocation.settings)
            guard report.status == .unreachable, configuration.burst == .none else { throw error }
            logger.warning("waiting for Redis", metadata: ["error": "\(report.message)"])
        }
    }

    private func watch(_ endpoint: RedisEndpoint) -> ServerWatch {
        ServerWatch(
            endpoint: endpoint,
            timeout: invocation.settings.connectTimeout.content,
            interval: watchInterval,
            allowsEviction: allowsEviction,
            logger: logger
        )
    }

    private func serve(_ service: WorkerService, _ signals: StopSignals) async throws -> ExitStatus {
        let console = invocation.console
        let drain = DurationText.short(configuration.drainTimeout)
        signals.attach {
            if logFormat == .text {
                console.note(
                    "draining, up to \(drain); once more (Ctrl-C) gives everything back now, the try is not counted"
                )
            }
            service.stopProcess()
        } abandon: {
            service.abandon()
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: service, successTerminationBehavior: .gracefullyShutdownGroup),
                    .init(service: signals, successTerminationBehavior: .ignore),
                ],
                logger: Logger(label: "lifecycle") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        try await group.run()
        return signals.status
    }

    /// True if nothing runs anywhere in the worker's queues.
    private func isIdle(_ broker: RedisBroker) async throws -> Bool {
        let queues: [String]
        switch configuration.queues {
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

// MARK: - Output

extension WorkerRun {
    private var logger: Logger {
        let console = invocation.console
        let handler = StderrLogHandler(format: logFormat, level: logLevel, style: console.errors) { console.log($0) }
        return Logger(label: "sluice.worker") { _ in handler }
    }

    /// What it is and does; for people in words, in a JSON log as its first entry.
    private func banner(_ endpoint: String, _ id: WorkerID) {
        let namespace = invocation.settings.namespace.content
        let drain = DurationText.short(configuration.drainTimeout)
        let pid = ProcessInfo.processInfo.processIdentifier
        guard logFormat == .text else {
            return logger.notice(
                "worker started",
                metadata: [
                    "worker": "\(id)", "pid": "\(pid)", "redis": "\(endpoint)", "namespace": "\(namespace)",
                    "queues": "\(queues)", "slots": "\(configuration.slots)",
                    "handles": "\(registry.names.joined(separator: ","))",
                ]
            )
        }
        let dot = invocation.console.errors.usesASCII ? " - " : " · "
        let who = configuration.name.map { "\($0) " } ?? ""
        invocation.console.note(
            [
                "worker \(who)\(invocation.console.errors.cutMark)\(id.description.suffix(6)) pid \(pid)",
                "\(endpoint) ns \(namespace)", "queue \(queues)",
            ]
            .joined(separator: dot)
        )
        invocation.console.note(
            ["\(configuration.slots) slots", "handles \(registry.names.joined(separator: ", "))", "drain \(drain)"]
                .joined(separator: dot)
        )
    }

    private var queues: String {
        switch configuration.queues {
        case .all: "*"
        case .named(let shares): shares.map(\.name).joined(separator: ", ")
        }
    }
}
