/// What `KeyedOperations.run` does while another operation of the same key is in flight.
public enum DuplicatePolicy: String, Sendable, Codable, CaseIterable {
    /// Return the operation in flight, or the fresh result.
    case join
    /// Cancel the operation in flight, and start the new one when that has ended.
    case replace
    /// Add nothing while an operation is in flight or a finished result is fresh.
    case skip
    /// Run the new operation after the others of its key.
    case enqueue
}

/// The answer to `KeyedOperations.run`.
public struct KeyedOperation<Output: Sendable>: Sendable {
    /// Where the returned operation comes from.
    public enum Origin: String, Sendable {
        /// No operation was in flight, and this one was added.
        case started
        /// It was in flight.
        case joined
        /// It had finished, and its result is fresh.
        case fresh
        /// It was added, and the former one was cancelled.
        case replaced
        /// It was added after others of its key.
        case enqueued
        /// No operation was added because this one is in flight, or finished and fresh.
        case skipped
    }

    /// The operation.
    public let operation: ValueOperation<Output>
    /// Where the operation comes from.
    public let origin: Origin

    /// The result. See `ValueOperation.value`.
    public var value: Output { get async throws { try await operation.value } }
}
