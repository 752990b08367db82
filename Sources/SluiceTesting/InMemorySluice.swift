import BrokerModel
@_exported import class BrokerModel.ManualClock
import Foundation
import Logging
@_exported import Sluice
import WorkerRuntime
@_exported import struct WorkerRuntime.OperationRegistry
@_exported import enum WorkerRuntime.QueueSelection
@_exported import struct WorkerRuntime.QueueShare
@_exported import struct WorkerRuntime.WorkerError

/// Sluice in memory for unit tests: no Redis, a clock that the test moves, and the loops of a real worker.
///
/// ```swift
/// let sluice = InMemorySluice { $0.register(Resize.self) }
/// #expect(try await sluice.run(Resize(path: "a.png", width: 200)) == "a.png@200")
///
/// let handle = try await sluice.client.enqueue(Resize(path: "b.png", width: 100), .delay(.seconds(3600)))
/// #expect(try await sluice.waiting(Resize.self).map(\.width) == [100])
/// sluice.clock.advance(by: .seconds(3600))
/// try await sluice.drain()
/// #expect(try await handle.value == "b.png@100")
/// ```
///
/// States, fences, retries, cancels and limits behave as with Redis: the in-memory broker passes the conformance tests
/// of the Redis scripts. Delays, retry pauses and expiry follow `clock`. Waits inside bodies and run timeouts take real
/// time.
public final class InMemorySluice: Sendable {
    /// The client that enqueues into memory. `SluiceClient.close()` has no effect here.
    public let client: SluiceClient
    /// The server's clock.
    public let clock: ManualClock

    private let broker: InMemoryBroker
    private let connection: any WorkerBroker
    private let registry: OperationRegistry
    private let queues: QueueSelection
    private let slots: Int
    private let logger: Logger

    /// Creates an empty namespace.
    ///
    /// - Parameters:
    ///   - namespace: the client's namespace.
    ///   - queues: the queues that the worker serves, as in `WorkerConfiguration`. Operations in other queues do not
    ///     run, and `run`, `drain()` and `drainAll()` throw an error that names the queue.
    ///   - slots: the most operations that run at the same time, 1 to 10,000.
    ///   - keys: the keys that sign and encrypt operations, and verify and decrypt them; nil = none.
    ///   - middleware: code around each enqueue and each run, the outermost first.
    ///   - faults: calls of workers that get lost; nil = none.
    ///   - clock: the server's clock.
    ///   - logger: receives the log lines of client and workers.
    ///   - register: registers the operations that can run.
    public init(
        namespace: String = SluiceDefaults.namespace,
        queues: QueueSelection = [QueueShare(SluiceDefaults.queue)],
        slots: Int = SluiceDefaults.slots,
        keys: OperationKeys? = nil,
        middleware: [any OperationMiddleware] = [],
        faults: LostCalls? = nil,
        clock: ManualClock = ManualClock(),
        logger: Logger = Logger(label: "sluice.testing") { _ in SwiftLogNoOpLogHandler() },
        register: (inout OperationRegistry) -> Void = { _ in }
    ) {
        let broker = InMemoryBroker(time: .manual(clock))
        var registry = OperationRegistry()
        register(&registry)
        self.broker = broker
        self.registry = registry
        self.queues = queues
        self.slots = slots
        self.clock = clock
        self.logger = logger
        connection =
            faults.map { UnreliableBroker(broker, seed: $0.seed, callLoss: $0.calls, replyLoss: $0.replies) } ?? broker
        client = SluiceClient(
            broker: broker,
            namespace: namespace,
            keys: keys,
            middleware: middleware,
            logger: logger
        )
    }

    // MARK: What waits

    /// Returns the operations of a type that have not started: ready, scheduled, retrying or blocked.
    ///
    /// - Parameters:
    ///   - type: the type; its values are decoded from the stored arguments.
    ///   - queue: the queue's name.
    /// - Returns: tracked and untracked operations: first scheduled, then retrying, ready and blocked ones. Blocked
    ///   operations come newest first, all others in the order in which a worker takes them.
    /// - Throws: the error of decoding, if stored arguments do not fit the type.
    public func waiting<Body: OperationArguments>(
        _ type: Body.Type,
        queue: String = SluiceDefaults.queue
    ) async throws -> [Body] {
        var found: [Body] = []
        for state in [OperationState.scheduled, .retrying, .ready, .blocked] {
            for detail in try await all(state, queue) {
                let envelope = try OperationEnvelope(
                    detail.record.envelope,
                    id: detail.record.header.id,
                    queue: queue,
                    seal: client.seal
                )
                guard envelope.name == Body.name else { continue }
                found.append(try JSONDecoder().decode(Body.self, from: Data(envelope.arguments)))
            }
        }
        return found
    }

    private func all(_ state: OperationState, _ queue: String) async throws -> [OperationDetail] {
        var (found, cursor): ([OperationDetail], String?) = ([], nil)
        repeat {
            let page = try await broker.page(state: state, queue: queue, cursor: cursor, limit: 500)
            found += page.operations
            cursor = page.cursor
        } while cursor != nil
        return found
    }

    // MARK: Running

    /// Enqueues an operation and runs it to its end, with all its attempts. The clock moves over its retry pauses.
    ///
    /// Everything else that is due until then runs as well.
    ///
    /// - Parameters:
    ///   - operation: the operation; its stored properties are the arguments.
    ///   - options: queue, priority, delay and so on, as for an enqueue. An untracked operation has no record, so its
    ///     result cannot be read.
    /// - Returns: the value that its `main` returned.
    /// - Throws: the errors of `OperationHandle.value`: `OperationsError` with `.dead`, `.cancelled` or `.expired`.
    ///   `OperationsError` with `.refused` if its name is not registered, its queue is paused, or it stays blocked.
    ///   `WorkerError` if the number of slots is invalid.
    public func run<Body: OperationArguments>(
        _ operation: Body,
        _ options: EnqueueOptions...
    ) async throws -> Body.Output {
        let handle = try await client.enqueue(operation, EnqueueOptions(options))
        try await runReady()
        while try await !handle.state().isTerminal, try await moveToNextDue() { try await runReady() }
        let state = try await handle.state()
        guard state.isTerminal else {
            guard try await servedQueues().contains(handle.queue) else {
                throw unserved(handle.queue, "operation \(handle.id) waits", id: handle.id)
            }
            let reason =
                state == .blocked
                ? "it waits for other operations or its unique key, or is held: "
                    + "run what it waits for, or call client.release([id])"
                : "queue \(handle.queue) is paused: call client.resume(queue: \"\(handle.queue)\")"
            let why = "operation \(handle.id) is \(state.rawValue) and nothing is due, so it cannot end; \(reason)"
            throw OperationsError(.refused, why, id: handle.id)
        }
        return try await handle.value
    }

    /// Runs operations until none is ready or executing. The clock does not move.
    ///
    /// First, schedules enqueue the operations of all instants that the clock has reached. Operations that bodies
    /// enqueue run as well. Operations in a paused queue stay.
    ///
    /// - Throws: `OperationsError` with `.refused` if an operation's name is not registered, or if a rate lets the
    ///   remaining operations start only later: the message names them, the rate and the time. `WorkerError` if the
    ///   number of slots is invalid. `CancellationError` if the task is cancelled.
    public func drain() async throws {
        try await runReady()
        try await requireServed(dueBy: clock.now)
        for queue in try await servedQueues() {
            guard let wait = try await waitForRate(queue) else { continue }
            let some = wait.count == 1 ? "1 operation waits" : "\(wait.count) operations wait"
            let message =
                "\(some) in queue \(queue) for \(wait.what), and the next one may start in \(wait.milliseconds) ms: "
                + "call clock.advance(by: .milliseconds(\(wait.milliseconds))), or drainAll()"
            throw OperationsError(.refused, message)
        }
    }

    /// The queues of the namespace that the worker serves.
    private func servedQueues() async throws -> [String] {
        let all = try await broker.queues()
        guard case .named(let shares) = queues else { return all }
        return all.filter { queue in shares.contains { $0.name == queue } }
    }

    /// Checks that no operation waits in a queue that the worker does not serve. Operations in a paused queue stay.
    ///
    /// - Parameter end: operations that are due later, in milliseconds of the clock, do not count.
    private func requireServed(dueBy end: Int64) async throws {
        let served = try await servedQueues()
        for queue in try await broker.queues() where !served.contains(queue) {
            let snapshot = try await broker.snapshot(queue: queue, executingRows: 0)
            let isReady = !snapshot.paused && snapshot.counts[.ready] ?? 0 > 0
            let due = try await nextDue(queue)
            guard isReady || due ?? .max <= end else { continue }
            throw unserved(queue, "operations wait")
        }
    }

    private func unserved(_ queue: String, _ what: String, id: OperationID? = nil) -> OperationsError {
        OperationsError(
            .refused,
            "\(what) in queue \(queue), which this worker does not serve: name it in InMemorySluice(queues:), and in "
                + "the WorkerConfiguration of your program",
            id: id
        )
    }

    /// The client with which bodies enqueue.
    private var producer: SluiceClient { client.using(registry.middleware) }

    private func runReady() async throws {
        try await fireSchedules()
        while case let queues = try await queuesWithWork(), !queues.isEmpty {
            try await work(on: .named(queues.map { QueueShare($0) })) {
                while try await !isIdle(queues) { try await Task.sleep(for: .milliseconds(1)) }
            }
        }
    }

    /// Enqueues the operations of schedules for the instants that `clock` has reached.
    private func fireSchedules() async throws {
        let firer = ScheduleFirer(broker: broker, seal: client.seal, middleware: producer.middleware, logger: logger)
        for queue in try await servedQueues() {
            while let next = try await firer.fireDue(queue), next == 0 { try Task.checkCancellation() }
        }
    }

    /// Runs everything, including operations that are scheduled, retrying or held back by a rate. The clock moves to
    /// each next instant.
    ///
    /// Operations in a paused queue stay.
    ///
    /// - Parameter limit: the longest time that the clock may move, by default 366 days; operations due later stay.
    /// - Throws: `OperationsError` with `.refused` if an operation's name is not registered. `WorkerError` if the
    ///   number of slots is invalid. `CancellationError` if the task is cancelled.
    public func drainAll(within limit: Duration = .seconds(86_400 * 366)) async throws {
        let end = clock.now + limit.wholeMilliseconds
        repeat { try await runReady() } while try await moveToNextDue(until: end)
        try await requireServed(dueBy: end)
    }

    /// Runs due operations on a worker while `body` runs, for tests of cancels, progress and waits.
    ///
    /// - Parameters:
    ///   - isolation: the actor that runs the body, by default the caller's.
    ///   - body: called while the worker works on its queues.
    /// - Returns: the result of the body.
    /// - Throws: the error of the body. `WorkerError` if the number of slots is invalid.
    public func withWorker<Result: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await work(on: queues, body)
    }

    private func work<Result>(
        on queues: QueueSelection,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let configuration = WorkerConfiguration(queues: queues, slots: slots, lease: .seconds(1))
        try configuration.validate()
        try registry.validate()
        let worker = WorkerService(
            broker: connection,
            registry: registry,
            configuration: configuration,
            seal: client.seal,
            middleware: producer.middleware,
            logger: logger,
            discover: { [broker] in try await broker.queues() },
            stored: { [broker] id, queue in try await broker.details([id], queue: queue).first??.stored },
            producer: producer
        )
        let running = Task { try await worker.run() }
        do {
            let result = try await body()
            worker.stop()
            try await running.value
            return result
        } catch {
            worker.stopNow()
            _ = await running.result
            throw error
        }
    }

    // MARK: State

    private func queuesWithWork() async throws -> [String] {
        while try await deliverEnds() { try Task.checkCancellation() }
        var found: [String] = []
        for queue in try await servedQueues() where try await hasWork(queue) { found.append(queue) }
        return found
    }

    /// Relays ends to dependents in other queues.
    ///
    /// - Returns: whether an end has reached another queue, where it may have ended other operations.
    private func deliverEnds() async throws -> Bool {
        var hasRelayed = false
        for queue in try await broker.queues() {
            // A call notifies only some of many dependents; sweeps notify the rest.
            while try await broker.sweep(queue: queue).more { try Task.checkCancellation() }
            let relayed = await broker.relayEnds(of: queue)
            if let error = relayed.failure { throw error }
            hasRelayed = hasRelayed || relayed.count > 0
        }
        return hasRelayed
    }

    private func isIdle(_ queues: [String]) async throws -> Bool {
        for queue in queues where try await hasWork(queue) { return false }
        return true
    }

    private func hasWork(_ queue: String) async throws -> Bool {
        let snapshot = try await broker.snapshot(queue: queue, executingRows: 0)
        let (ready, executing) = (snapshot.counts[.ready] ?? 0, snapshot.counts[.executing] ?? 0)
        if snapshot.paused { return executing > 0 }
        if ready > 0 { try await checkNames(queue) }
        if executing > 0 { return true }
        if ready > 0 { return try await waitForRate(queue) == nil }
        guard let due = try await nextDue(queue) else { return false }
        return due <= snapshot.time
    }

    /// The ready operations of a queue, if a rate lets none start now; nil = one may start, or none is ready.
    private func waitForRate(_ queue: String) async throws -> (count: Int, what: String, milliseconds: Int64)? {
        let snapshot = try await broker.snapshot(queue: queue, executingRows: 0)
        let ready = snapshot.counts[.ready] ?? 0
        guard ready > 0, !snapshot.paused, snapshot.counts[.executing] ?? 0 == 0 else { return nil }
        if let milliseconds = snapshot.nextStartMilliseconds, milliseconds > 0 {
            return (ready, "its rate", milliseconds)
        }
        let keys = snapshot.limitKeys.filter { $0.waiting > 0 && $0.nextStartMilliseconds ?? 0 > 0 }
        guard let first = keys.min(by: { ($0.nextStartMilliseconds ?? 0) < ($1.nextStartMilliseconds ?? 0) }),
            try await all(.ready, queue).allSatisfy(\.waitsForKey)
        else { return nil }
        return (ready, "the rate of key \(OperationsError.quoted(first.key))", first.nextStartMilliseconds ?? 0)
    }

    private func checkNames(_ queue: String) async throws {
        let page = try await broker.page(state: .ready, queue: queue, cursor: nil, limit: 500)
        for detail in page.operations {
            guard let name = try? OperationEnvelope(detail.record.envelope).name, registry.names.contains(name) == false
            else {
                continue
            }
            throw OperationsError(
                .refused,
                "operation \(OperationsError.quoted(name)) is not registered: "
                    + "add $0.register(TYPE.self) to InMemorySluice { … }",
                id: detail.record.header.id
            )
        }
    }

    /// The time at which the next operation of a queue is due, in milliseconds of the clock; nil = none is due, or the
    /// queue is paused.
    private func nextDue(_ queue: String) async throws -> Int64? {
        if try await broker.snapshot(queue: queue, executingRows: 0).paused { return nil }
        var earliest: Int64?
        for state in [OperationState.scheduled, .retrying] {
            let first = try await broker.page(state: state, queue: queue, cursor: nil, limit: 1).operations.first
            guard let due = first?.record.header.readyAt else { continue }
            earliest = min(earliest ?? due, due)
        }
        guard let wait = try await waitForRate(queue) else { return earliest }
        return min(earliest ?? .max, clock.now + wait.milliseconds)
    }

    /// Moves the clock to the next due instant.
    ///
    /// - Returns: false if nothing is due until `end`.
    private func moveToNextDue(until end: Int64 = .max) async throws -> Bool {
        var earliest: Int64?
        for queue in try await servedQueues() {
            guard let due = try await nextDue(queue) else { continue }
            earliest = min(earliest ?? due, due)
        }
        guard let earliest, earliest <= end else { return false }
        clock.advance(by: .milliseconds(max(0, earliest - clock.now)))
        return true
    }
}

/// Calls between worker and server that get lost, before or after they took effect, as on a bad network.
public struct LostCalls: Sendable {
    /// The seed: the same one loses the same calls, as long as they come in the same order.
    public var seed: UInt64
    /// The fraction of calls that never arrive, 0 to 1.
    public var calls: Double
    /// The fraction of calls whose answer gets lost, 0 to 1.
    public var replies: Double

    /// Describes a bad network.
    ///
    /// - Parameters:
    ///   - seed: the same seed loses the same calls.
    ///   - calls: the fraction of calls that never arrive, 0 to 1.
    ///   - replies: the fraction of calls whose answer gets lost, 0 to 1.
    public init(seed: UInt64, calls: Double = 0.1, replies: Double = 0.1) {
        self.seed = seed
        self.calls = calls
        self.replies = replies
    }
}

extension SluiceClient {
    /// Creates a client whose operations stay in memory, for code under test that only enqueues. `InMemorySluice` also
    /// runs them.
    ///
    /// - Parameter namespace: the client's namespace.
    /// - Returns: a client of an empty namespace, which needs no Redis.
    public static func inMemory(namespace: String = SluiceDefaults.namespace) -> SluiceClient {
        SluiceClient(broker: InMemoryBroker(), namespace: namespace)
    }
}
