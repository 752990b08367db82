/// Decides the next steps of a local queue: a value without tasks, clocks or locks.
///
/// `QueueCore` holds it under its lock and performs its `Effects`. The scheduler may change the operations' guarded
/// fields while that lock is held. Each step is O(1), or O(log n) if an operation becomes ready out of order. The
/// number of waiting operations does not matter.
struct Scheduler: ~Copyable, @unchecked Sendable {
    // Unchecked: the pointers between operations are only followed under the lock that guards this value.

    /// How many operations may execute at once.
    var limit: Int
    var isSuspended = false
    var sections = Sections()
    /// The number of executing operations.
    var executing = 0
    /// The number of executor tasks without an operation, which are about to take one.
    var idle = 0
    /// The number of operations that have not ended.
    var count = 0
    /// The number of operations that were ever added.
    var sequence: UInt64 = 0
    var streams: [UInt64: AsyncStream<LocalOperationChange>.Continuation] = [:]
    var progressStreams: [UInt64: AsyncStream<LocalQueueProgress>.Continuation] = [:]
    var idleWaiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]

    init(limit: Int) { self.limit = limit }

    // MARK: Adding

    /// Adds an operation, which must be blocked or ready and in no queue. The queue keeps it alive until it has ended.
    mutating func add(_ operation: LocalOperation, asBarrier: Bool = false) {
        _ = Unmanaged.passRetained(operation)
        if sectionNumber(asBarrier: asBarrier) > sections.lastNumber { sections.open() }
        sequence += 1
        operation.sequence = sequence
        operation.section = sections.lastNumber
        operation.isQueued = true
        count += 1
        sections[operation.section].count += 1
        if operation.guardedState == .ready {
            sections[operation.section].lanes.insert(operation)
        } else {
            sections[operation.section].parked.append(operation)
        }
        if asBarrier { sections.open() }
        tellQueue(operation, .state(operation.guardedState))
        tellProgress()
    }

    /// Returns the section for an operation that is added now. A barrier needs an empty section.
    func sectionNumber(asBarrier: Bool) -> UInt32 {
        asBarrier && sections[sections.lastNumber].count > 0 ? sections.lastNumber + 1 : sections.lastNumber
    }

    // MARK: Starting

    /// Returns the number of executor tasks to start, and counts them as idle from now on.
    mutating func recruit() -> Int {
        guard !isSuspended else { return 0 }
        let wanted = min(sections.active.lanes.count, max(0, limit - executing)) - idle
        guard wanted > 0 else { return 0 }
        idle += wanted
        return wanted
    }

    mutating func recruit(_ effects: inout Effects) {
        let launches = recruit()
        guard launches > 0 else { return }
        effects.launches += launches
        effects.quality = sections.active.lanes.first?.quality ?? .standard
    }

    /// Takes the next operation to run, which executes from now on.
    mutating func take() -> LocalOperation? {
        guard !isSuspended, executing < limit, let operation = sections.active.lanes.first else { return nil }
        sections.active.lanes.remove(operation)
        sections.active.executing.append(operation)
        executing += 1
        begin(operation)
        return operation
    }

    /// Makes a ready operation execute, in a queue or outside.
    mutating func begin(_ operation: LocalOperation) {
        operation.attempt += 1
        operation.flags.remove(.overdue)
        move(operation, to: .executing)
    }

    // MARK: Ending

    /// Ends an operation in a terminal state, and all dependents whose policy is to be cancelled with it.
    mutating func end(_ operation: LocalOperation, as state: OperationState, _ effects: inout Effects) {
        leave(operation, as: state, &effects)
        guard operation.links != nil else { return advance(&effects) }
        // Use a list instead of recursion: chains are long.
        var ended = [operation]
        while let next = ended.popLast() {
            guard let links = next.links else { continue }
            // Release the links after the lock: they may hold the last reference to an operation, whose body may have
            // captured anything.
            effects.links.append(links)
            next.links = nil
            for dependent in links.dependents {
                guard dependent.operation.isAtHome(of: next) else {
                    effects.foreign.append(ForeignEnd(dependent: dependent, state: next.guardedState))
                    continue
                }
                guard resolve(dependent, by: next.guardedState) else { continue }
                leave(dependent.operation, as: .cancelled, &effects)
                effects.discarded.append(dependent.operation)
                ended.append(dependent.operation)
            }
        }
        advance(&effects)
    }

    /// Decides the next state after the end of a body.
    mutating func conclude(_ operation: LocalOperation, _ end: BodyEnd, _ effects: inout Effects) {
        switch end {
        case .returned: self.end(operation, as: .finished, &effects)
        case .threw where operation.flags.contains(.cancelRequested),
            .snoozed where operation.flags.contains(.cancelRequested):
            self.end(operation, as: .cancelled, &effects)
        case .threw(.discard): self.end(operation, as: .cancelled, &effects)
        case .threw(.dead): self.end(operation, as: .dead, &effects)
        case .threw(.retry(let pause)):
            park(operation)
            effects.retry = (operation, pause)
        case .snoozed(let pause):
            operation.orMakeExtras.snoozes += 1
            park(operation)
            effects.retry = (operation, pause)
        }
    }

    /// Notes that a dependency has ended.
    ///
    /// - Returns: whether the dependent must be cancelled.
    mutating func resolve(_ link: Dependent, by state: OperationState) -> Bool {
        let (dependent, edge) = (link.operation, link.edge)
        guard !edge.isResolved, !dependent.guardedState.isTerminal else { return false }
        if state != .finished {
            switch edge.policy {
            case .run: break
            case .hold: return false
            case .cancel:
                dependent.orMakeExtras.cancelReason = "a dependency ended as \(state.rawValue)"
                dependent.flags.insert(.cancelRequested)
                return true
            }
        }
        release(edge, of: dependent)
        return false
    }

    /// Removes a dependency, so that its dependent may become ready.
    mutating func release(_ edge: DependencyEdge, of dependent: LocalOperation) {
        edge.isResolved = true
        dependent.pending -= 1
        guard dependent.pending == 0, dependent.guardedState == .blocked else { return }
        unpark(dependent)
    }

    /// Adds one to the number of dependencies that an operation waits for.
    mutating func hold(_ operation: LocalOperation) {
        operation.pending += 1
        guard operation.guardedState == .ready else { return }
        if operation.isQueued {
            sections[operation.section].lanes.remove(operation)
            sections[operation.section].parked.append(operation)
        }
        move(operation, to: .blocked)
    }

    /// Moves an executing operation to `retrying` until its next attempt.
    mutating func park(_ operation: LocalOperation) {
        if operation.isQueued {
            sections[operation.section].executing.remove(operation)
            sections[operation.section].parked.append(operation)
            executing -= 1
        }
        move(operation, to: .retrying)
    }

    /// Makes a blocked or retrying operation ready.
    mutating func unpark(_ operation: LocalOperation) {
        if operation.isQueued {
            sections[operation.section].parked.remove(operation)
            sections[operation.section].lanes.insert(operation)
        }
        move(operation, to: .ready)
    }

    /// Cancels an operation: a waiting one ends at once, and the task of an executing one is cancelled.
    ///
    /// - Returns: false if the operation had already ended.
    mutating func cancel(_ operation: LocalOperation, reason: String, _ effects: inout Effects) -> Bool {
        guard !operation.guardedState.isTerminal else { return false }
        if operation.flags.contains(.cancelRequested) {
            // The first caller may not have cancelled the task yet, and this caller relies on the cancel too.
            interrupt(operation, &effects)
            return true
        }
        operation.flags.insert(.cancelRequested)
        if !reason.isEmpty { operation.orMakeExtras.cancelReason = reason }
        if operation.guardedState == .executing {
            note(operation, .cancelRequested(reason: reason))
            interrupt(operation, &effects)
        } else {
            effects.discarded.append(operation)
            end(operation, as: .cancelled, &effects)
        }
        return true
    }

    /// Cancels all operations in one step, so that none starts because another one ends.
    mutating func cancelAll(reason: String, _ effects: inout Effects) {
        for operation in operations().reversed() { _ = cancel(operation, reason: reason, &effects) }
        recruit(&effects)
    }

    /// Cancels the task of an executing operation. The executor task takes no further operation, because a task stays
    /// cancelled.
    func interrupt(_ operation: LocalOperation, _ effects: inout Effects) {
        guard let executorTask = operation.executorTask else { return }
        executorTask.isSpent = true
        if let task = executorTask.task { effects.interrupted.append(task) }
    }

    mutating func setLane(_ lane: UInt8, of operation: LocalOperation) {
        guard operation.lane != lane else { return }
        let waitsInLane = operation.guardedState == .ready && operation.isQueued
        if waitsInLane { sections[operation.section].lanes.remove(operation) }
        operation.lane = lane
        if waitsInLane { sections[operation.section].lanes.insert(operation) }
    }

    /// The operations that have not ended, in the order in which they were added.
    func operations() -> [LocalOperation] {
        var operations: [LocalOperation] = []
        operations.reserveCapacity(count)
        sections.collect(into: &operations)
        return operations.sorted { $0.sequence < $1.sequence }
    }
}

extension Scheduler {
    /// Removes an operation from its list and makes its state terminal.
    private mutating func leave(_ operation: LocalOperation, as state: OperationState, _ effects: inout Effects) {
        if operation.isQueued {
            switch operation.guardedState {
            case .executing:
                sections[operation.section].executing.remove(operation)
                executing -= 1
            case .ready: sections[operation.section].lanes.remove(operation)
            default: sections[operation.section].parked.remove(operation)
            }
            sections[operation.section].count -= 1
            count -= 1
            tellProgress()
        }
        if state == .cancelled { operation.flags.insert(.cancelRequested) }
        move(operation, to: state)
        operation.executorTask = nil
        guard let extras = operation.extras else { return }
        if let timer = extras.timer { effects.interrupted.append(timer) }
        extras.timer = nil
        guard !extras.hooks.isEmpty || !extras.waiters.isEmpty || !extras.streams.isEmpty else { return }
        effects.aftermaths.append(
            Aftermath(
                operation: operation,
                ending: operation.guardedEnding,
                hooks: extras.hooks,
                waiters: Array(extras.waiters.values),
                streams: Array(extras.streams.values)
            )
        )
        extras.hooks = []
        extras.waiters = [:]
        extras.streams = [:]
    }

    private mutating func advance(_ effects: inout Effects) {
        if sections.active.count == 0 { sections.advance() }
        guard count == 0, !idleWaiters.isEmpty else { return }
        effects.idleWaiters += idleWaiters.values
        idleWaiters = [:]
    }

    private func move(_ operation: LocalOperation, to state: OperationState) {
        assert(
            Lifecycle.allows(operation.guardedState, state),
            "an operation cannot go from \(operation.guardedState) to \(state)"
        )
        operation.guardedState = state
        note(operation, .state(state))
    }

    /// Notifies observers. Changes arrive in order, because the lock is held.
    func note(_ operation: LocalOperation, _ kind: LocalOperationChange.Kind) {
        if let extras = operation.extras {
            for stream in extras.streams.values { stream.yield(LocalOperationChange(operation: operation, kind: kind)) }
        }
        tellQueue(operation, kind)
    }

    private func tellQueue(_ operation: LocalOperation, _ kind: LocalOperationChange.Kind) {
        guard !streams.isEmpty, operation.isQueued else { return }
        for stream in streams.values { stream.yield(LocalOperationChange(operation: operation, kind: kind)) }
    }
}
