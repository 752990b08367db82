/// Adds events of changes that take several calls, or that are made by the script of another change.
package protocol EventNoting: Sendable {
    /// Adds the event of a change to a queue. Nothing else is changed.
    ///
    /// - Parameter id: the only operation of the change; nil = there is no such operation.
    func noteEvent(_ change: QueueChange, of id: OperationID?, queue: String) async throws
}
