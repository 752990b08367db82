import Synchronization

/// The cluster nodes without a connection, shared by all links of a broker so that each outage is logged once.
package final class NodeOutages: Sendable {
    private let nodes = Mutex<Set<String>>([])

    package init() {}

    /// - Returns: false if the outage was known.
    func begin(of node: String) -> Bool { nodes.withLock { $0.insert(node).inserted } }

    /// - Returns: false if there was no outage.
    func end(of node: String) -> Bool { nodes.withLock { $0.remove(node) != nil } }
}
