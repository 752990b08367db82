import Synchronization

/// The nodes of a cluster to which some link has no connection, for all links of a process's broker: each outage is logged once.
package final class NodeOutages: Sendable {
    private let nodes = Mutex<Set<String>>([])

    package init() {}

    /// - Returns: false if it is known.
    func begin(of node: String) -> Bool { nodes.withLock { $0.insert(node).inserted } }

    /// - Returns: false if there was none.
    func end(of node: String) -> Bool { nodes.withLock { $0.remove(node) != nil } }
}
