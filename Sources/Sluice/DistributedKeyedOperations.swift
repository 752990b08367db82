import Operations

/// Runs at most one operation per key at a time on the whole cluster, as `KeyedOperations` does in one process.
///
/// ```swift
/// let syncs = sluice.keyed(queue: "sync")
/// let sync = try await syncs.run("account 7", ifExists: .replace, Sync(account: 7))
/// let changes = try await sync.value
/// ```
///
/// An operation is in flight while it waits or executes. An operation with a cancel request is not joined, and does
/// not make others skip. The next operation of its key starts after its end.
public struct DistributedKeyedOperations: Sendable {
    private let client: SluiceClient
    private let queue: String
    private let freshFor: Duration?

    fileprivate init(client: SluiceClient, queue: String, freshFor: Duration?) {
        self.client = client
        self.queue = queue
        self.freshFor = freshFor
    }

    /// Enqueues an operation; if an operation of the key is in flight, the policy decides.
    ///
    /// Atomic: of any number of concurrent callers on any number of machines, one enqueues the operation.
    ///
    /// - Parameters:
    ///   - key: identifies the work, 1 to 128 bytes without control characters.
    ///   - ifExists: the policy if an operation of this key is in flight.
    ///   - operation: the operation; its stored properties are the arguments.
    ///   - options: any options but queue, `untracked` and, with `debounce`, a delay.
    /// - Returns: the handle of the new operation, or of the existing one: then `isNew` is false.
    /// - Throws: as `SluiceClient.enqueue`; `OperationsError` with `.refused` if more than 100 waiting operations of
    ///   the key would have to be replaced at once.
    @discardableResult
    public func run<Body: OperationArguments>(
        _ key: String,
        ifExists: DuplicatePolicy = .join,
        _ operation: Body,
        _ options: EnqueueOptions...
    ) async throws -> OperationHandle<Body> {
        let unique = EnqueueOptions.unique(UniqueKey(key), ifExists: ifExists, freshFor: freshFor)
        return try await client.enqueue(operation, EnqueueOptions(options), .queue(queue), unique)
    }
}

extension SluiceClient {
    /// Returns an object that runs at most one operation per key at a time in a queue.
    ///
    /// - Parameters:
    ///   - queue: the queue of the operations. Each queue has its own keys.
    ///   - freshFor: how long `join` and `skip` return a finished operation instead of a new one: more than zero, at
    ///     most 100 years; nil = not at all.
    /// - Returns: a value that runs operations by key; copy it freely.
    public func keyed(queue: String = SluiceDefaults.queue, freshFor: Duration? = nil) -> DistributedKeyedOperations {
        DistributedKeyedOperations(client: self, queue: queue, freshFor: freshFor)
    }
}
