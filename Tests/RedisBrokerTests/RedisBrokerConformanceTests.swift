import Operations
import BrokerModel
import Testing

@Suite(.serialized, .timeLimit(.minutes(60)))
struct RedisBrokerConformanceTests {
    @Test("The Redis broker keeps the rule", arguments: BrokerConformance.all)
    func conformance(_ check: ConformanceCheck) async throws {
        let broker = try await ClockedBroker(queue: "bench", and: [BrokerBench.otherQueue])
        defer { broker.close() }
        try await check.run(on: BrokerBench(broker.redis) { try await broker.advance(by: $0) })
    }
}
