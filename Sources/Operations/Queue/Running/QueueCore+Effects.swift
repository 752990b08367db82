/// Performs the effects of the scheduler's decisions. No lock is held here, so hooks and deinitializers of captured
/// values may use queues and operations.
extension QueueCore {
    /// Performs effects, including those that follow in other queues.
    ///
    /// - Parameter onExecutorTask: whether this runs on an executor task, where hooks may run. A caller of `cancel`
    ///   must not run hooks.
    func perform(_ effects: Effects, onExecutorTask: Bool = false) {
        guard !effects.foreign.isEmpty else { return apply(effects, onExecutorTask: onExecutorTask) }
        var foreign = effects.foreign
        var further: [(effects: Effects, core: QueueCore)] = []
        // Use a list instead of recursion, because a chain may alternate between queues. Do this before the
        // notifications, so that a task that waited for the operation finds its dependents ready.
        while let end = foreign.popLast() {
            let (more, core) = end.dependent.operation.decideOnEnd(of: end.dependent.edge, as: end.state)
            foreign += more.foreign
            further.append((more, core))
        }
        apply(effects, onExecutorTask: onExecutorTask)
        for (effects, core) in further { core.apply(effects, onExecutorTask: false) }
    }

    private func apply(_ effects: Effects, onExecutorTask: Bool) {
        if let operation = effects.handedOver { launch(operation.quality, first: operation) }
        for _ in 0..<effects.launches { launch(effects.quality) }
        for task in effects.interrupted { task.cancel() }
        if let (operation, pause) = effects.retry { scheduleRetry(of: operation, after: pause) }
        if !effects.aftermaths.isEmpty || !effects.idleWaiters.isEmpty {
            finish(effects, onExecutorTask: onExecutorTask)
        }
        for operation in effects.discarded {
            operation.discardBody()
            operation.releaseFromQueue()
        }
        for operation in effects.givenUp { operation.releaseFromQueue() }
    }

    private func finish(_ effects: Effects, onExecutorTask: Bool) {
        let (aftermaths, idleWaiters) = (effects.aftermaths, effects.idleWaiters)
        let work: @Sendable () -> Void = {
            for aftermath in aftermaths { aftermath.perform() }
            for waiter in idleWaiters { waiter.resume() }
        }
        if onExecutorTask || aftermaths.allSatisfy(\.hooks.isEmpty) { work() } else { Task.detached { work() } }
    }

    private func scheduleRetry(of operation: LocalOperation, after pause: Duration) {
        operation.locked { _ in
            // A cancelled operation has no pause. Store the timer before it can fire: it needs this lock to fire.
            // Stored later, it could replace the timer of the next attempt, and then no cancel would reach that one.
            guard operation.guardedState == .retrying else { return }
            operation.orMakeExtras.timer = Task.detached { [clock] in
                guard (try? await clock.sleep(for: pause.limited)) != nil else { return }
                operation.endPause()
            }
        }
    }
}

extension LocalOperation {
    /// Releases the queue's reference to an ended operation.
    func releaseFromQueue() {
        guard isQueued else { return }
        Unmanaged.passUnretained(self).release()
    }

    /// Ends a retry pause. An operation that was started by `start()` starts again at once.
    fileprivate func endPause() {
        let mayStart = decide { scheduler, _ -> Bool in
            guard guardedState == .retrying else { return false }
            extras?.timer = nil
            scheduler.unpark(self)
            guard !isQueued else { return false }
            scheduler.begin(self)
            return true
        }
        if mayStart { QueueCore.outside.launch(quality, first: self) }
    }

    func decideOnEnd(of edge: DependencyEdge, as state: OperationState) -> (Effects, QueueCore) {
        locked { scheduler in
            var effects = Effects()
            if scheduler.resolve(Dependent(operation: self, edge: edge), by: state) {
                effects.discarded.append(self)
                scheduler.end(self, as: .cancelled, &effects)
            }
            scheduler.recruit(&effects)
            return (effects, core)
        }
    }
}
