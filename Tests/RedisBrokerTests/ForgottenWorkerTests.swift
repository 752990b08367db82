import Operations
import RedisClient

import TestSupport
import Testing

@testable import RedisBroker
@testable import BrokerModel

/// Redis forgets a worker an hour after its last heartbeat or its sweep, and must refuse its later calls.
@Suite("A forgotten worker", .timeLimit(.minutes(60)))
struct ForgottenWorkerTests {
    @Test("gets no confirmation for its untracked operation if another worker has claimed it")
    func late() async throws {
        let broker = try await ClockedBroker(queue: "bench")
        defer { broker.close() }
        let bench = BrokerBench(broker.redis) { try await broker.advance(by: $0) }
        let (worker, other) = (try bench.worker(), try bench.worker())
        let claimed = try await bench.running(worker, tracked: false)
        try await bench.lapse(allBut: other)
        _ = try await bench.sweepAll()
        let key = "{\(broker.redis.namespace)/bench}:worker:\(worker)"
        #expect(try TestServer.shared.ask(RedisCommand("DEL", key))[0].expectInt() == 1)
        #expect(try await bench.complete(claimed, worker) == .stale)
        #expect(try await bench.snapshot().totals["finished"] == nil)
        let again = try await bench.claimOne(other)
        #expect(try await bench.complete(again, other) == .done(.finished))
    }
}
