/// What happens when an operation is asked for while another one of the same key is in flight.
public enum DuplicatePolicy: String, Sendable, Codable, CaseIterable {
    /// Whoever asks gets the one in flight, or the fresh result.
    case join
    /// The one in flight is cancelled; the latest wins, and starts when the former has ended.
    case replace
    /// Nothing happens while one is in flight, or while a finished result is fresh.
    case skip
    /// It runs after the others of its key, one after the other.
    case enqueue
}

/// The answer to `KeyedOperations.run`.
public struct KeyedOperation<Output: Sendable>: Sendable {
    /// How the operation was come by.
    public enum Origin: String, Sendable {
        /// There was none; this one was added.
        case started
        /// It was in flight already.
        case joined
        /// It had finished, and its result is still fresh.
        case fresh
        /// This one was added; the former was cancelled.
        case replaced
        /// This one was added, behind others of its key.
        case enqueued
        /// Nothing was added, because of this one: in flight, or finished and fresh.
        case skipped
    }

    /// The operation.
    public let operation: ValueOperation<Output>
    /// How it was come by.
    public let origin: Origin

    /// The result. See `ValueOperation.value`.
    public var value: Output { get async throws { try await operation.value } }
}
