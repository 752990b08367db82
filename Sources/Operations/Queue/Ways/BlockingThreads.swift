import Foundation

/// A pool of real threads for bodies that block: file and database calls, C libraries, semaphores. They must not run in Swift's
/// cooperative pool, which has one thread per core and stands still when those wait.
///
/// Threads are started when there is work for them and leave after a while without. Work beyond the limit waits in order.
public final class BlockingThreads: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `condition`.

    /// The pool that is used where none is named.
    public static let shared = BlockingThreads()

    private let condition = NSCondition()
    private let limit: Int
    private let idleSeconds: Double
    private var work: [@Sendable () -> Void] = []
    private var next = 0
    private var threads = 0
    private var idle = 0

    /// - Parameters:
    ///   - limit: the largest number of threads, at least 1.
    ///   - idleTime: how long a thread without work is kept.
    public init(limit: Int = 64, idleTime: Duration = .seconds(10)) {
        precondition(limit >= 1, "a pool needs a thread")
        self.limit = limit
        idleSeconds = idleTime.inSeconds
    }

    /// Runs something on one of the threads and waits for its end without holding one itself.
    ///
    /// `LocalOperation.current` is the caller's there. A cancel of the calling task does not stop it: what blocks can only look for
    /// itself, with `LocalOperation.current?.checkCancellation()`.
    ///
    /// - Parameter body: the work.
    /// - Returns: what it returns.
    /// - Throws: what it throws.
    public func run<Output: Sendable>(_ body: @escaping @Sendable () throws -> Output) async throws -> Output {
        let operation = LocalOperation.current
        return try await withCheckedThrowingContinuation { continuation in
            submit {
                let result = LocalOperation.$inBody.withValue(operation) { Result { try body() } }
                continuation.resume(with: result)
            }
        }
    }

    /// How many threads there are at this moment.
    public var threadCount: Int {
        condition.lock()
        defer { condition.unlock() }
        return threads
    }

    private func submit(_ item: @escaping @Sendable () -> Void) {
        condition.lock()
        defer { condition.unlock() }
        work.append(item)
        guard idle < work.count - next, threads < limit else { return condition.signal() }
        threads += 1
        Thread.detachNewThread { [self] in serve() }
    }

    private func serve() {
        while let item = take() { item() }
    }

    /// The next item; nil when there was none for a while.
    private func take() -> (@Sendable () -> Void)? {
        condition.lock()
        defer { condition.unlock() }
        idle += 1
        defer { idle -= 1 }
        let deadline = Date(timeIntervalSinceNow: idleSeconds)
        while next == work.count {
            guard condition.wait(until: deadline) || next < work.count else {
                threads -= 1
                return nil
            }
        }
        let item = work[next]
        next += 1
        if next == work.count {
            work.removeAll(keepingCapacity: work.capacity < 1024)
            next = 0
        } else if next > 1024, next * 2 > work.count {
            work.removeFirst(next)
            next = 0
        }
        return item
    }
}

extension ValueOperation {
    /// An operation whose body blocks: it runs on a real thread and never in the cooperative pool.
    ///
    /// A cancel cannot interrupt it. The body sees it by `LocalOperation.current?.checkCancellation()`.
    ///
    /// - Parameters:
    ///   - options: how it is to be run.
    ///   - threads: where. The queue's limit counts as well.
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
    ///   - options: how it is to be run.
    ///   - threads: where.
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
