import Synchronization

/// The scheduler of a queue with its lock, and the executor tasks. A core lives as long as the queue has operations,
/// which may be longer than its `LocalOperationQueue`.
final class QueueCore: Sendable {
    /// The home of operations that are in no queue. Only guards them, and never starts one by itself.
    static let outside = QueueCore(name: "", limit: .max, quality: .standard, clock: ContinuousClock())

    let name: String
    let clock: any Clock<Duration>
    let scheduler: Guarded<Scheduler>
    let front = Guarded(WeakFront())
    private let quality: Atomic<UInt8>

    struct WeakFront { weak var queue: LocalOperationQueue? }

    init(name: String, limit: Int, quality: Quality, clock: any Clock<Duration>) {
        self.name = name
        self.clock = clock
        self.quality = Atomic(quality.rawValue)
        scheduler = Guarded(Scheduler(limit: limit))
    }

    /// The quality of service of operations that have none of their own.
    var ownQuality: Quality {
        get { Quality(rawValue: quality.load(ordering: .relaxed)) ?? .standard }
        set { quality.store(newValue.rawValue, ordering: .relaxed) }
    }

    // MARK: Executor tasks

    /// Starts an executor task, which first runs an operation that already executes, if one is given.
    func launch(_ quality: Quality, first: LocalOperation? = nil) {
        let quality = quality == .inherited ? ownQuality : quality
        let executorTask = ExecutorTask(quality: quality)
        // The executor task waits for the end of this closure: a cancel must find the task before the body starts.
        executorTask.launching.withLock { _ in
            let body: @Sendable () async -> Void = { [self] in await executorTask.run(in: self, first: first) }
            // An operation outside of a queue sees the task-local values of the task that starts it.
            let task =
                self === Self.outside
                ? Task(priority: quality.taskPriority, operation: body)
                : Task.detached(priority: quality.taskPriority, operation: body)
            let isSpent = scheduler.withLock { _ in
                executorTask.task = task
                if let first { executorTask.adopt(first) }
                return executorTask.isSpent
            }
            if isSpent { task.cancel() }
        }
    }

    /// Looks for work for an idle executor task. The task stays idle if it finds none, unless this look was its last.
    func look(_ executorTask: ExecutorTask, isLast: Bool) -> Look {
        let look = scheduler.withLock { scheduler -> Look in
            guard let operation = scheduler.take() else {
                if isLast { scheduler.idle -= 1 }
                return .nothing
            }
            guard fits(operation, executorTask) else { return .ofOtherQuality(operation) }
            scheduler.idle -= 1
            operation.executorTask = executorTask
            return .found(operation)
        }
        if case .ofOtherQuality(let operation) = look { launch(operation.quality, first: operation) }
        return look
    }

    /// Notes how a body ended, and decides the next step of its executor task.
    func settle(_ operation: LocalOperation, _ end: BodyEnd, executorTask: ExecutorTask) -> NextStep {
        var effects = Effects()
        var wasGivenUp = false
        let step = scheduler.withLock { scheduler -> NextStep in
            guard operation.executorTask === executorTask else {
                wasGivenUp = true
                operation.flags.remove(.stuck)
                return .leave(isEnded: true)
            }
            operation.executorTask = nil
            scheduler.conclude(operation, end, &effects)
            return nextStep(of: executorTask, after: operation, &scheduler, &effects)
        }
        perform(effects, onExecutorTask: true)
        if step.isEnded, !wasGivenUp { operation.releaseFromQueue() }
        return step
    }

    private func nextStep(
        of executorTask: ExecutorTask,
        after operation: LocalOperation,
        _ scheduler: inout Scheduler,
        _ effects: inout Effects
    ) -> NextStep {
        let isEnded = operation.guardedState.isTerminal
        defer { scheduler.recruit(&effects) }
        guard !executorTask.isSpent, operation.isQueued else { return .leave(isEnded: isEnded) }
        // Hooks run first, on this slot. So with a single slot they run in order.
        guard effects.aftermaths.isEmpty, let next = scheduler.take() else {
            scheduler.idle += 1
            return .look(isEnded: isEnded)
        }
        guard fits(next, executorTask) else {
            effects.handedOver = next
            scheduler.idle += 1
            return .look(isEnded: isEnded)
        }
        next.executorTask = executorTask
        return .run(next, isEnded: isEnded)
    }

    private func fits(_ operation: LocalOperation, _ executorTask: ExecutorTask) -> Bool {
        (operation.quality == .inherited ? ownQuality : operation.quality) == executorTask.quality
    }
}

/// The result of an idle executor task's look for work.
enum Look: Sendable {
    case found(LocalOperation)
    case ofOtherQuality(LocalOperation)
    case nothing
}

/// The next step of an executor task after an operation.
enum NextStep: Sendable {
    case run(LocalOperation, isEnded: Bool)
    /// Look for work; the executor task counts as idle.
    case look(isEnded: Bool)
    case leave(isEnded: Bool)

    /// Whether the previous operation has ended.
    var isEnded: Bool {
        switch self {
        case .run(_, let isEnded), .look(let isEnded), .leave(let isEnded): isEnded
        }
    }
}
