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

    @Test("A count of what runs that is too high blocks a queue for an interval at most")
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
        // Once in an interval.
        try await clocked.direct.send(RedisCommand("HSET", totals, "executing", 9)).expectSuccess()
        #expect(try redis.beat(beat(worker), queue: Self.queue).room?.left == 0)
        try await clocked.advance(by: .milliseconds(5000))
        let reply = try redis.beat(beat(worker), queue: Self.queue)
        #expect(reply.room?.left == 1 && reply.startable)
    }
}
