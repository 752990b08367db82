/// The policy for a new operation while another one of its key is in flight, that is, waiting or executing.
///
/// An operation with a cancel request does not count as in flight: the new operation runs after its end.
public enum DuplicatePolicy: Sendable, Hashable {
    /// Use the operation in flight, or the fresh result.
    case join
    /// Cancel the operation in flight, and start the new one after its end: the latest wins.
    case replace
    /// Add no operation while one is in flight or a finished result is fresh.
    case skip
    /// Run the new operation after the others of its key.
    case enqueue
    /// Replace waiting operations and let an executing one continue. So one runs, and at most one waits: the latest.
    case keepLatest
    /// Replace waiting operations, and start the new one after this time at the earliest, 0 to 100 years. So the last
    /// operation of a burst runs once.
    case debounce(Duration)

    /// The word in commands, JSON and Redis; for `debounce` without the time.
    public var word: String {
        switch self {
        case .join: "join"
        case .replace: "replace"
        case .skip: "skip"
        case .enqueue: "enqueue"
        case .keepLatest: "keepLatest"
        case .debounce: "debounce"
        }
    }
}

/// The answer to `KeyedOperations.run`.
public struct KeyedOperation<Output: Sendable>: Sendable {
    /// The origin of the returned operation.
    public enum Origin: String, Sendable {
        /// No operation was in flight, and this one was added.
        case started
        /// The operation was already in flight.
        case joined
        /// The operation had finished, and its result is fresh.
        case fresh
        /// The operation was added, and the previous one was cancelled.
        case replaced
        /// The operation was added after others of its key.
        case enqueued
        /// No operation was added, because this one is in flight, or has finished and is fresh.
        case skipped
    }

    /// The operation.
    public let operation: ValueOperation<Output>
    /// The origin of the operation.
    public let origin: Origin

    /// The result. See `ValueOperation.value`.
    public var value: Output { get async throws { try await operation.value } }
}
