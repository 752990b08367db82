extension OperationReference {
    /// Cancels the operation. Redis has stored the cancel when this returns.
    ///
    /// A waiting operation has ended then; the worker of a running one gets the request at once.
    ///
    /// - Parameters:
    ///   - reason: for people; stored with the operation.
    ///   - force: true = without grace; see `SluiceClient.cancel(_:queue:reason:force:)`.
    /// - Returns: the effect of the cancel.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func cancel(reason: String = "", force: Bool = false) async throws -> CancelResult {
        try await client.cancel([id], queue: queue, reason: reason, force: force)[0]
    }

    /// Makes a dead, cancelled or expired operation ready with fresh attempts, and a retrying or scheduled one ready at
    /// once. See `SluiceClient.retry(_:queue:)`.
    ///
    /// - Returns: the result of the retry.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func retry() async throws -> ChangeResult { try await client.retry([id], queue: queue)[0] }

    /// Holds the operation: it is blocked until it is released. See `SluiceClient.hold(_:queue:reason:)`.
    ///
    /// - Parameter reason: for people; stored with the operation.
    /// - Returns: the result of the hold.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func hold(reason: String = "") async throws -> ChangeResult {
        try await client.hold([id], queue: queue, reason: reason)[0]
    }

    /// Releases the held operation. See `SluiceClient.release(_:queue:)`.
    ///
    /// - Returns: the result of the release.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func release() async throws -> ChangeResult { try await client.release([id], queue: queue)[0] }

    /// Removes the operation with result, errors and log, unless it runs.
    ///
    /// - Returns: the result of the removal.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    @discardableResult
    public func remove() async throws -> ChangeResult { try await client.remove([id], queue: queue)[0] }
}

extension OperationReference: Hashable {
    /// Compares id, queue and namespace: all references of one operation are equal.
    public static func == (first: OperationReference, second: OperationReference) -> Bool {
        first.id == second.id && first.queue == second.queue && first.client.namespace == second.client.namespace
    }

    /// Hashes id and queue.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(queue)
    }
}
