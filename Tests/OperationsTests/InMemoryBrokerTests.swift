import Operations
import BrokerModel
import Testing

@Suite(.timeLimit(.minutes(60)))
struct InMemoryBrokerTests {
    @Test("The in-memory broker passes the conformance check", arguments: BrokerConformance.all)
    func conformance(_ check: ConformanceCheck) async throws {
        let clock = ManualClock()
        let broker = InMemoryBroker(time: .manual(clock))
        try await check.run(on: BrokerBench(broker) { clock.advance(by: $0) })
    }
}
