/// A slot in use: a task that runs one operation after another, until none is left.
///
/// The lock of its core guards the fields.
final class ExecutorTask: @unchecked Sendable {
    /// Locked until `task` is set. The executor task waits for it, so no body runs before.
    let launching = Guarded(())
    var task: Task<Void, Never>?
    /// Whether the task was cancelled, so that it takes no further operation.
    var isSpent = false
    let quality: Quality

    init(quality: Quality) { self.quality = quality }

    /// How often the executor task looks for work before it ends. Starting a task costs much more than a look, and
    /// callers often add several operations in a row. A task of low priority does not look again: it may not run for
    /// long, and others must not wait for it.
    private var patience: Int { quality.taskPriority < .medium ? 0 : 4 }

    /// Takes an operation that already executes. A cancel or the end of the grace may have come before.
    func adopt(_ operation: LocalOperation) {
        isSpent = operation.flags.contains(.cancelRequested)
        if operation.guardedState == .executing { operation.executorTask = self }
    }

    func run(in core: QueueCore, first: LocalOperation?) async {
        launching.withLock { _ in }
        var looks = 0
        var current = first
        while true {
            if let operation = current {
                looks = 0
                let step = core.settle(operation, await operation.attemptOnce(), executorTask: self)
                if step.isEnded { operation.discardBody() }
                switch step {
                case .run(let next, _): current = next
                case .look: current = nil
                case .leave: return
                }
                continue
            }
            switch core.look(self, isLast: looks == patience) {
            case .found(let operation): current = operation
            case .ofOtherQuality: looks = 0
            case .nothing:
                if looks == patience { return }
                looks += 1
                await Task.yield()
            }
        }
    }
}

extension LocalOperation {
    /// Runs the body once, as the current operation, within the time limit.
    func attemptOnce() async -> BodyEnd {
        guard let limit = runLimit else { return await Self.$inBody.withValue(self) { await perform() } }
        let timer = Task.detached { [weak self, attempt, core] in
            try await core.clock.sleep(for: limit.runTimeout.limited)
            self?.limitReached(attempt: attempt, limit.runTimeout)
            try await core.clock.sleep(for: limit.grace.limited)
            self?.giveUp(attempt: attempt, because: .overdue(limit.runTimeout))
        }
        defer { timer.cancel() }
        return await Self.$inBody.withValue(self) { await perform() }
    }

    private var runLimit: (runTimeout: Duration, grace: Duration)? {
        guard hasRunTimeout else { return nil }
        return locked { _ in extras?.runTimeout.map { ($0, extras?.grace ?? SluiceDefaults.cancelGrace) } }
    }

    private func limitReached(attempt: Int32, _ limit: Duration) {
        decide { scheduler, effects in
            guard guardedState == .executing, self.attempt == attempt else { return }
            flags.insert(.overdue)
            scheduler.interrupt(self, &effects)
        }
    }

    /// Ends a cancelled operation whose body has not ended after the grace.
    func giveUp(after grace: Duration) {
        Task.detached { [weak self, core] in
            try await core.clock.sleep(for: grace.limited)
            self?.giveUp(
                attempt: 1,
                because: OperationsError(.timedOut, "the operation did not end within \(grace) of its cancel")
            )
        }
    }

    /// Ends an operation whose body does not end. When the body returns later, its executor task ends.
    private func giveUp(attempt: Int32, because error: OperationsError) {
        decide { scheduler, effects in
            guard guardedState == .executing, self.attempt == attempt else { return }
            orMakeExtras.failure = error
            flags.insert(.stuck)
            scheduler.note(self, .stuck)
            scheduler.end(self, as: flags.contains(.cancelRequested) ? .cancelled : .dead, &effects)
            effects.givenUp.append(self)
        }
    }
}

extension OperationsError {
    static func overdue(_ limit: Duration) -> OperationsError {
        OperationsError(.timedOut, "the operation ran longer than its limit of \(limit)")
    }
}
