import Foundation

/// A pool of real threads for bodies that block: file and database calls, C libraries, semaphores.
///
/// Such bodies must not run in Swift's cooperative pool, which has one thread per core. Threads start when bodies wait
/// for one, and end after an idle time. Bodies beyond the limit wait in order.
///
/// A body is *stuck* if it has not ended within the grace after the cancel of its calling task. Another thread replaces
/// that of a stuck body, so that healthy bodies can run. A pool has at most `limit + replacements` threads.
public final class BlockingThreads: @unchecked Sendable {
    // Unchecked: `condition` guards all mutable state, including the fields of `BlockingWork`.

    /// The state of a pool at one moment.
    public struct Status: Sendable, Equatable {
        /// The number of threads, including idle ones.
        public var threads: Int
        /// The number of bodies that wait for a thread.
        public var waiting: Int
        /// The number of threads that stuck bodies hold.
        public var stuck: Int
        /// The most threads of stuck bodies that are replaced.
        public var replacements: Int

        package init(threads: Int, waiting: Int, stuck: Int, replacements: Int) {
            (self.threads, self.waiting) = (threads, waiting)
            (self.stuck, self.replacements) = (stuck, replacements)
        }
    }

    /// The default pool.
    public static let shared = BlockingThreads()

    private let condition = NSCondition()
    private let limit: Int
    private let replacements: Int
    private let grace: Duration
    private let idleSeconds: Double
    private var work = WaitingWork()
    private var threads = 0
    private var idle = 0
    private var stuck = 0

    /// Makes a pool.
    ///
    /// - Parameters:
    ///   - limit: the largest number of threads without those of stuck bodies, at least 1.
    ///   - replacements: the largest number of threads beyond the limit, which replace those of stuck bodies; nil =
    ///     `limit`.
    ///   - grace: how long a body may run after a cancel before it counts as stuck.
    ///   - idleTime: how long a thread without work stays.
    public init(
        limit: Int = 64,
        replacements: Int? = nil,
        grace: Duration = SluiceDefaults.cancelGrace,
        idleTime: Duration = .seconds(10)
    ) {
        precondition(limit >= 1, "limit is \(limit): a pool needs at least 1 thread")
        precondition(replacements ?? 0 >= 0, "replacements must not be negative")
        self.limit = limit
        self.replacements = replacements ?? limit
        self.grace = grace
        idleSeconds = idleTime.inSeconds
    }

    /// Runs a body on one of the threads and suspends until its end.
    ///
    /// `LocalOperation.current` of the body is that of the caller. A cancel of the calling task does not stop a body
    /// that has begun: the body must call `LocalOperation.current?.checkCancellation()`. A body that waits for a thread
    /// does not begin after a cancel.
    ///
    /// - Parameter body: the work.
    /// - Returns: the result of the body.
    /// - Throws: the error of the body; `CancellationError` if the calling task was cancelled before the body began.
    public func run<Output: Sendable>(_ body: @escaping @Sendable () throws -> Output) async throws -> Output {
        try await run(beginsWhenCancelled: false, body)
    }

    /// - Parameter beginsWhenCancelled: whether the body runs even if the calling task was cancelled before it began.
    func run<Output: Sendable>(
        beginsWhenCancelled: Bool,
        _ body: @escaping @Sendable () throws -> Output
    ) async throws -> Output {
        let operation = LocalOperation.current
        let item = BlockingWork(beginsWhenCancelled: beginsWhenCancelled)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                submit(item) { isDropped in
                    guard !isDropped else { return continuation.resume(throwing: CancellationError()) }
                    let result = LocalOperation.$inBody.withValue(operation) { Result { try body() } }
                    continuation.resume(with: result)
                }
            }
        } onCancel: {
            cancel(item)
        }
    }

    /// The current state of the pool.
    public var status: Status {
        locked { Status(threads: threads, waiting: work.count, stuck: stuck, replacements: replacements) }
    }

    /// The current number of threads.
    public var threadCount: Int { status.threads }

    private func locked<Result>(_ body: () -> Result) -> Result {
        condition.lock()
        defer { condition.unlock() }
        return body()
    }

    private var allowed: Int { limit + min(stuck, replacements) }

    // MARK: Adding

    private func submit(_ item: BlockingWork, _ perform: @escaping @Sendable (_ isDropped: Bool) -> Void) {
        let isDropped = locked {
            guard !item.isCancelled || item.beginsWhenCancelled else { return true }
            item.perform = perform
            work.append(item)
            provideThread()
            return false
        }
        if isDropped { perform(true) }
    }

    /// Wakes an idle thread for a waiting body, or starts a thread. The caller holds the lock.
    private func provideThread() {
        guard idle < work.count, threads < allowed else { return condition.signal() }
        threads += 1
        Thread.detachNewThread { [self] in serve() }
    }

    // MARK: Cancel

    private func cancel(_ item: BlockingWork) {
        let dropped = locked { () -> BlockingWork.Perform? in
            item.isCancelled = true
            switch item.phase {
            case .running: watch(item)
            case .waiting where !item.beginsWhenCancelled: return work.drop(item)
            case .new, .waiting, .stuck, .ended: break
            }
            return nil
        }
        dropped?(true)
    }

    /// Counts the body as stuck if it has not ended after the grace. The caller holds the lock.
    private func watch(_ item: BlockingWork) {
        item.timer = Task.detached { [weak self, grace] in
            try await Task.sleep(for: grace.limited)
            self?.graceEnded(item)
        }
    }

    private func graceEnded(_ item: BlockingWork) {
        locked {
            guard item.phase == .running else { return }
            item.phase = .stuck
            stuck += 1
            if work.count > 0 { provideThread() }
        }
    }

    // MARK: Threads

    private func serve() {
        while let (item, perform) = take() {
            perform(false)
            guard end(item) else { return }
        }
    }

    /// Returns the next body; nil if none came within the idle time.
    private func take() -> (BlockingWork, BlockingWork.Perform)? {
        locked {
            idle += 1
            defer { idle -= 1 }
            let deadline = Date(timeIntervalSinceNow: idleSeconds)
            while work.count == 0 {
                guard condition.wait(until: deadline) || work.count > 0 else {
                    threads -= 1
                    return nil
                }
            }
            return work.takeFirst().map { item, perform in
                if item.isCancelled { watch(item) }
                return (item, perform)
            }
        }
    }

    /// - Returns: false if the thread must end because it was replaced.
    private func end(_ item: BlockingWork) -> Bool {
        locked {
            if item.phase == .stuck { stuck -= 1 }
            item.phase = .ended
            item.timer?.cancel()
            item.timer = nil
            guard threads > allowed else { return true }
            threads -= 1
            return false
        }
    }
}

/// A body in a pool. The pool's lock guards its fields.
private final class BlockingWork: @unchecked Sendable {
    typealias Perform = @Sendable (_ isDropped: Bool) -> Void

    enum Phase { case new, waiting, running, stuck, ended }

    let beginsWhenCancelled: Bool
    var phase = Phase.new
    var isCancelled = false
    /// Runs or drops the body, and resumes the caller; nil after the body has left the list of waiting ones.
    var perform: Perform?
    var timer: Task<Void, any Error>?

    init(beginsWhenCancelled: Bool) { self.beginsWhenCancelled = beginsWhenCancelled }
}

/// The bodies that wait for a thread, in order.
private struct WaitingWork {
    /// The number of waiting bodies.
    private(set) var count = 0
    /// The waiting bodies, and taken or dropped ones until they are the majority.
    private var items: [BlockingWork] = []
    private var next = 0

    mutating func append(_ item: BlockingWork) {
        item.phase = .waiting
        items.append(item)
        count += 1
    }

    mutating func takeFirst() -> (BlockingWork, BlockingWork.Perform)? {
        while next < items.count {
            let item = items[next]
            next += 1
            guard item.phase == .waiting, let perform = item.perform else { continue }
            item.phase = .running
            leave(item)
            return (item, perform)
        }
        return nil
    }

    /// - Returns: the closure that resumes the caller.
    mutating func drop(_ item: BlockingWork) -> BlockingWork.Perform? {
        defer {
            item.phase = .ended
            leave(item)
        }
        return item.perform
    }

    private mutating func leave(_ item: BlockingWork) {
        item.perform = nil
        count -= 1
        guard items.count > 2 * count + 1024 || count == 0 else { return }
        items.removeFirst(next)
        items.removeAll { $0.phase != .waiting }
        next = 0
    }
}

extension ValueOperation {
    /// Makes an operation whose body blocks. The body runs on a real thread and never in the cooperative pool.
    ///
    /// A cancel cannot interrupt the body, which must call `LocalOperation.current?.checkCancellation()`. After a
    /// cancel, an operation that waits for a thread does not begin.
    ///
    /// - Parameters:
    ///   - options: the options of the operation.
    ///   - threads: the pool to run in. The queue's limit applies too.
    ///   - body: the work.
    /// - Returns: an operation that is in no queue yet.
    public static func blocking(
        _ options: LocalOperationOptions = LocalOperationOptions(),
        on threads: BlockingThreads = .shared,
        _ body: @escaping @Sendable () throws -> Output
    ) -> ValueOperation {
        ValueOperation(options) { try await threads.run(body) }
    }
}

extension LocalOperationQueue {
    /// Adds an operation whose body blocks. See `ValueOperation.blocking`.
    ///
    /// - Parameters:
    ///   - options: the options of the operation.
    ///   - threads: the pool to run in.
    ///   - body: the work.
    /// - Returns: the operation.
    @discardableResult
    public func addBlocking<Output: Sendable>(
        _ options: LocalOperationOptions = LocalOperationOptions(),
        on threads: BlockingThreads = .shared,
        _ body: @escaping @Sendable () throws -> Output
    ) -> ValueOperation<Output> {
        add(options) { try await threads.run(body) }
    }
}
