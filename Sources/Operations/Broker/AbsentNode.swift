/// A node of a cluster that cannot be reached, and the queues on it.
package struct AbsentNode: Sendable, Equatable {
    /// HOST:PORT.
    package var node: String
    package var queues: [String]
    /// The error of the last attempt to connect.
    package var reason: String

    package init(node: String, queues: [String], reason: String) {
        self.node = node
        self.queues = queues
        self.reason = reason
    }
}

extension OperationsError {
    /// Makes the error for a call if none of its queues can be read.
    package init(nothingLeftOf absent: [AbsentNode]) {
        let nodes = absent.map { "\($0.node) (\($0.reason))" }.joined(separator: ", ")
        self.init(.unavailable, "no queue can be read: the nodes of the cluster that have them do not answer: \(nodes)")
    }
}
