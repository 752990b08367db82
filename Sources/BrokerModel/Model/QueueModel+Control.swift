import Operations

// MARK: - Cancel

extension QueueModel {
    /// The first request is the one that is remembered. A running operation's intent is stored before its owner is told.
    mutating func cancel(_ id: OperationID, request: CancelRequest) -> CancelOutcome {
        let intent = CancelIntent(at: now, by: request.by, reason: request.reason)
        guard let record = operations[id]?.record else {
            return cancelUntracked(id, intent: intent, stores: request.storesIntent)
        }
        let state = effectiveState(of: record)
        if state == .executing { return cancelExecuting(id, intent: intent) }
        if state.isTerminal { return .ended(state, at: endInstant(of: record)) }
        leavePlace(id, state: state)
        revise(id)
        operations[id]?.cancel = intent
        end(id, as: .cancelled)
        return .cancelled
    }

    /// When it ended; for one of a cancelled queue that is not cleared away yet, when that was cancelled.
    func endInstant(of record: OperationRecord) -> Int64 {
        record.state.isTerminal ? record.endedAt : queueCancel(of: record)?.at ?? 0
    }

    /// The first cancel of the whole queue that covers the operation: that which ended it.
    func queueCancel(of record: OperationRecord) -> CancelIntent? {
        batches.first { $0.sequence >= record.header.sequence }?.cancel ?? queueCancel
    }

    /// Takes a waiting operation out of its place; its reference stays in its lane.
    private mutating func leavePlace(_ id: OperationID, state: OperationState) {
        if state == .ready { leaveReady(id) }
        scheduled.remove(id)
        retrying.remove(id)
        expiring.remove(id)
    }

    private mutating func cancelExecuting(_ id: OperationID, intent: CancelIntent) -> CancelOutcome {
        guard let owner = owner(of: id) else { return .unknown(intentStored: false) }
        if operations[id]?.cancel == nil { operations[id]?.cancel = intent }
        return order(owner.fence, worker: owner.worker, intent: intent)
    }

    /// Who runs a tracked operation.
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

    /// An operation without a record is looked for among what runs; else its intent may be stored (10,000 a queue; the model
    /// keeps them for ever, the scripts for 24 h).
    private mutating func cancelUntracked(_ id: OperationID, intent: CancelIntent, stores: Bool) -> CancelOutcome {
        for (worker, held) in workers {
            if let fence = held.inFlight.first(where: { $0.value.id == id })?.key {
                return order(fence, worker: worker, intent: intent)
            }
        }
        guard stores, intents.count < Self.intentsKept else { return .unknown(intentStored: false) }
        intents[id] = intent
        return .unknown(intentStored: true)
    }

    mutating func cancelAll(_ request: CancelRequest) -> (waiting: Int, executing: Int) {
        let waiting = readyCount + scheduled.count + retrying.count
        let intent = CancelIntent(at: now, by: request.by, reason: request.reason)
        batches.append(
            CancelledBatch(
                sequence: sequence,
                cancel: intent,
                lanes: lanes,
                scheduled: scheduled,
                retrying: retrying,
                unhandled: unhandled
            )
        )
        unhandled = [:]
        lanes = [Lane](repeating: Lane(), count: lanes.count)
        (scheduled, retrying, expiring) = (ScoredSet(), ScoredSet(), ScoredSet())
        stale = 0
        (cancelledSequence, cancelledFence) = (sequence, fence)
        queueCancel = intent
        add("cancelled", waiting)
        if waiting > 0 { effects.counts[.cancelled, default: 0] += waiting }
        effects.messages.append((nil, .cancelThrough(queue: queue)))
        return (waiting, executingCount)
    }

    var readyCount: Int { lanes.reduce(0) { $0 + $1.count } - stale + unhandledCount }
    var executingCount: Int { workers.values.reduce(0) { $0 + $1.inFlight.count } }
}

// MARK: - Operators

extension QueueModel {
    mutating func steer(_ order: WorkerOrder, worker: String, by: String) -> Bool {
        guard leases[worker] != nil else { return false }
        workers[worker, default: HeldOperations()].settings.set(order, at: now, by: by)
        effects.messages.append((worker, .steered))
        return true
    }

    /// Dead, cancelled and expired ones get fresh attempts; scheduled and retrying ones keep theirs. A retried operation has a new
    /// revision and sequence, no expiry, and stands at the tail of its lane; errors, result and log stay.
    mutating func retry(_ id: OperationID) -> ChangeOutcome {
        guard let record = operations[id]?.record else { return .unknown }
        let state = effectiveState(of: record)
        switch state {
        case .dead, .cancelled, .expired:
            ended[state]?.remove(id)
            operations[id]?.record.header.failedAttempts = 0
            add("reopened")
        case .scheduled, .retrying:
            leavePlace(id, state: state)
        case .blocked, .ready, .executing, .finished:
            return .refused(state)
        }
        makeReady(id)
        return .done
    }

    private mutating func makeReady(_ id: OperationID) {
        revise(id)
        intents[id] = nil
        sequence += 1
        operations[id]?.unhandledName = nil
        operations[id]?.reopen(now: now, sequence: sequence)
        guard let header = operations[id]?.record.header else { return }
        let element = LaneElement(header: header, envelope: [])
        noteLarge(element)
        lanes[header.priority.lane].append(element)
        event(id, .ready)
        wake()
    }

    /// A removal is no end: those that had ended are not counted as removed.
    mutating func remove(_ id: OperationID) -> ChangeOutcome {
        guard let record = operations[id]?.record else { return .unknown }
        let state = effectiveState(of: record)
        if state == .executing { return .refused(.executing) }
        if state.isTerminal { ended[state]?.remove(id) } else { add("removed") }
        if !state.isTerminal { leavePlace(id, state: state) }
        operations[id] = nil
        return .done
    }

    mutating func setPaused(_ pauses: Bool, forMilliseconds duration: Int64?) {
        paused = pauses
        pausedUntil = pauses ? duration.map { now + max(1, $0) } : nil
        if pauses { announce(due: pausedUntil) } else { wake() }
    }
}

extension StoredOperation {
    fileprivate mutating func reopen(now: Int64, sequence: Int64) {
        record.header.delivery = 1
        record.header.readyAt = now
        record.header.expiresAt = 0
        record.header.sequence = sequence
        record.state = .ready
        record.startedAt = 0
        record.endedAt = 0
        (cancel, cancelAcknowledgedAt, progress) = (nil, nil, nil)
    }
}

// MARK: - What running operations write

extension QueueModel {
    /// Whether the call of that number was heard before; 0 is never a repeat.
    mutating func isRepeated(report number: Int, worker: String) -> Bool {
        guard number > 0 else { return false }
        defer { workers[worker, default: HeldOperations()].reports = max(number, workers[worker]?.reports ?? 0) }
        return number <= workers[worker]?.reports ?? 0
    }

    /// Reports of untracked operations are accepted and kept nowhere.
    mutating func report(_ report: Report, worker: String, isRepeat: Bool) -> Bool {
        guard workers[worker]?.inFlight[report.fence]?.id == report.id else { return false }
        switch report.content {
        case .progress(let fraction, let message):
            operations[report.id]?.progress = (fraction, message)
            effects.progressed.append(report.id)
        case .checkpoint(let bytes): operations[report.id]?.checkpoint = bytes
        case .log(let line): if !isRepeat { operations[report.id]?.keep(LogLine(line, at: now)) }
        case .cancelAcknowledged where operations[report.id]?.cancelAcknowledgedAt == nil:
            operations[report.id]?.cancelAcknowledgedAt = now
        case .cancelAcknowledged: break
        }
        return true
    }
}

extension StoredOperation {
    fileprivate mutating func keep(_ line: LogLine) {
        if logStarts.last?.attempt != record.attempt {
            logStarts.append(LogStart(attempt: record.attempt, line: logBase + log.count))
        }
        log.append(line)
        var bytes = log.reduce(0) { $0 + $1.text.count }
        while log.count > Defaults.logLines || bytes > Defaults.logBytes {
            bytes -= log.removeFirst().text.count
            logBase += 1
        }
    }
}
