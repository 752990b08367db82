import Foundation
import Synchronization

/// One unit of work for a `LocalOperationQueue`: what Foundation's `Operation` is, for Swift concurrency.
///
/// It runs once, in a queue or by `start()`, and ends in exactly one of the states `finished`, `dead` (its body threw) and `cancelled`.
/// Operations are made as `ValueOperation`, which knows the type of the result; this class is what all of them have in common.
/// Everything here may be used from any thread or task, and takes effect at once.
///
/// An operation that is waiting in a queue is kept alive by it. One that is released without ever having been in a queue counts as
/// cancelled for those that depend on it.
public class LocalOperation: @unchecked Sendable {
    // Unchecked: `home` never changes but once, atomically; all other fields are guarded by the lock of the home.

    @TaskLocal static var inBody: LocalOperation?

    /// The operation whose body the calling code runs in; nil outside of one. On a thread of a blocking body too.
    public static var current: LocalOperation? { inBody }

    /// Whose lock guards this operation: the queue it was added to, before that `QueueCore.outside`.
    private let home: Atomic<Unmanaged<QueueCore>>

    unowned(unsafe) var next: LocalOperation?
    unowned(unsafe) var previous: LocalOperation?
    /// Its place in the order of the queue.
    var sequence: UInt64 = 0
    var section: UInt32 = 0
    /// Its index in the lane's heap; −1 = in a list.
    var heapIndex: Int32 = -1
    /// How many dependencies it waits for.
    var pending: Int32 = 0
    var attempt: Int32 = 0
    var guardedState = OperationState.ready
    var lane: UInt8
    var quality: Quality
    var flags: Flags = []
    /// It was added to the queue that is its home. Never changes back, so its runner need not lock to read it.
    var isQueued = false
    /// Read by the runner before the body, without the lock.
    let hasRunTimeout: Bool
    var links: DependencyLinks?
    var annex: Annex?
    var runner: Runner?

    struct Flags: OptionSet {
        let rawValue: UInt8
        static let cancelRequested = Flags(rawValue: 2)
        /// It has run longer than it may, and was told to end.
        static let overdue = Flags(rawValue: 4)
        /// It has ended, and its body has not.
        static let stuck = Flags(rawValue: 8)
    }

    init(options: LocalOperationOptions, home: QueueCore) {
        self.home = Atomic(home === QueueCore.outside ? .passUnretained(home) : .passRetained(home))
        lane = UInt8(options.priority.lane)
        quality = Quality(options.qualityOfService)
        hasRunTimeout = options.runTimeout != nil
        if options.needsAnnex { annex = Annex(options) }
    }

    /// With all defaults, for a queue.
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

    /// Tells those that wait for an operation that is released unrun.
    private static func released(_ links: DependencyLinks) {
        var waiting = links.dependents
        links.dependents = []
        while var next = waiting.popLast() {
            next.operation.dependencyEnded(next.edge, as: .cancelled)
            // Nobody else holds it, so it goes now too. What waits for it is taken first: a long chain must not be released by
            // recursion.
            guard isKnownUniquelyReferenced(&next.operation), let links = next.operation.links else { continue }
            waiting += links.dependents
            links.dependents = []
        }
    }

    // Overridden by the one subclass, which knows the type of the result.

    /// Runs the body once and keeps what it returns or throws. Called by its runner only.
    func perform() async -> BodyEnd { .returned }

    /// Lets the body go. Called once, by whoever ended the operation.
    func discardBody() {}

    /// What the body threw at last. To be read after the end.
    var thrownError: (any Error)? { nil }
}

/// How one run of a body ended.
enum BodyEnd: Sendable {
    case returned
    case threw(RetryDecision)
}

// MARK: - Home

extension LocalOperation {
    var orMakeAnnex: Annex {
        if let annex { return annex }
        let made = Annex()
        annex = made
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

    /// Moves it from outside into a queue. Both locks are held.
    func settle(in core: QueueCore) { home.store(.passRetained(core), ordering: .releasing) }

    /// Does something under the lock of its home.
    func locked<Result>(_ body: (inout Scheduler) -> Result) -> Result {
        while true {
            let core = core
            var result: Result?
            core.scheduler.withLock { scheduler in
                // It may have moved into a queue just now.
                if self.core === core { result = body(&scheduler) }
            }
            if let result { return result }
        }
    }

    /// Decides something under the lock of its home, and carries it out.
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

// MARK: - What it is

extension LocalOperation {
    /// Where it stands.
    public var state: OperationState { locked { _ in guardedState } }

    /// True while it waits for nothing but its start.
    public var isReady: Bool { state == .ready }

    /// True from the start of its body to the end.
    public var isExecuting: Bool { state == .executing }

    /// True once it has ended, in whatever way: Foundation's meaning of the word. `state` says in which.
    public var isFinished: Bool { state.isTerminal }

    /// True once its cancel was requested. A body that returns its result all the same has `finished`.
    public var isCancelled: Bool { locked { _ in flags.contains(.cancelRequested) } }

    /// True while its body goes on although the operation was given up on: it was told to end at its time limit, and had not ended when
    /// the grace was over. It holds no slot any more, but what the body uses, such as a thread.
    public var isStuck: Bool { locked { _ in flags.contains(.stuck) } }

    /// The reason given with its cancel; nil while none was requested.
    public var cancelReason: String? {
        locked { _ in flags.contains(.cancelRequested) ? annex?.cancelReason ?? "" : nil }
    }

    /// A name for people.
    public var name: String? { locked { _ in annex?.name } }

    /// How urgently it wants a slot. May be changed until it starts; later it has no effect.
    public var priority: OperationPriority {
        get { OperationPriority(lane: locked { _ in Int(lane) }) ?? .normal }
        set { locked { $0.setLane(UInt8(newValue.lane), of: self) } }
    }

    /// The quality of service; nil = the queue's.
    public var qualityOfService: QualityOfService? { locked { _ in quality.qualityOfService } }

    /// 0 before the first start, then the number of the run.
    public var attempts: Int { locked { _ in Int(attempt) } }

    /// Requests its end. One that waits ends at once, also in a suspended queue. The task of one that executes is cancelled, and what
    /// its body then throws ends it as cancelled. Cancelling twice, or after the end, does nothing.
    ///
    /// - Parameter reason: for people and for `cancelReason`.
    /// - Returns: false if it had ended already.
    @discardableResult
    public func cancel(reason: String = "") -> Bool {
        decide { scheduler, effects in scheduler.cancel(self, reason: reason, &effects) }
    }

    /// Runs an operation that is in no queue, and waits for its end. A cancel of the calling task cancels the operation.
    ///
    /// - Returns: the state in which it ended.
    /// - Throws: `OperationsError` with `.refused` if it is in a queue, blocked, or was started before.
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
                "an operation in state \(found) cannot be started by hand, nor one in a queue"
            )
        }
        if found == .ready { QueueCore.outside.launch(quality, first: self) }
        return await withTaskCancellationHandler {
            await waitIgnoringCancellation()
        } onCancel: {
            cancel(reason: "the task that started it was cancelled")
        }
    }

    /// Throws `CancellationError` once the operation's cancel was requested. For bodies on a real thread, which have no task; elsewhere
    /// `Task.checkCancellation()` does the same.
    public func checkCancellation() throws {
        if isCancelled || locked({ _ in flags.contains(.overdue) }) { throw CancellationError() }
    }
}
