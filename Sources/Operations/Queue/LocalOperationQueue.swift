import Foundation

/// A queue that runs operations in this process: what Foundation's `OperationQueue` is, for Swift concurrency.
///
/// Of the operations that are ready, the one of the highest priority starts first, and among those the one that was added first.
/// Everything may be called from any thread or task and takes effect at once. Adding and starting cost the same however many operations
/// wait.
///
/// A queue may be released while operations wait in it: they run to their end. Those of a queue that is suspended then, or whose limit is
/// 0, are cancelled, because nobody could ever let them go on.
public final class LocalOperationQueue: Sendable {
    /// As many at once as there are.
    public static let unlimited = Int.max

    let core: QueueCore

    /// - Parameters:
    ///   - name: for people.
    ///   - maxConcurrentOperationCount: how many may execute at once: 0 for none, `unlimited` for all. A negative number, such as
    ///     Foundation's `OperationQueue.defaultMaxConcurrentOperationCount` (−1), means the default, `Defaults.slots`.
    ///   - qualityOfService: of operations that have none of their own.
    ///   - clock: measures time limits and retry pauses.
    public init(
        name: String = "",
        maxConcurrentOperationCount: Int = Defaults.slots,
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

    /// Another front for a core whose first one was released.
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

    /// The queue whose operation the calling code runs in; nil outside, and in an operation that was started by hand.
    public static var current: LocalOperationQueue? {
        guard let core = LocalOperation.current?.core, core !== QueueCore.outside else { return nil }
        return core.front.withLock { front in
            if let queue = front.queue { return queue }
            let queue = LocalOperationQueue(core: core)
            front.queue = queue
            return queue
        }
    }

    /// The name given at the start.
    public var name: String { core.name }

    /// How many operations may execute at once. What executes goes on when it is lowered. 0 starts nothing, like a suspended queue.
    /// Setting a negative number, such as Foundation's −1, sets the default, `Defaults.slots`, which is then read here.
    public var maxConcurrentOperationCount: Int {
        get { core.scheduler.withLock { $0.limit } }
        set {
            let limit = Self.limit(of: newValue)
            core.scheduler.withLock { $0.limit = limit }
            core.launchWanted()
        }
    }

    /// The limit that a count means.
    private static func limit(of count: Int) -> Int { count < 0 ? Defaults.slots : count }

    /// True = no operation is started. What executes goes on; what is cancelled ends all the same.
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

    /// How many operations have been added and have not ended.
    public var operationCount: Int { core.scheduler.withLock { $0.count } }

    /// How many execute.
    public var executingCount: Int { core.scheduler.withLock { $0.executing } }

    /// The operations that have been added and have not ended, in the order in which they were added. O(n log n).
    public var operations: [LocalOperation] { core.scheduler.withLock { $0.operations() } }

    /// Cancels all operations that are in the queue at this moment, those that wait first. See `LocalOperation.cancel`.
    ///
    /// - Parameter reason: for people and for `cancelReason`.
    public func cancelAllOperations(reason: String = "") {
        var effects = Effects()
        core.scheduler.withLock { $0.cancelAll(reason: reason, &effects) }
        core.perform(effects)
    }

    /// Waits until the queue is empty, without holding a thread.
    ///
    /// - Throws: `CancellationError` if the waiting task is cancelled. The operations go on.
    public func waitUntilAllOperationsAreFinished() async throws {
        let number = WaiterNumber.next()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { core.register($0, number: number) }
        } onCancel: {
            let waiter = core.scheduler.withLock { $0.idleWaiters.removeValue(forKey: number) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Every change of every operation of this queue from now on, in the order in which they happen. Ends when the queue is released.
    /// What is not read is kept, so read it, or let the stream go.
    public var changes: AsyncStream<LocalOperationChange> {
        let number = WaiterNumber.next()
        let (stream, continuation) = AsyncStream.makeStream(of: LocalOperationChange.self)
        continuation.onTermination = { [weak core] _ in
            // Let go outside of the lock: it may hold changes that were not read.
            let stream = core?.scheduler.withLock { $0.streams.removeValue(forKey: number) }
            _ = stream
        }
        core.scheduler.withLock { $0.streams[number] = continuation }
        return stream
    }
}

extension QueueCore {
    /// Starts the runners that there is work for.
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
