/// How many operations a client keeps in memory while Redis is away, and for how long its calls wait.
///
/// - Every enqueue goes through one line in memory and leaves it in order, once. An enqueue that Redis does not answer within the patience
///   returns with `EnqueueStorage.buffered`; its operations are sent when Redis is back.
/// - All operations are tracked: only a record shows that an operation is stored already. Delays and expiries go on while they wait.
/// - Operations that wait when the process ends are lost. End with `SluiceClient.close()`, which waits for them and logs what is left.
/// - An enqueue that asks for durability is never buffered, and does not wait in the line.
public struct EnqueueBuffering: Sendable, Equatable {
    /// Most operations that wait at a time.
    public var maxOperations: Int
    /// Most bytes of headers and envelopes that wait at a time.
    public var maxBytes: Int
    /// How long an enqueue waits for Redis before it leaves its operations in the buffer, and how long for room in a full one.
    ///
    /// The wait for room begins anew with each operation, and the wait for Redis when all are in: one operation waits at most twice
    /// as long, and many wait on as long as room comes for the next one in time.
    public var patience: Duration
    /// How long `close()` waits for the buffer to become empty.
    public var closeTimeout: Duration

    /// Buffering with every default visible.
    ///
    /// - Parameters:
    ///   - maxOperations: most operations that wait at a time, at least 1.
    ///   - maxBytes: most bytes that wait at a time, at least the 1 MiB that one operation may have.
    ///   - patience: how long an enqueue waits for Redis, and how long each of its operations for room in a full buffer.
    ///   - closeTimeout: how long `close()` waits for the buffer to become empty.
    public init(
        maxOperations: Int = 10_000,
        maxBytes: Int = 16 << 20,
        patience: Duration = .seconds(1),
        closeTimeout: Duration = .seconds(5)
    ) {
        precondition(maxOperations >= 1, "a buffer holds at least one operation")
        precondition(
            maxBytes >= Defaults.operationBytes,
            "a buffer holds at least one operation of \(Defaults.operationBytes) bytes"
        )
        self.maxOperations = maxOperations
        self.maxBytes = maxBytes
        self.patience = patience
        self.closeTimeout = closeTimeout
    }
}

/// Where an enqueued operation is.
public enum EnqueueStorage: Sendable, Equatable {
    /// Redis has it.
    case stored
    /// It waits in this process's memory for Redis, and is lost if the process ends.
    case buffered
    /// It waited, and will never be stored, for this reason.
    case refused(OperationsError)
}
