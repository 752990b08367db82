/// A node of a cluster to which there is no connection, and queues that it has.
package struct AbsentNode: Sendable, Equatable {
    /// HOST:PORT.
    package var node: String
    package var queues: [String]
    /// Why the last try to connect failed.
    package var reason: String

    package init(node: String, queues: [String], reason: String) {
        self.node = node
        self.queues = queues
        self.reason = reason
    }
}

extension OperationsError {
    /// Of all queues that were asked for, none can be read.
    package init(nothingLeftOf absent: [AbsentNode]) {
        let nodes = absent.map { "\($0.node) (\($0.reason))" }.joined(separator: ", ")
        self.init(.unavailable, "no queue can be read: the nodes of the cluster that have them do not answer: \(nodes)")
    }
}
