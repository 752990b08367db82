import Logging
import Operations
import RedisClient
import TestSupport
import Testing

@testable import RedisBroker

@Suite("Ageing", .timeLimit(.minutes(60)))
struct AgeingTests {
    private static let queue = "default"
    private let namespace = uniqueNamespace("age")
    private let broker: RedisBroker
    private let worker = WorkerID()

    init() {
        let configuration = RedisBrokerConfiguration.patient(namespace: namespace, testClock: true)
        broker = RedisBroker(TestServer.shared.endpoint, configuration: configuration, logger: Logger(label: "test"))
    }

    @Test("Under a steady stream of veryHigh operations, the first of 1,000 veryLow ones starts after two minutes")
    func bound() async throws {
        defer { broker.close() }
        try setClock(second: 0)
        let beat = Beat(
            worker: worker,
            epoch: 1,
            leaseMilliseconds: 3_600_000,
            intervalMilliseconds: 1_200_000,
            info: []
        )
        _ = try broker.beat(beat, queue: Self.queue)
        _ = try await broker.enqueue(operations(500, .veryLow), queue: Self.queue)
        _ = try await broker.enqueue(operations(500, .veryLow), queue: Self.queue)
        var second = 0
        // More operations arrive than workers run, so a younger veryHigh one always exists.
        while try await turn(second: second) == 0 {
            second += 1
            try #require(second <= 130)
        }
        #expect((120...121).contains(second))
    }

    /// Simulates one second: enqueues urgent operations, claims with ten slots and completes them.
    /// - Returns: the number of veryLow operations that started.
    private func turn(second: Int) async throws -> Int {
        try setClock(second: second)
        _ = try await broker.enqueue(operations(11, .veryHigh), queue: Self.queue)
        let claim = try await broker.claim(ClaimRequest(worker: worker, epoch: 1, capacity: 10), queue: Self.queue)
        #expect(claim.status == .ok)
        #expect(claim.operations.count == 10)
        let completions = claim.operations.map { Completion(fence: $0.fence, id: $0.id, tracked: false) }
        let ended = try await broker.complete(
            completions,
            isRepeat: false,
            worker: worker,
            thenClaim: nil,
            queue: Self.queue
        )
        #expect(ended.outcomes.allSatisfy { $0 == .done(.finished) })
        return claim.operations.count { $0.header.priority == .veryLow }
    }

    private func operations(_ count: Int, _ priority: OperationPriority) -> [NewOperation] {
        let envelope = OperationEnvelope(name: "noop", arguments: []).encoded()
        return (0..<count).map { _ in NewOperation(tracked: false, priority: priority, envelope: envelope) }
    }

    private func setClock(second: Int) throws {
        let key = "{\(namespace)/\(Self.queue)}:clock"
        try TestServer.shared.ask(RedisCommand("SET", key, 1_700_000_000_000 + second * 1_000))[0].expectSuccess()
    }
}
