import Operations

// Writes of a worker about the operations that it holds. The fence in the worker's in-flight hash is the proof.
extension QueueModel {
    /// Takes a held operation away from its worker; nil = the fence is stale.
    ///
    /// - Parameter isCompletion: whether the run has finished. If so, operations that its body enqueued for that start
    ///   at its end; otherwise this call removes them.
    mutating func release(
        _ fence: Int64,
        of worker: String,
        id: OperationID?,
        isCompletion: Bool = false
    ) -> (LaneElement, CancelIntent?)? {
        guard let element = workers[worker]?.inFlight[fence], id == nil || element.id == id else { return nil }
        workers[worker]?.inFlight[fence] = nil
        noteLeaving()
        if element.header.tracked { stopOfKey(element.id) }
        if !isCompletion { endRun(of: element.id, isCompleted: false) }
        let order = workers[worker]?.cancelling.removeValue(forKey: fence)
        return (element, order)
    }

    func isCancelled(fence: Int64, order: CancelIntent?) -> Bool { order != nil || fence <= cancelledFence }

    /// Ends a released operation as cancelled, and stores who requested the cancel.
    mutating func endCancelled(_ id: OperationID, order: CancelIntent?, usesAttempt: Bool) {
        if operations[id]?.cancel == nil { operations[id]?.cancel = order ?? queueCancel }
        end(id, as: .cancelled, usesAttempt: usesAttempt)
    }

    /// Returns `.already` if the same write was done before: the fence is the record's last, and the write can have
    /// left its state. Returns `.stale` otherwise.
    private func repeated(_ fence: Int64, _ id: OperationID, states: Set<OperationState>) -> SettleOutcome {
        guard let record = operations[id]?.record, record.fence == fence, states.contains(record.state) else {
            return .stale
        }
        return .already
    }
}

// MARK: - Completion

extension QueueModel {
    /// Finishes an operation, even if a cancel was requested: the work is done. A tracked operation always has its
    /// record here, because a running operation cannot be removed.
    mutating func complete(_ completion: Completion, worker: String) -> SettleOutcome {
        guard
            let (element, _) = release(completion.fence, of: worker, id: completion.id, isCompletion: true)
        else {
            return completion.tracked ? repeated(completion.fence, completion.id, states: [.finished]) : .stale
        }
        guard element.header.tracked else {
            add("finished")
            event(element.id, .finished)
            return .done(.finished)
        }
        if !completion.result.isEmpty { operations[element.id]?.result = completion.result }
        end(element.id, as: .finished)
        return .done(.finished)
    }
}

// MARK: - Failure

extension QueueModel {
    /// Ends or continues an operation whose run did not complete. A failed attempt counts even if its operation ends as
    /// cancelled; a snooze, a yield and a standing cancel use no attempt. A requested cancel wins over everything else.
    mutating func fail(_ failure: Failure, worker: String) -> SettleOutcome {
        guard let (element, order) = release(failure.fence, of: worker, id: failure.id) else {
            let states: Set<OperationState> = [.retrying, .dead, .cancelled, .blocked, .scheduled, .ready]
            return repeated(failure.fence, failure.id, states: states)
        }
        noteLarge(element)
        if !element.header.tracked {
            guard adopt(element, fence: failure.fence) else { return .stale }
            operations[element.id]?.record.startedAt = now
        }
        if case .cancelledByStanding(let standing, let request) = failure.disposition {
            noteCaught(by: standing)
            let (at, by) = (request.milliseconds ?? 0, request.by ?? "")
            let cancelled = CancelIntent(at: at, by: by, reason: request.reason)
            endCancelled(element.id, order: order ?? cancelled, usesAttempt: false)
            operations[element.id]?.standing = standing
            return .done(.cancelled)
        }
        let isCancelled = isCancelled(fence: failure.fence, order: order)
        if failure.disposition.runsAgain {
            if !isCancelled { return runAgain(element.id, failure.disposition) }
            endCancelled(element.id, order: order, usesAttempt: false)
            return .done(.cancelled)
        }
        keepError(failure.error, of: element.id)
        switch failure.disposition {
        case .retry(let pause) where !isCancelled: return retryLater(element.id, pause: pause)
        case .dead where !isCancelled:
            end(element.id, as: .dead, usesAttempt: true)
            return .done(.dead)
        case .retry, .dead, .cancelled, .cancelledByStanding, .snoozed, .yielded:
            endCancelled(element.id, order: order, usesAttempt: true)
            return .done(.cancelled)
        }
    }

    /// Schedules the next attempt. The attempt begins with delivery 1 and without an expiry, because the operation
    /// started in time.
    private mutating func retryLater(_ id: OperationID, pause: Int64) -> SettleOutcome {
        countAttempt(of: id)
        operations[id]?.record.header.delivery = 1
        operations[id]?.record.header.expiresAt = 0
        operations[id]?.record.state = .retrying
        operations[id]?.record.header.readyAt = now + pause
        retrying.insert(id, score: now + pause)
        add("retried")
        event(id, .retrying)
        announce(due: now + pause)
        return .done(.retrying)
    }
}

// MARK: - Running again

extension Failure.Disposition {
    fileprivate var runsAgain: Bool {
        switch self {
        case .snoozed, .yielded: true
        case .retry, .dead, .cancelled, .cancelledByStanding: false
        }
    }
}

extension QueueModel {
    private mutating func runAgain(_ id: OperationID, _ disposition: Failure.Disposition) -> SettleOutcome {
        guard case .snoozed(let pause, let reason) = disposition else { return yield(id) }
        return snooze(id, pause: pause, reason: reason)
    }

    private mutating func snooze(_ id: OperationID, pause: Int64, reason: String) -> SettleOutcome {
        runAgain(id, as: .scheduled, at: now + pause)
        let count = (operations[id]?.snooze?.count ?? 0) + 1
        operations[id]?.snooze = SnoozeTrace(count: count, until: now + pause, reason: reason)
        scheduled.insert(id, score: now + pause)
        event(id, .scheduled)
        announce(due: now + pause)
        return .done(.scheduled)
    }

    private mutating func yield(_ id: OperationID) -> SettleOutcome {
        runAgain(id, as: .ready, at: now)
        operations[id]?.yields += 1
        operations[id]?.record.startedAt = 0
        guard let header = operations[id]?.record.header else { return .stale }
        event(id, .ready)
        if enterKey(id) { return .done(.ready) }
        lanes[header.priority.lane].append(LaneElement(header: header, envelope: []))
        wakeForReady()
        return .done(.ready)
    }

    /// Prepares an operation that runs again. The operation started in time, so its expiry no longer counts. The run
    /// ended by itself, so the count of deliveries starts again at 1.
    private mutating func runAgain(_ id: OperationID, as state: OperationState, at instant: Int64) {
        add("returned")
        operations[id]?.record.header.delivery = 1
        operations[id]?.record.header.expiresAt = 0
        operations[id]?.record.header.readyAt = instant
        operations[id]?.record.state = state
    }
}

// MARK: - Giving back

extension QueueModel {
    /// Gives operations back. Operations given to the front stand there in the order in which they were claimed,
    /// whatever their order in the call.
    mutating func giveBack(_ returns: [Return], worker: String) -> [SettleOutcome] {
        var outcomes = [SettleOutcome](repeating: .stale, count: returns.count)
        let before = totals["returned"] ?? 0
        for index in returns.indices.sorted(by: { returns[$0].fence > returns[$1].fence }) {
            outcomes[index] = giveBack(returns[index], worker: worker)
        }
        returnStarts((totals["returned"] ?? 0) - before)
        return outcomes
    }

    private mutating func giveBack(_ given: Return, worker: String) -> SettleOutcome {
        guard let (element, order) = release(given.fence, of: worker, id: given.id) else {
            return repeated(given.fence, given.id, states: [.ready, .scheduled, .blocked])
        }
        noteLarge(element)
        add("returned")
        if element.header.tracked { untryOfKey(element.id) }
        if isCancelled(fence: given.fence, order: order) {
            guard hasRecord(element) else { return .stale }
            endCancelled(element.id, order: order, usesAttempt: false)
            return .done(.cancelled)
        }
        switch given.place {
        case .front:
            putBack(element, delivery: element.header.delivery, keepsExpiry: true)
            return .done(.ready)
        case .later(let milliseconds):
            guard hasRecord(element) else { return .stale }
            schedule(element, after: milliseconds)
            return .done(.scheduled)
        case .unhandled(let name, let milliseconds):
            guard hasRecord(element) else { return .stale }
            if setAside(element, name) { return .done(.ready) }
            schedule(element, after: milliseconds)
            return .done(.scheduled)
        }
    }

    private mutating func schedule(_ element: LaneElement, after milliseconds: Int64) {
        let id = element.id
        operations[id]?.record.state = .scheduled
        operations[id]?.record.header.readyAt = now + milliseconds
        scheduled.insert(id, score: now + milliseconds)
        if element.header.expiresAt > 0 { expiring.insert(id, score: element.header.expiresAt) }
        event(id, .scheduled)
        announce(
            due: element.header.expiresAt > 0 ? min(now + milliseconds, element.header.expiresAt) : now + milliseconds
        )
    }

    /// Puts an element back to the head of its lane, or to the waiting ones of its limit key. A recovered operation had
    /// started, so its expiry is dropped.
    mutating func putBack(_ element: LaneElement, delivery: Int, keepsExpiry: Bool) {
        var element = element
        element.header.delivery = delivery
        if !keepsExpiry { element.header.expiresAt = 0 }
        if element.header.tracked {
            operations[element.id]?.record.header = element.header
            operations[element.id]?.record.state = .ready
            if element.header.expiresAt > 0 { expiring.insert(element.id, score: element.header.expiresAt) }
        }
        event(element.id, .ready)
        if element.header.tracked, enterKey(element.id) { return }
        lanes[element.header.priority.lane].prepend(element)
        wakeForReady()
    }
}
