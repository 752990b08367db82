/// Limits for operations that a client keeps in memory while Redis is away.
///
/// - All enqueues pass through one buffer in memory, in order, each operation once. If Redis does not answer an enqueue
///   within `patience`, the enqueue returns with `EnqueueStorage.buffered`. The client sends the operations when Redis
///   is back.
/// - All operations are tracked, because only a record shows that an operation is stored already. Delays and expiries
///   keep running while operations are buffered.
/// - Buffered operations are lost when the process ends. Call `SluiceClient.close()` at the end: the client waits for
///   them, and logs how many are left.
/// - An enqueue with durability does not use the buffer: its operations are never buffered, and do not wait behind
///   buffered ones.
public struct EnqueueBuffering: Sendable, Equatable {
    /// Maximum number of operations in the buffer, at least 1.
    public var maxOperations: Int
    /// Maximum number of bytes of headers and envelopes in the buffer, at least 1 MiB.
    public var maxBytes: Int
    /// How long an enqueue waits for Redis before it leaves its operations in the buffer, and for room in a full
    /// buffer.
    ///
    /// The wait for room restarts with each operation. The wait for Redis begins when all operations are in the
    /// buffer. An enqueue of one operation therefore waits at most twice this long. An enqueue of many can wait longer,
    /// as long as room for each operation comes in time.
    public var patience: Duration
    /// How long `close()` waits for the buffer to become empty.
    public var closeTimeout: Duration

    /// Creates limits; the signature shows every default.
    ///
    /// - Parameters:
    ///   - maxOperations: maximum number of operations in the buffer, at least 1.
    ///   - maxBytes: maximum number of bytes in the buffer, at least 1 MiB, the limit of one operation.
    ///   - patience: how long an enqueue waits for Redis, and how long each of its operations waits for room in a full
    ///     buffer.
    ///   - closeTimeout: how long `close()` waits for the buffer to become empty.
    public init(
        maxOperations: Int = 10_000,
        maxBytes: Int = 16 << 20,
        patience: Duration = .seconds(1),
        closeTimeout: Duration = .seconds(5)
    ) {
        precondition(maxOperations >= 1, "a buffer holds at least one operation")
        precondition(
            maxBytes >= SluiceDefaults.operationBytes,
            "a buffer holds at least one operation of \(SluiceDefaults.operationBytes) bytes"
        )
        self.maxOperations = maxOperations
        self.maxBytes = maxBytes
        self.patience = patience
        self.closeTimeout = closeTimeout
    }
}

/// Where an enqueued operation is.
public enum EnqueueStorage: Sendable, Equatable {
    /// Redis has stored the operation.
    case stored
    /// The operation waits for Redis in this process's memory, and is lost if the process ends.
    case buffered
    /// The operation was buffered and will never be stored; the error says why.
    case refused(OperationsError)
}
