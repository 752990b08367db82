import Operations

// MARK: - Cancel

extension QueueModel {
    /// Cancels an operation. The first request is kept; later ones do not replace it. The intent for a running
    /// operation is stored before its worker is notified.
    mutating func cancel(_ id: OperationID, request: CancelRequest) -> CancelOutcome {
        let intent = CancelIntent(at: now, by: request.by, reason: request.reason)
        expireInTime(id)
        guard let record = operations[id]?.record else {
            return cancelUntracked(id, intent: intent, request)
        }
        let state = effectiveState(of: record)
        if state == .executing { return cancelExecuting(id, intent: intent, isForced: request.isForced) }
        if state.isTerminal { return .ended(state, at: endInstant(of: record)) }
        if state == .blocked, operations[id]?.group != nil { return cancelGroup(id, intent) ? .cancelled : .group }
        cancelWaiting(id, intent)
        return .cancelled
    }

    /// Ends a waiting operation as cancelled, at once.
    mutating func cancelWaiting(_ id: OperationID, _ intent: CancelIntent) {
        guard let record = operations[id]?.record else { return }
        leavePlace(id, state: effectiveState(of: record))
        revise(id)
        operations[id]?.cancel = intent
        end(id, as: .cancelled)
    }

    /// The time at which the operation ended. If it belongs to a cancelled batch that is not cleared away, the time of
    /// that cancel.
    func endInstant(of record: OperationRecord) -> Int64 {
        record.state.isTerminal ? record.endedAt : queueCancel(of: record)?.at ?? 0
    }

    /// The cancel of the whole queue that ended the operation: the first one that covers it.
    func queueCancel(of record: OperationRecord) -> CancelIntent? {
        batches.first { $0.sequence >= record.header.sequence }?.cancel ?? queueCancel
    }

    /// Takes a waiting operation out of its place. A reference in a lane stays behind.
    mutating func leavePlace(_ id: OperationID, state: OperationState) {
        if state == .ready { leaveReady(id) }
        scheduled.remove(id)
        retrying.remove(id)
        blocked.remove(id)
        expiring.remove(id)
    }

    private mutating func cancelExecuting(_ id: OperationID, intent: CancelIntent, isForced: Bool) -> CancelOutcome {
        guard let owner = owner(of: id) else { return .unknown(intentStored: false) }
        if isForced, force(owner.fence, worker: owner.worker, intent: intent) { return .forced(worker: owner.worker) }
        if operations[id]?.cancel == nil { operations[id]?.cancel = intent }
        return order(owner.fence, worker: owner.worker, intent: intent)
    }

    /// The worker that runs a tracked operation, and its fence; nil = no worker runs it.
    func owner(of id: OperationID) -> (fence: Int64, worker: String)? {
        guard let fence = operations[id]?.record.fence else { return nil }
        return workers.first { $0.value.inFlight[fence]?.id == id }.map { (fence, $0.key) }
    }

    private mutating func order(_ fence: Int64, worker: String, intent: CancelIntent) -> CancelOutcome {
        if workers[worker]?.cancelling[fence] == nil {
            workers[worker]?.cancelling[fence] = intent
            effects.messages.append((worker, .cancel(queue: queue, fence: fence)))
        }
        return .requested(worker: worker)
    }

    /// Takes a running operation from its worker and ends it at once. Later writes of its body are refused.
    ///
    /// - Returns: whether the worker held the operation.
    private mutating func force(_ fence: Int64, worker: String, intent: CancelIntent) -> Bool {
        guard let (element, order) = release(fence, of: worker, id: nil) else { return false }
        noteLarge(element)
        guard hasRecord(element) else { return true }
        let id = element.id
        operations[id]?.record.fence = 0
        endCancelled(id, order: order ?? (fence <= cancelledFence ? queueCancel : intent), usesAttempt: true)
        let trace = CancelTrace.Forced(at: intent.at, by: intent.by, reason: intent.reason, worker: worker)
        operations[id]?.forced = (fence, trace)
        keepKey(of: id, worker: worker)
        workers[worker]?.forced[fence] = (id, intent)
        effects.messages.append((worker, .cancel(queue: queue, fence: fence)))
        return true
    }

    /// Cancels an operation without a record. Workers that run it are searched first. Otherwise the intent may be
    /// stored: at most 10,000 per queue, in the model for ever, in the scripts for 24 h.
    private mutating func cancelUntracked(
        _ id: OperationID,
        intent: CancelIntent,
        _ request: CancelRequest
    ) -> CancelOutcome {
        for (worker, held) in workers {
            if let fence = held.inFlight.first(where: { $0.value.id == id })?.key {
                guard request.isForced else { return order(fence, worker: worker, intent: intent) }
                _ = force(fence, worker: worker, intent: intent)
                return .forced(worker: worker)
            }
        }
        guard request.storesIntent, intents.count < Self.intentsKept else { return .unknown(intentStored: false) }
        intents[id] = intent
        return .unknown(intentStored: true)
    }

    mutating func cancelAll(_ request: CancelRequest) -> (waiting: Int, executing: Int) {
        let waiting = readyCount + scheduled.count + retrying.count + blocked.count
        let intent = CancelIntent(at: now, by: request.by, reason: request.reason)
        batches.append(
            CancelledBatch(
                sequence: sequence,
                cancel: intent,
                lanes: lanes,
                scheduled: scheduled,
                retrying: retrying,
                blocked: blocked,
                unhandled: unhandled,
                keyed: limitKeys.inOrder.reversed().map { ($0.key, $0.set.waiting) }
            )
        )
        (unhandled, limitKeys.ready, limitKeys.parked) = ([:], [:], [:])
        lanes = [Lane](repeating: Lane(), count: lanes.count)
        (scheduled, retrying, blocked, expiring) = (ScoredSet(), ScoredSet(), ScoredSet(), ScoredSet())
        stale = 0
        (cancelledSequence, cancelledFence) = (sequence, fence)
        queueCancel = intent
        add("cancelled", waiting)
        if waiting > 0 { effects.counts[.cancelled, default: 0] += waiting }
        effects.messages.append((nil, .cancelThrough(queue: queue)))
        effects.change = QueueChange(
            .cancelQueue,
            by: request.by,
            count: waiting + executingCount,
            detail: request.reason
        )
        return (waiting, executingCount)
    }

    var readyCount: Int { lanes.reduce(0) { $0 + $1.count } - stale + unhandledCount + limitKeys.waitingCount }
    var executingCount: Int { workers.values.reduce(0) { $0 + $1.inFlight.count } }
}

// MARK: - Operators

extension QueueModel {
    mutating func control(_ command: WorkerCommand, worker: String, by: String) -> Bool {
        guard leases[worker] != nil else { return false }
        workers[worker, default: HeldOperations()].settings.set(command, at: now, by: by)
        effects.messages.append((worker, .controlled))
        effects.change = QueueChange(.control, by: by, detail: "\(worker) \(command.text)")
        return true
    }

    /// Makes an ended, scheduled or retrying operation ready at once. Dead, cancelled and expired ones get fresh
    /// attempts; scheduled and retrying ones keep their attempts.
    ///
    /// A retried operation has a new revision and sequence and no expiry, and stands at the tail of its lane. Errors,
    /// result and log stay. An operation with unmet dependencies is blocked instead.
    mutating func retry(_ id: OperationID, delay: Int64 = 0) -> ChangeOutcome {
        guard let record = operations[id]?.record else { return .unknown }
        let state = effectiveState(of: record)
        guard operations[id]?.group == nil else { return .refused(state) }
        switch state {
        case .dead, .cancelled, .expired:
            if isHopelessCallback(id) { return .refused(state) }
            if let holder = reclaimKey(of: id) { return .taken(by: holder) }
            ended[state]?.remove(id)
            takeBackEnd(of: id)
            operations[id]?.record.header.failedAttempts = 0
            add("reopened")
        case .scheduled, .retrying:
            leavePlace(id, state: state)
        // Expired, but not yet ended by a claim or a sweep.
        case .ready where isOverdue(record, state):
            leavePlace(id, state: state)
        case .blocked, .ready, .executing, .finished:
            return .refused(state)
        }
        makeReady(id, delay: delay)
        if state.isTerminal { waitForRetry(of: id) }
        return .done
    }

    private mutating func makeReady(_ id: OperationID, delay: Int64) {
        revise(id)
        intents[id] = nil
        sequence += 1
        operations[id]?.unhandledName = nil
        operations[id]?.reopen(at: now + delay, sequence: sequence)
        guard let header = operations[id]?.record.header else { return }
        let element = LaneElement(header: header, envelope: [])
        noteLarge(element)
        if unmetCount(of: id) > 0 {
            operations[id]?.record.state = .blocked
            blocked.insert(id, score: now)
            askForNeeds(of: id)
            return event(id, .blocked)
        }
        if delay > 0 {
            operations[id]?.record.state = .scheduled
            scheduled.insert(id, score: now + delay)
            event(id, .scheduled)
            return announce(due: now + delay)
        }
        event(id, .ready)
        if enterKey(id) { return }
        lanes[header.priority.lane].append(element)
        wakeForReady()
    }

    /// Changes a waiting operation, if it is still as the caller has read it.
    mutating func edit(_ edit: OperationEdit) -> EditOutcome {
        let id = edit.record.header.id
        expireInTime(id)
        guard let record = operations[id]?.record else { return .unknown }
        let state = effectiveState(of: record)
        guard state.isWaiting else { return .refused(state) }
        guard record.header == edit.record.header else { return .outdated }
        if let envelope = edit.envelope {
            guard record.envelope == edit.record.envelope else { return .outdated }
            operations[id]?.record.envelope = envelope
        }
        if edit.priority != nil || edit.delayMilliseconds != nil { move(id, state, edit) }
        noteLarge(LaneElement(header: record.header, envelope: []))
        return .done
    }

    /// Applies another priority or time. A ready operation with a new priority goes behind the others of that priority.
    private mutating func move(_ id: OperationID, _ state: OperationState, _ edit: OperationEdit) {
        revise(id)
        if let priority = edit.priority { operations[id]?.record.header.priority = priority }
        guard let delay = edit.delayMilliseconds else {
            if state == .ready { moveInLanes(id) }
            return
        }
        if state != .blocked { leavePlace(id, state: state) }
        operations[id]?.record.header.readyAt = now + delay
        if state == .blocked {
            if operations[id]?.hold?.from == .ready { operations[id]?.hold?.from = .scheduled }
            return
        }
        operations[id]?.record.state = state == .retrying ? .retrying : .scheduled
        if state == .retrying {
            retrying.insert(id, score: now + delay)
        } else {
            scheduled.insert(id, score: now + delay)
        }
        event(id, state == .retrying ? .retrying : .scheduled)
        announce(due: now + delay)
        expireAgain(id)
    }

    private mutating func moveInLanes(_ id: OperationID) {
        leavePlace(id, state: .ready)
        guard let header = operations[id]?.record.header else { return }
        expireAgain(id)
        if enterKey(id) { return }
        lanes[header.priority.lane].append(LaneElement(header: header, envelope: []))
        wakeForReady()
    }

    /// Removes all waiting operations at once. The scripts remove them in parts. Operations that came after the first
    /// part stay.
    mutating func purge(by: String, from progress: PurgeProgress?) -> PurgeProgress {
        let last = progress?.sequence ?? sequence
        let ofKeys = limitKeys.ready.sorted { $0.key < $1.key }.map(\.value.waiting)
        var removed = purge([blocked, scheduled, retrying] + ofKeys, through: last)
        for index in lanes.indices { removed += purgeLane(index, through: last) }
        removed += purge(unhandled.sorted { $0.key < $1.key }.map(\.value.set), through: last)
        add("removed", removed)
        let total = removed + (progress?.removed ?? 0)
        if total > 0 { effects.change = QueueChange(.purge, by: by, count: total) }
        return PurgeProgress(removed: total, sequence: last, place: 0, passed: 0)
    }

    private mutating func purge(_ sets: [ScoredSet], through last: Int64) -> Int {
        var removed = 0
        for id in sets.flatMap(\.entries).map(\.id) {
            guard let record = operations[id]?.record, record.header.sequence <= last else { continue }
            leavePlace(id, state: record.state)
            endLinks(of: id, .removed)
            erase(id)
            removed += 1
        }
        return removed
    }

    /// Removes waiting operations from a lane, and drops its stale references.
    private mutating func purgeLane(_ index: Int, through last: Int64) -> Int {
        let elements = lanes[index].elements
        lanes[index] = Lane()
        var removed = 0
        for element in elements {
            if element.header.tracked {
                guard let record = operations[element.id]?.record, record.state == .ready,
                    element.header.isSame(as: record.header)
                else {
                    stale -= 1
                    continue
                }
            }
            guard element.header.sequence <= last else {
                lanes[index].append(element)
                continue
            }
            removed += 1
            guard element.header.tracked else { continue }
            expiring.remove(element.id)
            leaveKey(element.id)
            endLinks(of: element.id, .removed)
            erase(element.id)
        }
        return removed
    }

    /// Blocks a waiting operation. The deadline keeps counting.
    mutating func hold(_ id: OperationID, by: String, reason: String) -> ChangeOutcome {
        expireInTime(id)
        guard let record = operations[id]?.record else { return .unknown }
        let state = effectiveState(of: record)
        guard ChangeKind.hold.allowed.contains(state) else { return .refused(state) }
        leavePlace(id, state: state)
        revise(id)
        operations[id]?.unhandledName = nil
        operations[id]?.record.state = .blocked
        operations[id]?.hold = (OperatorTrace(at: now, by: by, reason: reason), state)
        blocked.insert(id, score: now)
        expireAgain(id)
        event(id, .blocked)
        return .done
    }

    /// Releases a blocked operation. A held one returns to its time if that is still to come, otherwise to the head of
    /// its lane. An operation that waits for others no longer depends on them.
    mutating func release(_ id: OperationID) -> ChangeOutcome {
        guard let stored = operations[id] else { return .unknown }
        let record = stored.record
        let state = effectiveState(of: record)
        guard state == .blocked, !stored.waitsForTurn, stored.group == nil else { return .refused(state) }
        let element = LaneElement(header: record.header, envelope: [])
        noteLarge(element)
        guard let from = stored.hold?.from else {
            if isCallback(id) { return .refused(state) }
            forgetNeeds(of: id)
            leaveBlocked(id)
            return .done
        }
        leavePlace(id, state: state)
        operations[id]?.hold = nil
        guard from != .ready, record.header.readyAt > now else {
            putBack(element, delivery: record.header.delivery, keepsExpiry: true)
            announce(due: record.header.expiresAt > 0 ? record.header.expiresAt : nil)
            return .done
        }
        operations[id]?.record.state = from
        if from == .scheduled { scheduled.insert(id, score: record.header.readyAt) }
        if from == .retrying { retrying.insert(id, score: record.header.readyAt) }
        event(id, from)
        announce(due: record.header.readyAt)
        expireAgain(id)
        return .done
    }

    /// Restores the deadline of an operation that waits again.
    mutating func expireAgain(_ id: OperationID) {
        guard let deadline = operations[id]?.record.header.expiresAt, deadline > 0 else { return }
        expiring.insert(id, score: deadline)
        announce(due: deadline)
    }

    /// Removes an operation. A removal is no end: an operation that had ended does not count as removed.
    mutating func remove(_ id: OperationID) -> ChangeOutcome {
        guard let record = operations[id]?.record else { return .unknown }
        let state = effectiveState(of: record)
        guard ChangeKind.remove.allowed.contains(state) else { return .refused(state) }
        if state.isTerminal { ended[state]?.remove(id) } else { add("removed") }
        if !state.isTerminal {
            leavePlace(id, state: state)
            endLinks(of: id, .removed)
        } else if record.state != state {
            // A cancel of the queue ended the operation, but no sweep has cleared it away, so its dependents were not
            // notified.
            endLinks(of: id, .removed)
        } else if state != .finished {
            noteRemoval(of: id)
            // Notifies as many dependents as one call may; a sweep notifies the rest.
            if outbox.remove(DependencyName(id)) { noteEnded(DependencyName(id), sequence, .removed) }
        }
        erase(id)
        return .done
    }

    /// Changes operations one by one, and notes the change if any was changed.
    mutating func change(
        _ ids: [OperationID],
        _ verb: QueueChange.Verb,
        _ by: String,
        _ reason: String = "",
        _ body: (inout QueueModel, OperationID) -> ChangeOutcome
    ) -> [ChangeOutcome] {
        let outcomes = ids.map { body(&self, $0) }
        let changed = outcomes.count { $0 == .done }
        if changed > 0 { effects.change = QueueChange(verb, by: by, count: changed, detail: reason) }
        effects.subject = zip(ids, outcomes).first { $0.1 == .done }?.0
        return outcomes
    }

    /// Formats seconds as the script does: whole seconds have no fraction.
    static func seconds(_ milliseconds: Int64) -> String {
        milliseconds % 1000 == 0 ? "\(milliseconds / 1000)" : "\(Double(milliseconds) / 1000)"
    }

    mutating func setPaused(_ request: PauseRequest) {
        paused = request.isPaused
        pausedUntil = paused ? request.forMilliseconds.map { now + max(1, $0) } : nil
        pause = paused ? OperatorTrace(at: now, by: request.by, reason: request.reason) : nil
        if paused { announce(due: pausedUntil) } else { wake() }
        let limit = paused ? request.forMilliseconds.map { "for \(Self.seconds(max(1, $0))) s" } : nil
        effects.change = QueueChange(
            paused ? .pause : .resume,
            by: request.by,
            detail: [limit, request.reason].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: ", ")
        )
    }
}

extension QueueModel {
    /// Cancels the given operations, and notes the change if any was cancelled.
    mutating func cancel(_ ids: [OperationID?], _ request: CancelRequest) -> [CancelOutcome?] {
        var outcomes: [CancelOutcome?] = []
        for id in ids { outcomes.append(id.map { cancel($0, request: request) }) }
        let changed = outcomes.count { $0?.isChange ?? false }
        if changed > 0 {
            effects.change = QueueChange(.cancel, by: request.by, count: changed, detail: request.reason)
            effects.subject = zip(ids, outcomes).first { $0.1?.isChange ?? false }?.0
        }
        return outcomes
    }
}

extension CancelOutcome {
    /// Whether the call has changed something.
    var isChange: Bool {
        switch self {
        case .cancelled, .requested, .forced, .group: true
        case .ended, .unknown: false
        }
    }
}

extension WorkerCommand {
    /// The text that `control_worker.lua` writes into the event.
    fileprivate var text: String {
        switch self {
        case .quiet: "quiet"
        case .resume: "running"
        case .stop: "stop"
        case .slots(let count): "slots \(count)"
        }
    }
}

extension StoredOperation {
    fileprivate mutating func reopen(at instant: Int64, sequence: Int64) {
        record.header.delivery = 1
        record.header.readyAt = instant
        record.header.expiresAt = 0
        record.header.sequence = sequence
        record.state = .ready
        record.startedAt = 0
        record.endedAt = 0
        (cancel, cancelAcknowledgedAt, progress) = (nil, nil, nil)
        (forced, cancelStoppedAt, standing) = (nil, nil, nil)
        hold = nil
    }
}
