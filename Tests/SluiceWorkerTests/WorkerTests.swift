import Logging
import RedisClient
import ServiceLifecycle
import SluiceWorker
import Synchronization
import TestSupport
import Testing

@testable import WorkerRuntime

private struct Sum: DistributedOperation {
    static let name = "sum"
    let numbers: [Int]

    func main(_ context: OperationContext) async throws -> Int { numbers.reduce(0, +) }
}

/// Runs until the group shuts down, and then reports its end.
private struct Bystander: Service {
    let ended: @Sendable () -> Void

    func run() async throws {
        try await gracefulShutdown()
        ended()
    }
}

@Suite("A worker inside a program", .timeLimit(.minutes(60)))
struct WorkerTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func client(_ redis: TestServer = .shared) async throws -> SluiceClient {
        try await SluiceClient.test(redis.endpoint.description, namespace: uniqueNamespace("service"))
    }

    @Test("Client and worker run in a service group beside other services, and a shutdown ends all of them")
    func group() async throws {
        let sluice = try await client()
        let worker = Worker(client: sluice, logger: logger) { $0.register(Sum.self) }
        let ended = Atomic(false)
        let group = ServiceGroup(
            services: [sluice, worker, Bystander { ended.store(true, ordering: .relaxed) }],
            logger: logger
        )
        let running = Task { try await group.run() }
        #expect(try await sluice.enqueue(Sum(numbers: [1, 2, 3])).value == 6)
        // A worker that is late is not ready for a moment.
        try await eventually("the worker is ready") { worker.health.isReady }
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(ended.load(ordering: .relaxed) && !worker.health.isReady)
        await #expect(throws: OperationsError.self) { try await sluice.enqueue(Sum(numbers: [])) }
    }

    /// A service that runs a given body.
    private struct Follower: Service {
        let body: @Sendable () async throws -> Void

        func run() async throws { try await body() }
    }

    /// Stops the worker in each queue, as `sluice workers stop` does. The worker may retire before the last queue.
    private func stop(_ worker: Worker, _ sluice: SluiceClient, queues: [String]) async throws {
        for queue in queues {
            _ = try await sluice.broker.control(.stop, worker: "\(worker.id)", by: "test", queue: queue)
        }
    }

    @Test("An operator's stop ends the worker's work, but the program runs until its group shuts down")
    func operatorStop() async throws {
        let sluice = try await client()
        let queues = ["a", "b", "c"]
        var configuration = WorkerConfiguration(queues: .named(queues.map { QueueShare($0) }))
        // A worker whose drain takes too long does not retire, and stays in the list until its lease has expired.
        configuration.drainTimes.step = patience
        let worker = Worker(client: sluice, configuration: configuration, logger: logger) { $0.register(Sum.self) }
        let hasReturned = Atomic(false)
        let service = Follower {
            try await worker.run()
            hasReturned.store(true, ordering: .relaxed)
        }
        let group = ServiceGroup(services: [sluice, service, Bystander {}], logger: logger)
        let running = Task { try await group.run() }
        for queue in queues { #expect(try await sluice.enqueue(Sum(numbers: [1]), .queue(queue)).value == 1) }
        try await stop(worker, sluice, queues: queues)
        // The worker has retired, and only has to return.
        for queue in queues {
            try await eventually { try await sluice.broker.snapshot(queue: queue, executingRows: 0).workers.isEmpty }
        }
        #expect(worker.isStoppedByOperator && !worker.health.isReady)
        // The client and the bystander still run.
        let later = try await sluice.enqueue(Sum(numbers: [2]), .queue("a"))
        #expect(try await later.state() == .ready)
        let early = hasReturned.load(ordering: .relaxed)
        #expect(!early)
        await group.triggerGracefulShutdown()
        try await running.value
        let late = hasReturned.load(ordering: .relaxed)
        #expect(late)
    }

    @Test(
        "After an operator's stop, run() returns for a worker-only program, a burst, or a stop by the program",
        arguments: ["sole", "burst", "stop"]
    )
    func operatorEnds(_ kind: String) async throws {
        let sluice = try await client()
        var configuration = WorkerConfiguration()
        configuration.endsWhenStopped = kind == "sole"
        // A scheduled operation keeps the burst from ending.
        configuration.burst = kind == "burst" ? .all : .none
        _ = try await sluice.enqueue(Sum(numbers: []), .delay(.seconds(3600)))
        let worker = Worker(client: sluice, configuration: configuration, logger: logger) { $0.register(Sum.self) }
        let running = Task { try await worker.run() }
        #expect(try await sluice.enqueue(Sum(numbers: [1])).value == 1)
        try await stop(worker, sluice, queues: ["default"])
        if kind == "stop" {
            try await eventually { worker.isStoppedByOperator }
            worker.stop()
        }
        try await running.value
        await sluice.close()
    }

    @Test("Waits of a service end at its shutdown, but ended operations can still be read")
    func waitsAtShutdown() async throws {
        let sluice = try await client()
        let worker = Worker(client: sluice, logger: logger) { $0.register(Sum.self) }
        // No worker serves this queue, so only the shutdown ends these waits.
        let unserved = try await sluice.enqueue(Sum(numbers: [1]), .queue("unserved"))
        let group = try await sluice.openGroup("waited-for", .queue("unserved"))
        let outcomes = Guarded<Set<String>>([])
        let note: @Sendable (String) -> Void = { text in outcomes.withLock { _ = $0.insert(text) } }
        let waits: [(String, @Sendable () async throws -> Void)] = [
            ("changes", { for try await _ in unserved.changes { note("saw") } }),
            ("limited", { for try await _ in unserved.changes(timeout: .seconds(3600)) { note("saw, limited") } }),
            ("value", { _ = try await unserved.value }),
            ("map", { _ = try await sluice.map([1], .queue("unserved")) { Sum(numbers: [$0]) } }),
            ("group", { try await group.ended() }),
            ("progress", { for try await _ in group.progressChanges { note("saw progress") } }),
        ]
        let services = waits.map { name, wait in
            Follower {
                do { try await wait() } catch is CancellationError { return note("\(name) cancelled") }
                note("\(name) ended")
            }
        }
        let late = Follower {
            try await gracefulShutdown()
            // Reads are no waits.
            let done = try await sluice.enqueue(Sum(numbers: [3]))
            try await eventually { try await done.state() == .finished }
            if try await done.value == 3 { note("value of what has ended") }
            for try await status in done.changes where status.state == .finished { note("changes of what has ended") }
        }
        let all = ServiceGroup(services: [sluice, worker] + services + [late], logger: logger)
        let running = Task { try await all.run() }
        try await eventually { outcomes.withLock { $0 } == ["saw", "saw, limited", "saw progress"] }
        await all.triggerGracefulShutdown()
        try await running.value
        let expected: Set = [
            "saw", "saw, limited", "saw progress", "changes cancelled", "limited cancelled", "value cancelled",
            "map cancelled",
            "group cancelled", "progress cancelled", "value of what has ended", "changes of what has ended",
        ]
        #expect(outcomes.withLock { $0 } == expected)
    }

    private struct Parent: OperationArguments {
        typealias Output = Int
        static let name = "parent"
        let number: Int
    }

    @Test("A wait in the body of an operation continues while its worker drains", arguments: [false, true])
    func waitInBody(isDefinition: Bool) async throws {
        let sluice = try await client()
        let child = try await sluice.enqueue(Sum(numbers: [4]), .queue("children"))
        let isWaiting = Guarded(false)
        let worker = Worker(client: sluice, configuration: .init(drainTimeout: patience), logger: logger) {
            let body: @Sendable (Parent) async throws -> Int = { parent in
                isWaiting.withLock { $0 = true }
                return try await child.value + parent.number
            }
            if isDefinition {
                $0.register(OperationDefinition("parent") { (parent: Parent) in try await body(parent) })
            } else {
                $0.register(Parent.self) { parent, _ in try await body(parent) }
            }
        }
        let group = ServiceGroup(services: [worker], logger: logger)
        let running = Task { try await group.run() }
        let parent = try await sluice.enqueue(Parent(number: 1))
        // The state "executing" is not enough, because a stopping worker gives back claimed operations that have not
        // begun.
        try await eventually { isWaiting.withLock { $0 } }
        await group.triggerGracefulShutdown()
        try await eventually { !worker.health.isReady }
        var configuration = WorkerConfiguration(queues: .named([QueueShare("children")]))
        configuration.burst = .ready
        try await Worker(client: sluice, configuration: configuration, logger: logger) { $0.register(Sum.self) }.run()
        try await running.value
        #expect(try await parent.value(timeout: patience) == 5)
        await sluice.close()
    }

    @Test("A second run is refused")
    func again() async throws {
        let sluice = try await client()
        let worker = Worker(client: sluice, logger: logger) { $0.register(Sum.self) }
        worker.stop()
        try await worker.run()
        let error = await #expect(throws: WorkerError.self) { try await worker.run() }
        #expect(error?.code == .alreadyRun)
        await sluice.close()
    }

    @Test("An invalid configuration is refused before anything is claimed")
    func configuration() async throws {
        let sluice = try await client()
        let worker = Worker(client: sluice, configuration: .init(slots: 0), logger: logger) { $0.register(Sum.self) }
        let error = await #expect(throws: WorkerError.self) { try await worker.run() }
        #expect(error?.code == .invalidConfiguration)
        await sluice.close()
    }

    @Test("A Redis that may evict operations is refused, unless eviction is allowed")
    func eviction() async throws {
        let redis = try TestServer.start(.init(["maxmemory 100mb", "maxmemory-policy allkeys-lru"]))
        defer { redis.stop() }
        let sluice = try await client(redis)
        let refused = Worker(client: sluice, logger: logger) { $0.register(Sum.self) }
        let error = await #expect(throws: WorkerError.self) { try await refused.run() }
        #expect(error?.code == .unsafeServer && error?.fix == "redis-cli CONFIG SET maxmemory-policy noeviction")

        var configuration = WorkerConfiguration()
        configuration.allowsEviction = true
        let worker = Worker(client: sluice, configuration: configuration, logger: logger) { $0.register(Sum.self) }
        let running = Task { try await worker.run() }
        #expect(try await sluice.enqueue(Sum(numbers: [4])).value == 4)
        worker.stop()
        try await running.value
        await sluice.close()
    }

    @Test("A namespace of another protocol is refused, even if it changed after the client connected")
    func incompatible() async throws {
        let sluice = try await client()
        let key = "{\(sluice.namespace):queues}:protocol"
        try TestServer.shared.ask(RedisCommand("SET", key, "2"))[0].expectSuccess()
        let worker = Worker(client: sluice, logger: logger) { $0.register(Sum.self) }
        let error = await #expect(throws: WorkerError.self) { try await worker.run() }
        #expect(error?.code == .incompatible && error?.fix == "export SLUICE_NAMESPACE=\(sluice.namespace)-p1")
        let refused = await #expect(throws: OperationsError.self) { try await sluice.enqueue(Sum(numbers: [])) }
        #expect(refused?.code == .incompatible)
        await sluice.close()
    }
}
