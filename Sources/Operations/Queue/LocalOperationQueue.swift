import Foundation

/// A queue that runs operations in this process, like Foundation's `OperationQueue` but for Swift concurrency.
///
/// The ready operation of the highest priority starts first; among equals, the one that was added first. All methods
/// may be called from any thread or task and take effect at once. The cost of adding and starting does not depend on
/// the number of waiting operations.
///
/// After a queue is released, its operations still run to their end. If the queue was suspended or its limit was 0,
/// they are cancelled, because no code could resume them.
public final class LocalOperationQueue: Sendable {
    /// No limit for concurrent operations.
    public static let unlimited = Int.max

    let core: QueueCore

    /// Makes a queue.
    ///
    /// - Parameters:
    ///   - name: a name to display.
    ///   - maxConcurrentOperationCount: how many operations may execute at once: 0 for none, `unlimited` for all. A
    ///     negative number, such as Foundation's `OperationQueue.defaultMaxConcurrentOperationCount` (−1), means the
    ///     default, `SluiceDefaults.slots`.
    ///   - qualityOfService: the quality of service of operations that have none of their own.
    ///   - clock: measures time limits and retry pauses.
    public init(
        name: String = "",
        maxConcurrentOperationCount: Int = SluiceDefaults.slots,
        qualityOfService: QualityOfService = .default,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        core = QueueCore(
            name: name,
            limit: Self.limit(of: maxConcurrentOperationCount),
            quality: Quality(qualityOfService),
            clock: clock
        )
        core.front.withLock { $0.queue = self }
    }

    /// Makes another queue object for a core whose first one was released.
    private init(core: QueueCore) { self.core = core }

    deinit {
        let operations = core.scheduler.withLock { scheduler in
            scheduler.isSuspended || scheduler.limit == 0 ? scheduler.operations() : []
        }
        for operation in operations where !operation.isExecuting { operation.cancel(reason: "its queue was released") }
        let (streams, progressStreams) = core.scheduler.withLock { scheduler in
            defer { (scheduler.streams, scheduler.progressStreams) = ([:], [:]) }
            return (scheduler.streams, scheduler.progressStreams)
        }
        for stream in streams.values { stream.finish() }
        for stream in progressStreams.values { stream.finish() }
    }

    /// The queue of the operation whose body calls this; nil outside of a body, and in an operation that was started by
    /// `start()`.
    public static var current: LocalOperationQueue? {
        guard let core = LocalOperation.current?.core, core !== QueueCore.outside else { return nil }
        return core.front.withLock { front in
            if let queue = front.queue { return queue }
            let queue = LocalOperationQueue(core: core)
            front.queue = queue
            return queue
        }
    }

    /// The name to display.
    public var name: String { core.name }

    /// How many operations may execute at once.
    ///
    /// A lower value does not stop executing operations. With 0 no operation starts, as in a suspended queue. A
    /// negative number, such as Foundation's −1, sets the default, `SluiceDefaults.slots`.
    public var maxConcurrentOperationCount: Int {
        get { core.scheduler.withLock { $0.limit } }
        set {
            let limit = Self.limit(of: newValue)
            core.scheduler.withLock { $0.limit = limit }
            core.launchWanted()
        }
    }

    /// Returns the limit for a count.
    private static func limit(of count: Int) -> Int { count < 0 ? SluiceDefaults.slots : count }

    /// Whether no operation is started. Executing operations continue, and cancelled ones still end.
    public var isSuspended: Bool {
        get { core.scheduler.withLock { $0.isSuspended } }
        set {
            core.scheduler.withLock { $0.isSuspended = newValue }
            core.launchWanted()
        }
    }

    /// The quality of service of operations that have none of their own and have not started.
    public var qualityOfService: QualityOfService {
        get { core.ownQuality.qualityOfService ?? .default }
        set { core.ownQuality = Quality(newValue) }
    }

    /// The number of operations that have not ended.
    public var operationCount: Int { core.scheduler.withLock { $0.count } }

    /// The number of executing operations.
    public var executingCount: Int { core.scheduler.withLock { $0.executing } }

    /// The operations that have not ended, in the order in which they were added. O(n log n).
    public var operations: [LocalOperation] { core.scheduler.withLock { $0.operations() } }

    /// Cancels all operations in the queue, waiting ones first. See `LocalOperation.cancel`.
    ///
    /// - Parameter reason: the text for `cancelReason`.
    public func cancelAllOperations(reason: String = "") {
        var effects = Effects()
        core.scheduler.withLock { $0.cancelAll(reason: reason, &effects) }
        core.perform(effects)
    }

    /// Waits until the queue is empty, without blocking a thread.
    ///
    /// - Throws: `CancellationError` if the waiting task is cancelled. The operations continue.
    public func waitUntilAllOperationsAreFinished() async throws {
        let number = WaiterNumber.next()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { core.register($0, number: number) }
        } onCancel: {
            let waiter = core.scheduler.withLock { $0.idleWaiters.removeValue(forKey: number) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// A stream of all changes of all operations of this queue from now on, in order.
    ///
    /// The stream ends when the queue is released. Unread changes stay in memory, so read the stream or release it.
    public var changes: AsyncStream<LocalOperationChange> {
        let number = WaiterNumber.next()
        let (stream, continuation) = AsyncStream.makeStream(of: LocalOperationChange.self)
        continuation.onTermination = { [weak core] _ in
            // Release the stream outside of the lock: it may hold unread changes.
            let stream = core?.scheduler.withLock { $0.streams.removeValue(forKey: number) }
            _ = stream
        }
        core.scheduler.withLock { $0.streams[number] = continuation }
        return stream
    }
}

extension QueueCore {
    /// Starts executor tasks if operations wait for them.
    func launchWanted() {
        let (launches, quality) = scheduler.withLock { scheduler in
            (scheduler.recruit(), scheduler.sections.active.lanes.first?.quality ?? .standard)
        }
        for _ in 0..<launches { launch(quality) }
    }

    func register(_ waiter: CheckedContinuation<Void, any Error>, number: UInt64) {
        let answer = scheduler.withLock { scheduler -> Result<Void, any Error>? in
            if scheduler.count == 0 { return .success(()) }
            if Task.isCancelled { return .failure(CancellationError()) }
            scheduler.idleWaiters[number] = waiter
            return nil
        }
        if let answer { waiter.resume(with: answer) }
    }
}
