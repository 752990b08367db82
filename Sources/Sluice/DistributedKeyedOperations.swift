import Operations

/// Runs at most one operation per key at a time, on the whole cluster: what `KeyedOperations` does in a process.
///
/// ```swift
/// let syncs = sluice.keyed(queue: "sync")
/// let sync = try await syncs.run("account 7", onDuplicate: .replace, Sync(account: 7))
/// let changes = try await sync.value
/// ```
///
/// In flight means waiting or executing. An operation that was asked to end is not joined and does not make others skip. The next operation of its
/// key starts when it has ended.
public struct DistributedKeyedOperations: Sendable {
    private let client: SluiceClient
    private let queue: String
    private let freshness: Duration?

    fileprivate init(client: SluiceClient, queue: String, freshness: Duration?) {
        self.client = client
        self.queue = queue
        self.freshness = freshness
    }

    /// Enqueues an operation, unless one of its key is in flight and the policy says otherwise.
    ///
    /// Atomic: of any number of concurrent callers on any number of machines, one enqueues the operation.
    ///
    /// - Parameters:
    ///   - key: what the operation is about, 1 to 128 bytes without control characters.
    ///   - onDuplicate: what to do if an operation of this key is in flight.
    ///   - operation: its stored properties are the arguments.
    ///   - options: all but queue, delay with `debounce`, and `untracked`.
    /// - Returns: the handle of the operation that was enqueued, or of the one that is there: then `isNew` is false.
    /// - Throws: as `SluiceClient.enqueue`; `OperationsError` with `.refused` if more than 100 operations that wait for the key would have to be
    ///   replaced at once.
    @discardableResult
    public func run<Body: DistributedOperation>(
        _ key: String,
        onDuplicate: DuplicatePolicy = .join,
        _ operation: Body,
        _ options: EnqueueOptions...
    ) async throws -> OperationHandle<Body> {
        let unique = EnqueueOptions.unique(UniqueKey(key), ifExists: onDuplicate, freshFor: freshness)
        return try await client.enqueue(operation, EnqueueOptions(options), .queue(queue), unique)
    }
}

extension SluiceClient {
    /// At most one operation per key at a time in a queue.
    ///
    /// - Parameters:
    ///   - queue: where the operations run. Other queues have keys of their own.
    ///   - freshness: how long `join` and `skip` answer with an operation that has finished: more than zero, at most 100 years; nil = not at all.
    /// - Returns: runs operations by their keys; copy it freely.
    public func keyed(queue: String = Defaults.queue, freshness: Duration? = nil) -> DistributedKeyedOperations {
        DistributedKeyedOperations(client: self, queue: queue, freshness: freshness)
    }
}
