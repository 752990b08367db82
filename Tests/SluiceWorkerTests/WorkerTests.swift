import Logging
import RedisClient
import ServiceLifecycle
import SluiceWorker
import Synchronization
import TestSupport
import Testing

private struct Sum: DistributedOperation {
    static let name = "sum"
    let numbers: [Int]

    func main(_ context: OperationContext) async throws -> Int { numbers.reduce(0, +) }
}

/// Runs until the group shuts down, and says when it has.
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
        try await SluiceClient.connect(
            to: redis.endpoint.description,
            namespace: uniqueNamespace("service"),
            timeout: patience,
            logger: logger
        )
    }

    @Test("Client and worker are services of a group beside others; a shutdown of the group ends all of them")
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
        #expect(worker.health.isReady)
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(ended.load(ordering: .relaxed) && !worker.health.isReady)
        await #expect(throws: OperationsError.self) { try await sluice.enqueue(Sum(numbers: [])) }
    }

    /// A service with a body of its own.
    private struct Follower: Service {
        let body: @Sendable () async throws -> Void

        func run() async throws { try await body() }
    }

    @Test("An operator's stop ends the work, and not the program: the group goes on until it is shut down")
    func operatorStop() async throws {
        let sluice = try await client()
        let worker = Worker(client: sluice, logger: logger) { $0.register(Sum.self) }
        let group = ServiceGroup(services: [sluice, worker, Bystander {}], logger: logger)
        let running = Task { try await group.run() }
        #expect(try await sluice.enqueue(Sum(numbers: [1])).value == 1)
        #expect(try await sluice.broker.steer(.stop, worker: "\(worker.id)", by: "test", queue: "default"))
        try await eventually { worker.isStoppedByOperator && !worker.health.isReady }
        // The bystander and the client still run.
        let later = try await sluice.enqueue(Sum(numbers: [2]))
        #expect(try await later.state() == .ready)
        await group.triggerGracefulShutdown()
        try await running.value
    }

    @Test(
        "After an operator's stop, a stop of the program itself ends run(), whichever is first",
        arguments: [false, true]
    )
    func stopAfterOperator(early: Bool) async throws {
        let sluice = try await client()
        let worker = Worker(client: sluice, logger: logger) { $0.register(Sum.self) }
        let running = Task { try await worker.run() }
        #expect(try await sluice.enqueue(Sum(numbers: [1])).value == 1)
        #expect(try await sluice.broker.steer(.stop, worker: "\(worker.id)", by: "test", queue: "default"))
        if early { worker.stop() } else { try await eventually { worker.isStoppedByOperator } }
        worker.stop()
        try await running.value
        await sluice.close()
    }

    @Test("Waits of a service end when it is asked to shut down; those of an operation go on while its worker drains")
    func waitsAtShutdown() async throws {
        let sluice = try await client()
        let worker = Worker(client: sluice, logger: logger) { $0.register(Sum.self) }
        // No worker serves this queue: only the shutdown ends these waits.
        let unserved = try await sluice.enqueue(Sum(numbers: [1]), .queue("unserved"))
        let outcomes = Guarded<[String]>([])
        let note: @Sendable (String) -> Void = { text in outcomes.withLock { $0.append(text) } }
        let waits: [(String, @Sendable () async throws -> Void)] = [
            ("changes", { for await _ in unserved.changes { note("saw") } }),
            ("limited", { for try await _ in unserved.changes(timeout: .seconds(3600)) {} }),
            ("value", { _ = try await unserved.value }),
        ]
        let services = waits.map { name, wait in
            Follower {
                do { try await wait() } catch is CancellationError { return note("\(name) cancelled") }
                note("\(name) ended")
            }
        }
        let group = ServiceGroup(services: [sluice, worker] + services, logger: logger)
        let running = Task { try await group.run() }
        try await eventually { outcomes.withLock { $0 } == ["saw"] }
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(outcomes.withLock { $0 } == ["saw", "value cancelled", "limited cancelled", "changes ended"])
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

    @Test("A wrong configuration is refused before anything is claimed")
    func configuration() async throws {
        let sluice = try await client()
        let worker = Worker(client: sluice, configuration: .init(slots: 0), logger: logger) { $0.register(Sum.self) }
        let error = await #expect(throws: WorkerError.self) { try await worker.run() }
        #expect(error?.code == .invalidConfiguration)
        await sluice.close()
    }

    @Test("A Redis that may throw operations away is refused, unless that is allowed")
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

    @Test("A namespace of another protocol is refused, also if it became one after the client had connected")
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
