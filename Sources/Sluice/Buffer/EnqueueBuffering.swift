/// What a client keeps in memory while Redis is away.
///
/// With it, every enqueue goes through one line, and leaves it in order, once: an enqueue that is not answered within the patience
/// returns with `EnqueueStorage.buffered` and is sent when Redis is back. Because only a record tells that an operation
/// is there already, everything is tracked. Delays and expiries go on while it waits.
///
/// The line is in memory: what waits when the process ends is lost, which `SluiceClient.close()` tells beforehand. An enqueue that asks
/// for durability is never buffered, and does not wait in the line.
public struct EnqueueBuffering: Sendable, Equatable {
    /// Most operations that wait at a time.
    public var operations: Int
    /// Most bytes of headers and envelopes that wait at a time.
    public var bytes: Int
    /// How long an enqueue waits for Redis before it leaves its operations in the buffer, and how long for room in a full one.
    ///
    /// The wait for room begins anew with each operation, and the wait for Redis when all are in: one operation waits at most twice
    /// as long, and many wait on as long as room comes for the next one in time.
    public var patience: Duration
    /// How long `close()` waits for the buffer to become empty.
    public var closing: Duration

    /// Buffering with every default visible.
    ///
    /// - Parameters:
    ///   - operations: most operations that wait at a time, at least 1.
    ///   - bytes: most bytes that wait at a time, at least the 1 MiB that one operation may have.
    ///   - patience: how long an enqueue waits for Redis, and how long each of its operations for room in a full buffer.
    ///   - closing: how long `close()` waits for the buffer to become empty.
    public init(
        operations: Int = 10_000,
        bytes: Int = 16 << 20,
        patience: Duration = .seconds(1),
        closing: Duration = .seconds(5)
    ) {
        precondition(operations >= 1, "a buffer holds at least one operation")
        precondition(
            bytes >= Defaults.operationBytes,
            "a buffer holds at least one operation of \(Defaults.operationBytes) bytes"
        )
        self.operations = operations
        self.bytes = bytes
        self.patience = patience
        self.closing = closing
    }
}

/// Where an enqueued operation is.
public enum EnqueueStorage: Sendable, Equatable {
    /// Redis has it.
    case stored
    /// It waits in this process's memory for Redis; the process's end would be its own.
    case buffered
    /// It waited, and will never be stored, for this reason.
    case refused(OperationsError)
}
