import BrokerModel
import TestSupport
import Testing

/// Checks the rules on three cluster nodes, which refuse scripts that touch a key of another slot.
///
/// The registry of the namespace and its queue may be on different nodes.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ClusterConformanceTests {
    private static let cluster = Task { try TestCluster.start() }

    @Test(
        "The Redis broker keeps the rule on a cluster",
        .enabled(if: LongTests.areOn, "the rules are those of one server; a cluster refuses keys of other slots"),
        arguments: BrokerConformance.all
    )
    func conformance(_ check: ConformanceCheck) async throws {
        let endpoint = try await Self.cluster.value.endpoint
        let broker = try await ClockedBroker(queue: "bench", and: [BrokerBench.otherQueue], endpoint: endpoint)
        defer { broker.close() }
        try await check.run(on: BrokerBench(broker.redis) { try await broker.advance(by: $0) })
    }
}
