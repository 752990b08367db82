import Foundation
import RedisClient
import Synchronization

/// Three cluster nodes on loopback ports that share all slots, each with a replica if requested.
package final class TestCluster: Sendable {
    package let nodes: [TestServer]
    /// The replicas, in the initial order of their masters; empty unless requested.
    package let replicas: [TestServer]

    private static let slotCount = 16_384

    private init(nodes: [TestServer], replicas: [TestServer]) {
        self.nodes = nodes
        self.replicas = replicas
    }

    /// Starts the nodes and waits until each one reports a complete cluster.
    /// - Parameters:
    ///   - replicated: whether each node has a replica, which takes over some twelve seconds after the node's death.
    ///   - lines: additional lines of redis.conf for each node.
    package static func start(replicated: Bool = false, _ lines: [String] = []) throws -> TestCluster {
        // A master that a busy machine stops for a few seconds must keep its place: nothing would undo a failover.
        let timeout = "cluster-node-timeout \(replicated ? 10_000 : 60_000)"
        let all = try (0..<(replicated ? 6 : 3)).map { _ in try startNode(lines + [timeout]) }
        let cluster = TestCluster(nodes: Array(all[..<3]), replicas: Array(all[3...]))
        // The epochs differ from the start, so that nodes that meet need not resolve conflicts.
        for (index, node) in all.enumerated() {
            try node.ask(RedisCommand("CLUSTER", "SET-CONFIG-EPOCH", index + 1))[0].expectSuccess()
            if index < 3 { try node.ask(addSlots(slots(of: index)))[0].expectSuccess() }
            try node.ask(RedisCommand("CLUSTER", "MEET", "127.0.0.1", all[0].options.port))[0].expectSuccess()
        }
        try cluster.await("all slots are known to all nodes") { try all.allSatisfy { try cluster.isComplete($0) } }
        for (replica, master) in zip(cluster.replicas, cluster.nodes) {
            let id = try master.ask(RedisCommand("CLUSTER", "MYID"))[0].expectString()
            try replica.ask(RedisCommand("CLUSTER", "REPLICATE", id))[0].expectSuccess()
        }
        try cluster.await("every replica follows its master") {
            try cluster.replicas.allSatisfy { try $0.info("master_link_status") == "up" }
        }
        return cluster
    }

    package func stop() {
        for node in nodes + replicas { node.stop() }
    }

    /// The `redis+cluster://…` endpoint of the first node. A client finds the others.
    package var endpoint: RedisEndpoint {
        RedisEndpoint(address: .cluster([RedisEndpoint.Host("127.0.0.1", port: nodes[0].options.port)]))
    }

    /// The `redis+cluster://…` endpoint of all nodes and replicas.
    package var endpointOfAll: RedisEndpoint {
        RedisEndpoint(
            address: .cluster((nodes + replicas).map { RedisEndpoint.Host("127.0.0.1", port: $0.options.port) })
        )
    }

    /// Returns the slot of a key, as computed by the cluster.
    package func slot(of key: String) throws -> Int {
        try nodes[0].ask(RedisCommand("CLUSTER", "KEYSLOT", key))[0].expectInt()
    }

    /// Returns the node that had a key's slot at the beginning.
    package func node(for key: String) throws -> TestServer {
        let slot = try slot(of: key)
        for index in nodes.indices where Self.slots(of: index).contains(slot) { return nodes[index] }
        throw CommandFailed(description: "no node owns the slot \(slot)")
    }

    // MARK: Moving

    /// Marks a slot as moving on both nodes.
    package func beginMove(slot: Int, from source: TestServer, to target: TestServer) throws {
        try target.ask(RedisCommand("CLUSTER", "SETSLOT", slot, "IMPORTING", try id(source)))[0].expectSuccess()
        try source.ask(RedisCommand("CLUSTER", "SETSLOT", slot, "MIGRATING", try id(target)))[0].expectSuccess()
    }

    /// Moves up to `count` keys of a slot.
    /// - Returns: the number of moved keys.
    @discardableResult
    package func moveKeys(slot: Int, from source: TestServer, to target: TestServer, count: Int) throws -> Int {
        let keys = try source.ask(RedisCommand("CLUSTER", "GETKEYSINSLOT", slot, count))[0].expectArray()
        guard !keys.isEmpty else { return 0 }
        var command = RedisCommand("MIGRATE", "127.0.0.1", target.options.port, "", 0, 5000, "KEYS")
        for key in keys { command.append(try key.expectBytes()) }
        try source.ask(command)[0].expectSuccess()
        return keys.count
    }

    /// Ends a move. From now on, the target owns the slot.
    package func endMove(slot: Int, from source: TestServer, to target: TestServer) throws {
        let id = try id(target)
        for node in [target, source] + nodes where node.isRunning {
            try node.ask(RedisCommand("CLUSTER", "SETSLOT", slot, "NODE", id))[0].expectSuccess()
        }
    }

    /// Moves a slot with all keys.
    package func move(slot: Int, from source: TestServer, to target: TestServer) throws {
        try beginMove(slot: slot, from: source, to: target)
        while try moveKeys(slot: slot, from: source, to: target, count: 100) > 0 {}
        try endMove(slot: slot, from: source, to: target)
    }

    private func id(_ node: TestServer) throws -> String {
        try node.ask(RedisCommand("CLUSTER", "MYID"))[0].expectString()
    }

    // MARK: Starting

    private func await(_ what: String, _ condition: () throws -> Bool) throws {
        guard try comesTrueBlocking(within: .seconds(120), condition) else {
            throw NotInTime(description: "\(what): not within two minutes")
        }
    }

    private func isComplete(_ node: TestServer) throws -> Bool {
        let info = try node.ask(RedisCommand("CLUSTER", "INFO"))[0].expectString()
        return info.contains("cluster_state:ok")
            && info.contains("cluster_known_nodes:\(nodes.count + replicas.count)\r")
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

    /// Starts a node, with another port if another process took the port meanwhile.
    private static func startNode(_ more: [String]) throws -> TestServer {
        var lastError: any Error = CommandFailed(description: "no free port")
        for _ in 0..<5 {
            let port = try freePort()
            let lines = [
                "cluster-enabled yes", "cluster-config-file nodes.conf", "repl-diskless-sync yes",
                "repl-diskless-sync-delay 0", "repl-ping-replica-period 1",
            ]
            do { return try TestServer.start(.init(lines + more, port: port)) } catch { lastError = error }
        }
        throw lastError
    }
}

/// Returns a free loopback port in the range of this test process, and each port once. The port 10000 above it, for the
/// cluster bus, is free as well.
package func freePort() throws -> Int {
    for _ in 0..<1000 {
        let port = Int.random(in: ports)
        guard canBind(port), canBind(port + 10_000) else { continue }
        if givenPorts.withLock({ $0.insert(port).inserted }) { return port }
    }
    throw CommandFailed(description: "no free loopback port found in \(ports)")
}

/// The ports of this process: `SLUICE_TEST_PORTS=20000-22499`.
///
/// Concurrent test processes have separate ranges, so that none takes the port of a server that another process
/// restarts.
private let ports: ClosedRange<Int> = {
    guard let text = ProcessInfo.processInfo.environment["SLUICE_TEST_PORTS"] else { return 20_000...29_999 }
    let bounds = text.split(separator: "-").compactMap { Int($0) }
    guard bounds.count == 2, bounds[0] < bounds[1], bounds[1] < 50_000 else {
        fatalError("SLUICE_TEST_PORTS is a range like 20000-22499, not \(text)")
    }
    return bounds[0]...bounds[1]
}()

/// Two servers that start at the same time would both find a port free.
private let givenPorts = Mutex<Set<Int>>([])

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
