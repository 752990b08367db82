import Foundation
import Synchronization

/// One unit of work for a `LocalOperationQueue`, like Foundation's `Operation` but for Swift concurrency.
///
/// An operation runs once, in a queue or by `start()`, and ends in exactly one of the states `finished`, `dead` (its
/// body threw) and `cancelled`. Make operations as `ValueOperation`, which has the type of the result; this class is
/// its base. All methods may be called from any thread or task and take effect at once.
///
/// A queue keeps its waiting operations alive. If an operation is released without having been in a queue, it counts as
/// cancelled for its dependents.
public class LocalOperation: @unchecked Sendable {
    // Unchecked: `home` changes only once, atomically. The lock of the home guards all other fields.

    @TaskLocal static var inBody: LocalOperation?

    /// The operation whose body calls this; nil outside of a body. Also works on the thread of a blocking body.
    public static var current: LocalOperation? { inBody }

    /// The queue whose lock guards this operation; `QueueCore.outside` before it is added to a queue.
    private let home: Atomic<Unmanaged<QueueCore>>

    unowned(unsafe) var next: LocalOperation?
    unowned(unsafe) var previous: LocalOperation?
    /// The operation's place in the order of the queue.
    var sequence: UInt64 = 0
    var section: UInt32 = 0
    /// The index in the lane's heap; −1 = in a list.
    var heapIndex: Int32 = -1
    /// The number of dependencies that the operation waits for.
    var pending: Int32 = 0
    var attempt: Int32 = 0
    var guardedState = OperationState.ready
    var lane: UInt8
    var quality: Quality
    var flags: Flags = []
    /// Whether the operation was added to the queue that is its home. Never changes back, so the executor task reads it
    /// without the lock.
    var isQueued = false
    /// Read by the executor task before the body, without the lock.
    let hasRunTimeout: Bool
    var links: DependencyLinks?
    var extras: OperationExtras?
    var executorTask: ExecutorTask?

    struct Flags: OptionSet {
        let rawValue: UInt8
        static let cancelRequested = Flags(rawValue: 2)
        /// The time limit has passed, and the task was cancelled.
        static let overdue = Flags(rawValue: 4)
        /// The operation has ended, but its body still runs.
        static let stuck = Flags(rawValue: 8)
    }

    init(options: LocalOperationOptions, home: QueueCore) {
        self.home = Atomic(home === QueueCore.outside ? .passUnretained(home) : .passRetained(home))
        lane = UInt8(options.priority.lane)
        quality = Quality(options.qualityOfService)
        hasRunTimeout = options.runTimeout != nil
        if options.needsExtras { extras = OperationExtras(options) }
    }

    /// Makes an operation with all defaults, for a queue.
    init(home: QueueCore) {
        self.home = Atomic(.passRetained(home))
        lane = UInt8(OperationPriority.normal.lane)
        quality = .inherited
        hasRunTimeout = false
    }

    deinit {
        let core = home.load(ordering: .relaxed)
        if let links, !guardedState.isTerminal { Self.released(links) }
        if core.toOpaque() != Unmanaged.passUnretained(QueueCore.outside).toOpaque() { core.release() }
    }

    /// Notifies the dependents of an operation that is released without having run.
    private static func released(_ links: DependencyLinks) {
        var waiting = links.dependents
        links.dependents = []
        while var next = waiting.popLast() {
            next.operation.dependencyEnded(next.edge, as: .cancelled)
            // `next.operation` is the last reference, so the operation is released now. Take its dependents first: a
            // long chain must not be released by recursion.
            guard isKnownUniquelyReferenced(&next.operation), let links = next.operation.links else { continue }
            waiting += links.dependents
            links.dependents = []
        }
    }

    // The only subclass, which has the type of the result, overrides these.

    /// Runs the body once and stores its result or error. Called only by the executor task.
    func perform() async -> BodyEnd { .returned }

    /// Releases the body. Called once when the operation has ended.
    func discardBody() {}

    /// The last error of the body. Valid after the end.
    var thrownError: (any Error)? { nil }
}

/// How one run of a body ended.
enum BodyEnd: Sendable {
    case returned
    case threw(RetryDecision)
    case snoozed(Duration)
}

// MARK: - Home

extension LocalOperation {
    var orMakeExtras: OperationExtras {
        if let extras { return extras }
        let made = OperationExtras()
        extras = made
        return made
    }

    var orMakeLinks: DependencyLinks {
        if let links { return links }
        let made = DependencyLinks()
        links = made
        return made
    }

    var core: QueueCore { home.load(ordering: .acquiring).takeUnretainedValue() }

    func isAtHome(of other: LocalOperation) -> Bool {
        home.load(ordering: .relaxed).toOpaque() == other.home.load(ordering: .relaxed).toOpaque()
    }

    /// Moves the operation from outside into a queue. The caller holds both locks.
    func settle(in core: QueueCore) { home.store(.passRetained(core), ordering: .releasing) }

    /// Runs a closure under the lock of the operation's home.
    func locked<Result>(_ body: (inout Scheduler) -> Result) -> Result {
        while true {
            let core = core
            var result: Result?
            core.scheduler.withLock { scheduler in
                // The operation may have moved into a queue in the meantime.
                if self.core === core { result = body(&scheduler) }
            }
            if let result { return result }
        }
    }

    /// Runs a decision under the lock of the operation's home, and its effects afterwards.
    @discardableResult
    func decide<Result>(_ body: (inout Scheduler, inout Effects) -> Result) -> Result {
        var effects = Effects()
        let (result, core) = locked { scheduler in
            let result = body(&scheduler, &effects)
            scheduler.recruit(&effects)
            return (result, self.core)
        }
        core.perform(effects)
        return result
    }

    func dependencyEnded(_ edge: DependencyEdge, as state: OperationState) {
        let (effects, core) = decideOnEnd(of: edge, as: state)
        core.perform(effects)
    }
}

// MARK: - State

extension LocalOperation {
    /// The current state.
    public var state: OperationState { locked { _ in guardedState } }

    /// Whether the operation waits only for a slot, and not for an operation, a pause or an earlier barrier. As in
    /// Foundation, an operation of a suspended queue can be ready.
    public var isReady: Bool {
        locked { guardedState == .ready && (!isQueued || section == $0.sections.number) }
    }

    /// Whether the body runs.
    public var isExecuting: Bool { state == .executing }

    /// Whether the operation has ended in any terminal state, as in Foundation. See `state`.
    public var isFinished: Bool { state.isTerminal }

    /// Whether a cancel was requested. If the body returns a result nevertheless, the operation is `finished`.
    public var isCancelled: Bool { locked { _ in flags.contains(.cancelRequested) } }

    /// Whether the body still runs although the operation has ended, because the body did not end within the grace
    /// after its time limit. A stuck operation holds no slot, but still holds the resources of its body, such as a
    /// thread.
    public var isStuck: Bool { locked { _ in flags.contains(.stuck) } }

    /// The reason of the cancel; nil without a cancel.
    public var cancelReason: String? {
        locked { _ in flags.contains(.cancelRequested) ? extras?.cancelReason ?? "" : nil }
    }

    /// The reason, author and time of the cancel request; nil without a cancel. In a worker this is the cancel of the
    /// enqueued operation.
    ///
    /// A `Foundation.Operation` reads `LocalOperation.current?.cancellation`, in its `main` and in its `cancel()`.
    public var cancellation: OperationCancellation? {
        context?.cancellation ?? cancelReason.map { OperationCancellation(reason: $0) }
    }

    /// A name to display.
    public var name: String? { locked { _ in extras?.name } }

    /// The priority. A change has no effect after the start.
    public var priority: OperationPriority {
        get { OperationPriority(lane: locked { _ in Int(lane) }) ?? .normal }
        set { locked { $0.setLane(UInt8(newValue.lane), of: self) } }
    }

    /// The quality of service; nil = the queue's.
    public var qualityOfService: QualityOfService? { locked { _ in quality.qualityOfService } }

    /// The number of the current or last attempt; 0 before the first start.
    public var attempts: Int { locked { _ in guardedAttempts } }

    /// The number of the attempt, for a caller that holds the lock. A run that snoozed uses no attempt.
    var guardedAttempts: Int { Int(attempt - (extras?.snoozes ?? 0)) }

    /// Cancels the operation. A waiting one ends at once, even in a suspended queue.
    ///
    /// The task of an executing operation is cancelled, and an error of its body then ends the operation as cancelled.
    /// A second cancel, or one after the end, has no effect.
    ///
    /// - Parameter reason: the text for `cancelReason`.
    /// - Returns: false if the operation had already ended.
    @discardableResult
    public func cancel(reason: String = "") -> Bool {
        decide { scheduler, effects in scheduler.cancel(self, reason: reason, &effects) }
    }

    /// Ends the operation as cancelled if it waits. An executing one continues.
    func cancelIfWaiting(reason: String) {
        decide { scheduler, effects in
            guard guardedState != .executing else { return }
            _ = scheduler.cancel(self, reason: reason, &effects)
        }
    }

    /// Runs an operation that is in no queue, and waits for its end. A cancel of the calling task cancels the
    /// operation.
    ///
    /// - Returns: the state in which the operation ended.
    /// - Throws: `OperationsError` with `.refused` if the operation is in a queue, is blocked, or was started before.
    @discardableResult
    public func start() async throws -> OperationState {
        let (mayStart, found) = locked { scheduler in
            let found = guardedState
            guard found == .ready, !isQueued else { return (found == .cancelled, found) }
            scheduler.begin(self)
            return (true, found)
        }
        guard mayStart else {
            throw OperationsError(
                .refused,
                "start() needs an operation that is ready and in no queue; this one is \(found)"
            )
        }
        if found == .ready { QueueCore.outside.launch(quality, first: self) }
        return await withTaskCancellationHandler {
            await waitIgnoringCancellation()
        } onCancel: {
            cancel(reason: "the task that started it was cancelled")
        }
    }

    /// Throws `CancellationError` if a cancel was requested or the time limit has passed. For bodies on a real thread,
    /// which have no task. Other bodies use `Task.checkCancellation()`.
    public func checkCancellation() throws {
        if isCancelled || locked({ _ in flags.contains(.overdue) }) { throw CancellationError() }
    }
}
