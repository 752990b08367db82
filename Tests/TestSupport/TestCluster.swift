import Foundation
import RedisClient

/// Three cluster nodes on loopback ports, which share all slots.
package final class TestCluster: Sendable {
    package let nodes: [TestServer]

    private static let slotCount = 16_384

    private init(nodes: [TestServer]) { self.nodes = nodes }

    /// Starts the nodes and waits until each of them says that the cluster is complete.
    package static func start() async throws -> TestCluster {
        let nodes = try (0..<3).map { _ in try startNode() }
        let cluster = TestCluster(nodes: nodes)
        for (index, node) in nodes.enumerated() {
            try node.ask(addSlots(slots(of: index)))[0].expectSuccess()
            try node.ask(RedisCommand("CLUSTER", "MEET", "127.0.0.1", nodes[0].options.port))[0].expectSuccess()
        }
        try await eventually("all slots are known to all nodes") {
            try nodes.allSatisfy { try cluster.isComplete($0) }
        }
        return cluster
    }

    package func stop() {
        for node in nodes { node.stop() }
    }

    /// The node that owns a key's slot, as the cluster itself says.
    package func node(for key: String) throws -> TestServer {
        let slot = try nodes[0].ask(RedisCommand("CLUSTER", "KEYSLOT", key))[0].expectInt()
        for index in nodes.indices where Self.slots(of: index).contains(slot) { return nodes[index] }
        throw CommandFailed(description: "no node owns the slot \(slot)")
    }

    private func isComplete(_ node: TestServer) throws -> Bool {
        let info = try node.ask(RedisCommand("CLUSTER", "INFO"))[0].expectString()
        return info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
            && info.contains("cluster_slots_ok:\(Self.slotCount)")
    }

    private static func slots(of node: Int) -> Range<Int> {
        slotCount * node / 3..<slotCount * (node + 1) / 3
    }

    private static func addSlots(_ slots: Range<Int>) -> RedisCommand {
        var command = RedisCommand("CLUSTER", "ADDSLOTS")
        for slot in slots { command.append(slot) }
        return command
    }

    /// Another process may take a port between the look and the start; then other ports are tried.
    private static func startNode() throws -> TestServer {
        var lastError: any Error = CommandFailed(description: "no free port")
        for _ in 0..<5 {
            let port = try freePort()
            let lines = ["cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 5000"]
            do { return try TestServer.start(.init(lines, port: port)) } catch { lastError = error }
        }
        throw lastError
    }
}

/// A loopback port that nobody listens on, below 50000 and with the one 10000 above it free too (the cluster's bus).
package func freePort() throws -> Int {
    for _ in 0..<100 {
        let port = Int.random(in: 20_000..<30_000)
        if canBind(port), canBind(port + 10_000) { return port }
    }
    throw CommandFailed(description: "no free loopback port found")
}

private func canBind(_ port: Int) -> Bool {
    #if os(Linux)
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}
