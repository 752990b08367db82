import BrokerModel
import TestSupport
import Testing

/// The same rules on three cluster nodes: a script that touched a key of another slot would be refused there. The namespace's registry
/// and its queue are on nodes of their own, as chance has it.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ClusterConformanceTests {
    private static let cluster = Task { try TestCluster.start() }

    @Test(
        "On a cluster, the Redis broker keeps the rule",
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
