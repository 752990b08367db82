import Operations

/// The queue and the id of an operation.
package struct OperationAddress: Sendable, Hashable {
    package var queue: String
    package var id: OperationID

    package init(queue: String, id: OperationID) {
        self.queue = queue
        self.id = id
    }
}
