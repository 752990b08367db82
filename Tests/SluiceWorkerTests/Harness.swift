import Foundation
import Logging
import Synchronization

@testable import BuiltinOperations
@testable import Operations
@testable import SluiceTesting
@testable import SluiceWorker

/// Waits for a condition, with a deadline. Returns whether it came true.
func eventually(_ limit: Duration = .seconds(10), _ condition: () async throws -> Bool) async rethrows -> Bool {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(2))
    }
    return try await condition()
}

/// Keeps what is logged.
final class LogRecorder: Sendable {
    private let lines = Mutex<[String]>([])

    var messages: [String] { lines.withLock { $0 } }

    func logger(_ label: String = "test") -> Logger {
        var logger = Logger(label: label) { _ in Handler(recorder: self) }
        logger.logLevel = .debug
        return logger
    }

    fileprivate func add(_ line: String) { lines.withLock { $0.append(line) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
            recorder.add(
                "\(event.level) \(event.message) " + facts.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            )
        }
    }
}

/// A gate that bodies wait at, and by which a test sees how many have come.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var arrived: [OperationID] = []
        var attempts: [(attempt: Int, delivery: Int)] = []
    }

    private let state = Mutex(State())

    var arrived: [OperationID] { state.withLock { $0.arrived } }
    var attempts: [(attempt: Int, delivery: Int)] { state.withLock { $0.attempts } }
    var isOpen: Bool { state.withLock { $0.isOpen } }
    func open() { state.withLock { $0.isOpen = true } }

    /// True for the first caller only.
    func isFirstPass() -> Bool {
        state.withLock { state in
            defer { state.isOpen = true }
            return !state.isOpen
        }
    }

    /// Waits for the gate to open; deaf to cancels if asked to be.
    func pass(_ context: OperationContext, isDeaf: Bool = false) async throws {
        state.withLock { state in
            state.arrived.append(context.id)
            state.attempts.append((context.attempt, context.delivery))
        }
        while !state.withLock({ $0.isOpen }) {
            if isDeaf {
                await Task.detached { try? await Task.sleep(for: .milliseconds(2)) }.value
            } else {
                try await Task.sleep(for: .milliseconds(2))
            }
        }
    }
}

/// One worker on a broker in memory, with everything that a test asks for.
final class Harness<Connection: Broker>: Sendable {
    let broker: InMemoryBroker
    let worker: WorkerService
    let log = LogRecorder()
    private let running = Mutex<Task<Void, any Error>?>(nil)

    init(
        broker: InMemoryBroker = InMemoryBroker(),
        connection: (InMemoryBroker) -> Connection,
        configuration: WorkerConfiguration = .quick(),
        idleProbe: (@Sendable () async throws -> Bool)? = nil,
        handlers: [OperationHandler] = []
    ) {
        self.broker = broker
        var registry = OperationRegistry()
        for handler in BuiltinOperations.handlers() + handlers { registry.register(handler) }
        worker = WorkerService(
            broker: connection(broker),
            registry: registry,
            configuration: configuration,
            logger: log.logger(),
            discover: { try await broker.queues() },
            idleProbe: idleProbe
        )
    }

    func start() {
        let worker = worker
        running.withLock { $0 = Task { try await worker.run() } }
    }

    /// Stops the worker and waits for its end.
    func stop() async throws {
        worker.stop()
        try await ended()
    }

    func ended() async throws { try await running.withLock { $0 }?.value }

    @discardableResult
    func enqueue(
        _ name: String,
        _ arguments: String = "{}",
        queue: String = "default",
        tracked: Bool = true,
        delay: Int64 = 0,
        retry: RetryPolicy = RetryPolicy(),
        runTimeout: Duration? = nil
    ) async throws -> OperationID {
        try await broker.put(
            name,
            arguments,
            queue: queue,
            tracked: tracked,
            delay: delay,
            retry: retry,
            runTimeout: runTimeout
        )
    }

    func detail(_ id: OperationID, queue: String = "default") async throws -> OperationDetail? {
        try await broker.details([id], queue: queue).first ?? nil
    }

    func state(_ id: OperationID, queue: String = "default") async throws -> OperationState? {
        try await detail(id, queue: queue)?.state
    }

    func reaches(_ state: OperationState, _ id: OperationID, queue: String = "default") async throws -> Bool {
        try await eventually { try await self.state(id, queue: queue) == state }
    }

    func cancel(_ id: OperationID, queue: String = "default") async throws -> CancelOutcome {
        try await broker.cancel([id], request: CancelRequest(reason: "test", by: "tester"), queue: queue)[0]
    }
}

extension Harness where Connection == InMemoryBroker {
    convenience init(
        broker: InMemoryBroker = InMemoryBroker(),
        configuration: WorkerConfiguration = .quick(),
        idleProbe: (@Sendable () async throws -> Bool)? = nil,
        handlers: [OperationHandler] = []
    ) {
        self.init(
            broker: broker,
            connection: { $0 },
            configuration: configuration,
            idleProbe: idleProbe,
            handlers: handlers
        )
    }
}

extension InMemoryBroker {
    @discardableResult
    func put(
        _ name: String,
        _ arguments: String = "{}",
        queue: String = "default",
        tracked: Bool = true,
        delay: Int64 = 0,
        retry: RetryPolicy = RetryPolicy(),
        runTimeout: Duration? = nil
    ) async throws -> OperationID {
        let envelope = OperationEnvelope(
            name: name,
            arguments: Array(arguments.utf8),
            retry: RetryOverrides(retry),
            runTimeout: runTimeout
        )
        let operation = NewOperation(tracked: tracked, delayMilliseconds: delay, envelope: envelope.encoded())
        _ = try await enqueue([operation], queue: queue)
        return operation.id
    }
}

extension WorkerConfiguration {
    /// Short times, for tests.
    static func quick(
        _ queues: String = "default",
        slots: Int = 4,
        lease: Duration = .seconds(3),
        drain: Duration = .seconds(5),
        grace: Duration = .seconds(1),
        burst: Burst = .none
    ) -> WorkerConfiguration {
        let selection = try? QueueSelection(parsing: queues)
        return WorkerConfiguration(
            queues: selection ?? .all,
            slots: slots,
            lease: lease,
            drainTimeout: drain,
            cancelGrace: grace,
            burst: burst
        )
    }
}
