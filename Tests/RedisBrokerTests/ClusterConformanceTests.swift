import SluiceTesting
import TestSupport
import Testing

/// The same rules on three cluster nodes: a script that touched a key of another slot would be refused there.
@Suite(.serialized) struct ClusterConformanceTests {
    private static let cluster = Task { try await TestCluster.start() }

    @Test("On a cluster, the Redis broker keeps the rule", arguments: BrokerConformance.all)
    func conformance(_ check: ConformanceCheck) async throws {
        let (namespace, node) = try await Self.place(queue: "bench")
        let broker = try await ClockedBroker(queue: "bench", namespace: namespace, endpoint: node.endpoint)
        defer { broker.close() }
        try await check.run(on: BrokerBench(broker.redis) { try await broker.advance(by: $0) })
    }

    /// A namespace whose registry and queue lie on the same node: the broker of one connection follows no redirection.
    private static func place(queue: String) async throws -> (namespace: String, node: TestServer) {
        let cluster = try await cluster.value
        while true {
            let namespace = uniqueNamespace("cluster")
            let node = try cluster.node(for: "{\(namespace)/\(queue)}:meta")
            if try cluster.node(for: "\(namespace):queues") === node { return (namespace, node) }
        }
    }
}
