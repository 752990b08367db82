/// What becomes of an operation while another one of its key is in flight: waiting or executing. An operation that was asked to end is not in the
/// way: the new one runs when it has ended.
public enum DuplicatePolicy: Sendable, Hashable {
    /// The one in flight, or the fresh result, is the answer.
    case join
    /// The one in flight is cancelled, and the new one starts when that has ended: the latest wins.
    case replace
    /// Nothing is added while one is in flight or a finished result is fresh.
    case skip
    /// The new one runs after the others of its key.
    case enqueue
    /// What waits is replaced, what executes goes on: one runs and at most one waits, the latest.
    case keepLatest
    /// What waits is replaced, and the new one starts after this time at the earliest: the last one of a burst runs, once. Zero to 100 years.
    case debounce(Duration)

    /// As commands, JSON and Redis have it; of `debounce` without its time.
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
