/// One used slot: a task that runs one operation after the other, as long as there are any.
///
/// Its fields are guarded by the lock of its core.
final class Runner: @unchecked Sendable {
    /// Locked until `task` is set. The runner itself waits for that, so no body of it runs before.
    let launching = Guarded(())
    var task: Task<Void, Never>?
    /// Its task was cancelled, so it takes no further operation.
    var isSpent = false
    let quality: Quality

    init(quality: Quality) { self.quality = quality }

    /// How often it looks again before it leaves. Starting a task costs much more than a look, and who adds one operation often adds
    /// the next soon after. One of low priority, which may not get its turn for long, must not be what others wait for.
    private var patience: Int { quality.taskPriority < .medium ? 0 : 4 }

    /// Takes an operation that executes already. A cancel of it may have come before, or the end of its grace.
    func adopt(_ operation: LocalOperation) {
        isSpent = operation.flags.contains(.cancelRequested)
        if operation.guardedState == .executing { operation.runner = self }
    }

    func run(in core: QueueCore, first: LocalOperation?) async {
        launching.withLock { _ in }
        var looks = 0
        var current = first
        while true {
            if let operation = current {
                looks = 0
                let step = core.settle(operation, await operation.attemptOnce(), runner: self)
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
    /// Runs the body once, as the current operation, within its time limit.
    func attemptOnce() async -> BodyEnd {
        guard let limit = runLimit else { return await Self.$inBody.withValue(self) { await perform() } }
        let timer = Task.detached { [weak self, attempt, core] in
            try await core.clock.sleep(for: limit.runTimeout.limited)
            self?.limitReached(attempt: attempt, limit.runTimeout)
            try await core.clock.sleep(for: limit.grace.limited)
            self?.abandon(attempt: attempt, because: .overdue(limit.runTimeout))
        }
        defer { timer.cancel() }
        return await Self.$inBody.withValue(self) { await perform() }
    }

    private var runLimit: (runTimeout: Duration, grace: Duration)? {
        guard hasRunTimeout else { return nil }
        return locked { _ in annex?.runTimeout.map { ($0, annex?.grace ?? Defaults.cancelGrace) } }
    }

    private func limitReached(attempt: Int32, _ limit: Duration) {
        decide { scheduler, effects in
            guard guardedState == .executing, self.attempt == attempt else { return }
            flags.insert(.overdue)
            scheduler.interrupt(self, &effects)
        }
    }

    /// Ends a cancelled operation whose body does not end, after a while.
    func giveUp(after grace: Duration) {
        Task.detached { [weak self, core] in
            try await core.clock.sleep(for: grace.limited)
            self?.abandon(
                attempt: 1,
                because: OperationsError(.timedOut, "the operation did not end within \(grace) of its cancel")
            )
        }
    }

    /// Ends an operation whose body does not end. The body's runner finds that out when the body returns, and leaves.
    private func abandon(attempt: Int32, because error: OperationsError) {
        decide { scheduler, effects in
            guard guardedState == .executing, self.attempt == attempt else { return }
            orMakeAnnex.failure = error
            flags.insert(.stuck)
            scheduler.note(self, .stuck)
            scheduler.end(self, as: flags.contains(.cancelRequested) ? .cancelled : .dead, &effects)
            effects.abandoned.append(self)
        }
    }
}

extension OperationsError {
    static func overdue(_ limit: Duration) -> OperationsError {
        OperationsError(.timedOut, "the operation ran longer than its limit of \(limit)")
    }
}
