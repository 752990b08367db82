import Foundation
import Logging
import Synchronization
import TestSupport

@testable import BuiltinOperations
@testable import Operations
@testable import BrokerModel
@testable import WorkerRuntime

/// Records log messages.
final class LogRecorder: Sendable {
    private let lines = Mutex<[String]>([])

    var messages: [String] {
        let messages = lines.withLock { $0 }
        Seen.note(messages.joined(separator: "\n"))
        return messages
    }

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

/// A gate at which bodies wait. A test sees which operations have arrived.
final class Gate: Sendable {
    private let latch = Latch()
    private let passes = Mutex<[(id: OperationID, attempt: Int, delivery: Int)]>([])

    var arrived: [OperationID] {
        let ids = passes.withLock { $0.map(\.id) }
        Seen.note("at the gate: \(ids)")
        return ids
    }
    var attempts: [(attempt: Int, delivery: Int)] { passes.withLock { $0.map { ($0.attempt, $0.delivery) } } }
    var isOpen: Bool { latch.isOpen }
    func open() { latch.open() }

    /// Waits until the gate opens. With `isDeaf` the wait ignores cancels; otherwise a cancel throws
    /// `CancellationError`.
    func pass(_ context: OperationContext, isDeaf: Bool = false) async throws {
        passes.withLock { $0.append((context.id, context.attempt, context.delivery)) }
        guard await latch.wait(isDeaf: isDeaf) else { throw CancellationError() }
    }
}

/// One worker on an in-memory broker, with helpers for tests.
final class Harness<Connection: WorkerBroker>: Sendable {
    let broker: InMemoryBroker
    let worker: WorkerService
    let log = LogRecorder()
    private let running = Mutex<Task<Void, any Error>?>(nil)

    init(
        broker: InMemoryBroker = InMemoryBroker(),
        connection: (InMemoryBroker) -> Connection,
        configuration: WorkerConfiguration = .quick(),
        idleProbe: (@Sendable () async throws -> Bool)? = nil,
        handlers: [OperationHandler] = [],
        register: (inout OperationRegistry) -> Void = { _ in }
    ) {
        self.broker = broker
        var registry = OperationRegistry()
        for handler in BuiltinOperations.handlers() + handlers { registry.register(handler) }
        register(&registry)
        worker = WorkerService(
            broker: connection(broker),
            registry: registry,
            configuration: configuration,
            middleware: MiddlewareChain(registry.middleware),
            logger: log.logger(),
            discover: { try await broker.queues() },
            idleProbe: idleProbe,
            stored: { id, queue in try await broker.details([id], queue: queue).first??.stored },
            // On a busy machine all threads may look blocked. That must not end the process of all tests.
            exitNow: { [log] status in log.logger().error("the worker would end its process with \(status)") }
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

    func detail(_ id: OperationID, queue: String = "default") async throws -> OperationDetail? {
        let detail = try await broker.details([id], queue: queue).first ?? nil
        Seen.note("\(id): \(detail.map { "\($0.state), \($0.record)" } ?? "no record")")
        return detail
    }

    func state(_ id: OperationID, queue: String = "default") async throws -> OperationState? {
        try await detail(id, queue: queue)?.state
    }

    func reaches(_ state: OperationState, _ id: OperationID, queue: String = "default") async throws -> Bool {
        try await comesTrue { try await self.state(id, queue: queue) == state }
    }

    /// Returns the result as text.
    func result(_ id: OperationID) async throws -> String? {
        try await detail(id)?.result.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the last error.
    func error(_ id: OperationID) async throws -> OperationFailure? {
        let bytes = try await detail(id)?.errors.last?.error ?? []
        return try? JSONDecoder().decode(OperationFailure.self, from: Data(bytes))
    }

    /// Returns the lines of the log.
    func lines(_ id: OperationID) async throws -> [String] {
        try await broker.log(id, queue: "default", from: 0, limit: 1000).lines.map {
            String(decoding: $0.text, as: UTF8.self)
        }
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
        handlers: [OperationHandler] = [],
        register: (inout OperationRegistry) -> Void = { _ in }
    ) {
        self.init(
            broker: broker,
            connection: { $0 },
            configuration: configuration,
            idleProbe: idleProbe,
            handlers: handlers,
            register: register
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
    /// Returns a configuration for tests.
    static func quick(
        _ queues: String = "default",
        slots: Int = 4,
        lease: Duration = .seconds(30),
        drain: Duration = .seconds(60),
        drainTimes: DrainTimes = .patient,
        grace: Duration = .seconds(30),
        burst: Burst = .none
    ) -> WorkerConfiguration {
        let selection = try? QueueSelection(parsing: queues)
        var configuration = WorkerConfiguration(
            queues: selection ?? .all,
            slots: slots,
            lease: lease,
            drainTimeout: drain,
            cancelGrace: grace,
            burst: burst
        )
        configuration.drainTimes = drainTimes
        return configuration
    }
}

extension DrainTimes {
    /// So long that a machine that is blocked for seconds changes nothing. Bodies that ignore a cancel are given back
    /// as soon as in production.
    static let patient = DrainTimes(
        step: .seconds(60),
        flush: .seconds(60),
        stopNowFlush: .seconds(60),
        stopNowStep: .seconds(60)
    )
}

/// Helpers for tests of the local queue alone: add claimed operations, and take started ones.
extension LocalQueue {
    /// Starts all operations that may start, and returns them.
    mutating func runAll(_ now: Instant) -> [HeldOperation] {
        let mayBorrow = somethingMayBorrow()
        while useSlot(now, mayBorrow) != nil {}
        return takeLine()
    }

    /// Starts one operation and returns it. Returns nil if none may start.
    mutating func runNext(_ now: Instant) -> HeldOperation? {
        guard case .start = useSlot(now, somethingMayBorrow()) else { return nil }
        return takeLine().first
    }

    /// Returns the operations that have a slot and no executor task.
    mutating func takeLine() -> [HeldOperation] {
        var operations: [HeldOperation] = []
        while let operation = line.popForTask(mayGoOn: true) { operations.append(operation) }
        return operations
    }

    mutating func take(_ operations: [ClaimedOperation], _ index: Int, context: QueueContext) {
        take(hold(operations, index, context), index)
    }

    mutating func accept(
        _ claim: Claim,
        _ index: Int,
        of exchange: Exchange? = nil,
        context: QueueContext,
        _ now: Instant
    ) {
        accept(claim, index, of: exchange, hold(claim.operations, index, context), now)
    }

    mutating func accept(
        _ answer: WakeUpAnswer,
        _ index: Int,
        of asked: WakeUpClaim,
        context: QueueContext,
        _ now: Instant
    )
        -> Bool
    {
        accept(answer, index, of: asked, hold(answer.claim?.operations ?? [], index, context), now)
    }

    mutating func reconcile(_ answer: Reconciliation, epoch: Int, _ index: Int, context: QueueContext)
        -> [HeldOperation]
    {
        reconcile(answer, epoch: epoch, index, found: hold(answer.found, index, context))
    }

    private func hold(_ claimed: [ClaimedOperation], _ index: Int, _ context: QueueContext) -> [HeldOperation] {
        claimed.map { HeldOperation($0, queue: index, context: context) }
    }
}

extension Lease {
    /// Gives a lease until `end`, as to a worker that was never without one.
    mutating func hold(until end: Instant) {
        _ = renew(until: end, counted: 0, isExchanging: false, mayOwnMore: false, end)
    }
}

extension Supply {
    /// Notes a claim that found nothing.
    mutating func runDry() { learn(Claim(status: .ok), wokenMeanwhile: false, expectsMore: false, .now) }
}
