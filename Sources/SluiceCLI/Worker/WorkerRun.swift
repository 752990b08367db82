import BuiltinOperations
import Foundation
import Logging
import Operations
import RedisBroker
import RedisClient
import ServiceLifecycle
import Sluice
import TerminalText
import WorkerRuntime
import SluiceWorker

/// A worker process: connections, registered operations, signals.
struct WorkerRun: Sendable {
    let invocation: Invocation
    let configuration: WorkerConfiguration
    let registry: OperationRegistry
    let logFormat: LogFormat
    let logLevel: Logger.Level
    /// The interval between checks of Redis' settings.
    let watchInterval: Duration
    /// The place for health reports; nil = none.
    let healthTarget: HealthTarget?
    /// The id that a supervisor has chosen for this process; nil = no supervisor.
    let supervised: WorkerID?

    /// Runs until the worker is stopped or its burst is over.
    func run() async throws -> ExitStatus {
        let signals = StopSignals()
        try await tryToConnect()
        let endpoint = try await Connector.endpoint(invocation)
        let worker = worker(endpoint)
        try await worker.examine()
        let status = try await telling({ worker.health }) {
            banner("\(endpoint)", worker.id)
            if supervised != nil { heed(worker) }
            return try await serve(worker, signals)
        }
        guard status == .done else { return status }
        if worker.needsReplacement { return .replaced }
        // Only a supervisor needs this status: for any other status it starts the process again.
        return supervised != nil && worker.isStoppedByOperator ? .stopped : .done
    }

    private func worker(_ endpoint: RedisEndpoint) -> Worker {
        let settings = invocation.settings
        return Worker(
            .redis(
                endpoint,
                RedisBrokerConfiguration(
                    namespace: settings.namespace.content,
                    connectTimeout: settings.connectTimeout.content
                )
            ),
            id: supervised ?? WorkerID(),
            configuration: configuration,
            registry: registry,
            seal: invocation.seal,
            watchInterval: watchInterval,
            logger: logger
        )
    }

    /// Runs several processes until they are stopped or their burst is over.
    func run(processes: Int) async throws -> ExitStatus {
        let signals = StopSignals()
        try await tryToConnect()
        let endpoint = try await Connector.endpoint(invocation)
        _ = try await watch(endpoint).examine()
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
        signals.attach(drain: supervisor.stop, stopNow: supervisor.stop)
        return try await telling(supervisor.health) {
            logger.info("supervising", metadata: ["processes": "\(processes)", "pid": "\(getpid())"])
            return await supervisor.run() ?? signals.status
        }
    }

    /// Runs the body, and publishes the health meanwhile if requested.
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

    /// Drains the worker when its supervisor has ended, since that supervisor can no longer stop it.
    private func heed(_ worker: Worker) {
        ParentWatch.watch {
            logger.warning("the supervisor has ended")
            worker.stopProcess()
        }
    }

    private func broker(_ endpoint: RedisEndpoint) -> RedisBroker {
        let namespace = invocation.settings.namespace.content
        return RedisBroker(
            endpoint,
            configuration: RedisBrokerConfiguration(namespace: namespace, clientName: "sluice-worker"),
            logger: logger
        )
    }

    /// Tries to connect, and warns if Redis cannot be reached. The worker then waits for Redis, which may come up later
    /// when a machine starts. A burst does not wait.
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
            namespace: invocation.settings.namespace.content,
            timeout: invocation.settings.connectTimeout.content,
            interval: watchInterval,
            allowsEviction: configuration.allowsEviction,
            logger: logger
        )
    }

    private func serve(_ worker: Worker, _ signals: StopSignals) async throws -> ExitStatus {
        let console = invocation.console
        let drain = DurationText.short(configuration.drainTimeout)
        signals.attach {
            if logFormat == .text {
                console.note(
                    "draining, up to \(drain); a second Ctrl-C gives everything back now, without counting the attempt"
                )
            }
            worker.stopProcess()
        } stopNow: {
            worker.stopNow()
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: worker, successTerminationBehavior: .gracefullyShutdownGroup),
                    .init(service: signals, successTerminationBehavior: .ignore),
                ],
                logger: Logger(label: "lifecycle") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        try await group.run()
        return signals.status
    }
}

// MARK: - Output

extension WorkerRun {
    private var logger: Logger {
        let console = invocation.console
        let handler = StderrLogHandler(format: logFormat, level: logLevel, style: console.errors) { console.log($0) }
        return Logger(label: "sluice.worker") { _ in handler }
    }

    /// Prints a summary of the worker: as text, or as the first entry of a JSON log.
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
