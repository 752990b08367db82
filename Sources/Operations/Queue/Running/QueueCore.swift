import Synchronization

/// The moving part of a queue: the scheduler under its lock, and the runners. It lives as long as there are operations of it, longer
/// than the `LocalOperationQueue` in front of it if need be.
final class QueueCore: Sendable {
    /// The home of operations that are in no queue. It only guards and never starts anything by itself.
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

    /// Starts a runner, with an operation that executes already or without.
    func launch(_ quality: Quality, first: LocalOperation? = nil) {
        let quality = quality == .inherited ? ownQuality : quality
        let runner = Runner(quality: quality)
        // The runner waits for the end of this: a cancel must find the task from the first step of a body on.
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

    /// What an idle runner finds. It stays idle, unless it found something to run or this was its last look.
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

    /// Takes note of how a body ended, and of what its runner does next.
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
        // Hooks run first, on this slot: on a queue of one slot they come in order.
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

/// What an idle runner found.
enum Look: Sendable {
    case found(LocalOperation)
    case ofOtherQuality(LocalOperation)
    case nothing
}

/// What a runner does after an operation.
enum NextStep: Sendable {
    case run(LocalOperation, isEnded: Bool)
    /// It counts as idle.
    case look(isEnded: Bool)
    case leave(isEnded: Bool)

    /// Whether the operation before it has ended.
    var isEnded: Bool {
        switch self {
        case .run(_, let isEnded), .look(let isEnded), .leave(let isEnded): isEnded
        }
    }
}
