import Synchronization

/// The scheduler of a queue under its lock, and the runners. It lives as long as the queue has operations, which may be longer than its
/// `LocalOperationQueue`.
final class QueueCore: Sendable {
    /// The home of operations that are in no queue. It only guards them and never starts one.
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

    // MARK: Runners

    /// Starts a runner, if given with an operation that executes already.
    func launch(_ quality: Quality, first: LocalOperation? = nil) {
        let quality = quality == .inherited ? ownQuality : quality
        let runner = Runner(quality: quality)
        // The runner waits for the end of this closure: a cancel must find the task before the body starts.
        runner.launching.withLock { _ in
            let task = Task.detached(priority: quality.taskPriority) { [self] in
                await runner.run(in: self, first: first)
            }
            let isSpent = scheduler.withLock { _ in
                runner.task = task
                if let first { runner.adopt(first) }
                return runner.isSpent
            }
            if isSpent { task.cancel() }
        }
    }

    /// Looks for work for an idle runner. The runner stays idle unless there is work or this was its last look.
    func look(_ runner: Runner, isLast: Bool) -> Look {
        let look = scheduler.withLock { scheduler -> Look in
            guard let operation = scheduler.take() else {
                if isLast { scheduler.idle -= 1 }
                return .nothing
            }
            guard fits(operation, runner) else { return .ofOtherQuality(operation) }
            scheduler.idle -= 1
            operation.runner = runner
            return .found(operation)
        }
        if case .ofOtherQuality(let operation) = look { launch(operation.quality, first: operation) }
        return look
    }

    /// Notes how a body ended, and decides what its runner does next.
    func settle(_ operation: LocalOperation, _ end: BodyEnd, runner: Runner) -> NextStep {
        var effects = Effects()
        var wasAbandoned = false
        let step = scheduler.withLock { scheduler -> NextStep in
            guard operation.runner === runner else {
                wasAbandoned = true
                operation.flags.remove(.stuck)
                return .leave(isEnded: true)
            }
            operation.runner = nil
            scheduler.conclude(operation, end, &effects)
            return nextStep(of: runner, after: operation, &scheduler, &effects)
        }
        perform(effects, onRunner: true)
        if step.isEnded, !wasAbandoned { operation.releaseFromQueue() }
        return step
    }

    private func nextStep(
        of runner: Runner,
        after operation: LocalOperation,
        _ scheduler: inout Scheduler,
        _ effects: inout Effects
    ) -> NextStep {
        let isEnded = operation.guardedState.isTerminal
        defer { scheduler.recruit(&effects) }
        guard !runner.isSpent, operation.isQueued else { return .leave(isEnded: isEnded) }
        // Hooks run first, on this slot. So with one slot they run in order.
        guard effects.aftermaths.isEmpty, let next = scheduler.take() else {
            scheduler.idle += 1
            return .look(isEnded: isEnded)
        }
        guard fits(next, runner) else {
            effects.handedOver = next
            scheduler.idle += 1
            return .look(isEnded: isEnded)
        }
        next.runner = runner
        return .run(next, isEnded: isEnded)
    }

    private func fits(_ operation: LocalOperation, _ runner: Runner) -> Bool {
        (operation.quality == .inherited ? ownQuality : operation.quality) == runner.quality
    }
}

/// The result of an idle runner's look for work.
enum Look: Sendable {
    case found(LocalOperation)
    case ofOtherQuality(LocalOperation)
    case nothing
}

/// What a runner does after an operation.
enum NextStep: Sendable {
    case run(LocalOperation, isEnded: Bool)
    /// Look for work; the runner counts as idle.
    case look(isEnded: Bool)
    case leave(isEnded: Bool)

    /// Whether the operation before it has ended.
    var isEnded: Bool {
        switch self {
        case .run(_, let isEnded), .look(let isEnded), .leave(let isEnded): isEnded
        }
    }
}
