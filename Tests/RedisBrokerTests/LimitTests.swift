import BrokerModel
import Operations
import RedisClient
import TestSupport
import Testing

@testable import RedisBroker

@Suite("Limits of queues in Redis", .timeLimit(.minutes(60)))
struct LimitTests {
    private static let queue = "limits"

    private func beat(_ worker: WorkerID) -> Beat {
        Beat(worker: worker, epoch: 0, leaseMilliseconds: 15_000, intervalMilliseconds: 5000, info: [])
    }

    @Test("A count of running operations that is too high blocks a queue for at most one interval")
    func recount() async throws {
        let clocked = try await ClockedBroker(queue: Self.queue)
        defer { clocked.close() }
        let (redis, worker) = (clocked.redis, WorkerID())
        _ = try redis.beat(beat(worker), queue: Self.queue)
        _ = try await redis.setLimits([.concurrency(2)], by: "ann", queue: Self.queue)
        let new = (0..<3).map { _ in NewOperation(envelope: OperationEnvelope(name: "n").encoded()) }
        _ = try await redis.enqueue(new, queue: Self.queue)
        let totals = clocked.prefix + "totals"
        try await clocked.direct.send(RedisCommand("HSET", totals, "executing", 2)).expectSuccess()
        let request = ClaimRequest(worker: worker, epoch: 0, capacity: 1)
        #expect(try await redis.claim(request, queue: Self.queue).status == .limited)
        #expect(try redis.beat(beat(worker), queue: Self.queue).room == Room(left: 2, ahead: 1))
        #expect(try await redis.claim(request, queue: Self.queue).operations.count == 1)
        // Each interval corrects the count once.
        try await clocked.direct.send(RedisCommand("HSET", totals, "executing", 9)).expectSuccess()
        #expect(try redis.beat(beat(worker), queue: Self.queue).room?.left == 0)
        try await clocked.advance(by: .milliseconds(5000))
        let reply = try redis.beat(beat(worker), queue: Self.queue)
        #expect(reply.room?.left == 1 && reply.startable)
    }

    @Test("With 1,000 limited keys, another key is refused, but the limits of a known key can be changed or removed")
    func keyCount() async throws {
        let clocked = try await ClockedBroker(queue: Self.queue)
        defer { clocked.close() }
        let redis = clocked.redis
        func set(_ limits: [QueueLimit]) async throws -> QueueLimits {
            try await redis.setLimits(limits, by: "ann", queue: Self.queue)
        }
        for start in stride(from: 0, to: 1000, by: 100) {
            _ = try await set((start..<start + 100).map { .keyConcurrency(1, of: "k\($0)") })
        }
        let error = await #expect(throws: OperationsError.self) { try await set([.keyConcurrency(1, of: "new")]) }
        #expect(error?.code == .refused && error?.message.contains("1000 have, and this call adds 1") == true)
        #expect(try await set([.keyConcurrency(2, of: "k7")]).keys["k7"]?.concurrency == 2)
        #expect(try await set([.keyConcurrency(nil, of: "k7")]).keys["k7"] == nil)
        #expect(try await set([.keyConcurrency(1, of: "new")]).keys["new"]?.concurrency == 1)
    }
}
