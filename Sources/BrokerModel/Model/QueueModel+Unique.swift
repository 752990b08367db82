import Operations

extension UniqueClaim {
    /// Whether nothing is enqueued while another operation is in flight.
    var yields: Bool { policy == .join || policy == .skip }
}

/// The holder of a unique key.
struct KeyHolder {
    enum Claim: Equatable {
        /// The operation waits or executes, if its record says so; otherwise the key is free.
        case inFlight
        /// The operation has finished, and its result is fresh until this time.
        case fresh(until: Int64)
        /// A forced cancel has ended the operation, and its body may still run in this worker.
        case stopping(worker: String)
    }

    var id: OperationID
    var claim = Claim.inFlight
}

// Unique keys: at most one operation holds a key; others are refused or wait for their turn.
extension QueueModel {
    private static let supersededAtOnce = 100
    private static let freshForgottenAtOnce = 4

    enum KeyDecision {
        case start
        /// Wait until the holder of the key has ended.
        case wait
        case refuse(EnqueueOutcome)
    }

    /// Decides what happens to a new operation, and cancels the operations that it replaces.
    mutating func claimKey(_ claim: UniqueClaim, for id: OperationID) -> KeyDecision {
        guard let holder = holder(of: claim.key) else { return give(claim.key, to: id) }
        let yields = claim.yields
        if case .fresh = holder.claim {
            return yields ? .refuse(.taken(by: holder.id)) : give(claim.key, to: id)
        }
        if yields {
            let last = lastBehind(claim.key)
            if last == nil, isStopping(holder) { return .wait }
            return .refuse(.taken(by: last?.id ?? holder.id))
        }
        if claim.policy == .enqueue { return .wait }
        return supersede(holder, claim, by: id)
    }

    private mutating func supersede(_ holder: KeyHolder, _ claim: UniqueClaim, by id: OperationID) -> KeyDecision {
        let waiting = live(behind: claim.key)
        guard waiting.count <= Self.supersededAtOnce else { return .refuse(.crowded) }
        let request = CancelRequest(reason: "replaced by \(id)", by: "unique")
        for entry in waiting { _ = cancel(entry.id, request: request) }
        let isWaiting = holder.claim == .inFlight && operations[holder.id]?.record.state != .executing
        if isWaiting || claim.policy == .replace && holder.claim == .inFlight {
            _ = cancel(holder.id, request: request)
        }
        return isWaiting ? give(claim.key, to: id) : .wait
    }

    private mutating func give(_ key: String, to id: OperationID) -> KeyDecision {
        keys[key] = KeyHolder(id: id)
        return .start
    }

    private mutating func lastBehind(_ key: String) -> ScoredSet.Entry? {
        while let last = behind[key]?.entries.last, last.score > cancelledSequence {
            guard let record = operations[last.id]?.record, isOverdue(record, effectiveState(of: record)) else {
                return last
            }
            expire(last.id)
        }
        return nil
    }

    /// The holder of a key; nil = the key is free. A holder that waits beyond its deadline ends, and the next operation
    /// gets the key.
    private mutating func holder(of key: String) -> KeyHolder? {
        guard let holder = keys[key] else { return nil }
        if holder.claim == .inFlight, let record = operations[holder.id]?.record,
            isOverdue(record, effectiveState(of: record))
        {
            expire(holder.id)
            passKeys()
            return self.holder(of: key)
        }
        let isHeld =
            switch holder.claim {
            case .inFlight: operations[holder.id].map { !effectiveState(of: $0.record).isTerminal } ?? false
            case .fresh(let end): end > now && operations[holder.id] != nil
            case .stopping(let worker): leases[worker] != nil
            }
        return isHeld ? holder : nil
    }

    /// The operations that keep keys from operations that start again; nil = the key is free, or has a fresh result.
    func keyHolders(_ names: [String]) -> [OperationID?] {
        names.map { name in
            guard let holder = keys[name] else { return nil }
            switch holder.claim {
            case .fresh: return nil
            case .stopping(let worker): return leases[worker] == nil ? nil : holder.id
            case .inFlight:
                let record = operations[holder.id]?.record
                return record.map { shownState(of: $0).isTerminal } ?? true ? nil : holder.id
            }
        }
    }

    private func isStopping(_ holder: KeyHolder) -> Bool {
        guard holder.claim == .inFlight else { return true }
        guard operations[holder.id]?.record.state == .executing else { return false }
        guard let owner = owner(of: holder.id) else { return false }
        return isCancelled(fence: owner.fence, order: workers[owner.worker]?.cancelling[owner.fence])
    }

    /// The operations that wait behind a key. Operations ended by a cancel of the whole queue are left out.
    private func live(behind key: String) -> [ScoredSet.Entry] {
        (behind[key]?.entries ?? []).filter { $0.score > cancelledSequence }
    }
}

// MARK: - Turns

extension QueueModel {
    /// Lets a new operation wait for its turn at its key.
    mutating func waitForTurn(_ id: OperationID, _ key: String) {
        behind[key, default: ScoredSet()].insert(id, score: operations[id]?.record.header.sequence ?? 0)
        operations[id]?.waitsForTurn = true
    }

    /// Frees the key of an operation that has ended or is removed.
    mutating func endTurn(of id: OperationID) {
        guard let key = operations[id]?.unique?.key else { return }
        leaveTurn(id, key)
        freedKeys.append((key, id))
    }

    private mutating func leaveTurn(_ id: OperationID, _ key: String) {
        behind[key]?.remove(id)
        if behind[key]?.count == 0 { behind[key] = nil }
    }

    /// Passes freed keys on. An operation that took a key meanwhile keeps it.
    mutating func passKeys() {
        guard !freedKeys.isEmpty else { return }
        for (key, id) in freedKeys where keys[key]?.id == id && keys[key]?.claim == .inFlight { pass(key, from: id) }
        freedKeys = []
        forgetResults()
    }

    private mutating func pass(_ key: String, from id: OperationID) {
        guard let next = live(behind: key).first?.id else { return keepResult(key, of: id) }
        keys[key] = KeyHolder(id: next)
        leaveTurn(next, key)
        operations[next]?.waitsForTurn = false
        leaveBlocked(next)
    }

    /// Makes a blocked operation ready, or scheduled if its time is still to come.
    mutating func start(_ id: OperationID) {
        guard let header = operations[id]?.record.header else { return }
        if header.readyAt > now {
            operations[id]?.record.state = .scheduled
            scheduled.insert(id, score: header.readyAt)
            event(id, .scheduled)
            startableAt = min(startableAt ?? .max, header.readyAt)
            return
        }
        operations[id]?.record.state = .ready
        operations[id]?.record.header.readyAt = now
        // An operation that has run was retried or held before it waited.
        operations[id]?.record.startedAt = 0
        guard let header = operations[id]?.record.header else { return }
        event(id, .ready)
        if enterKey(id) { return }
        lanes[header.priority.lane].append(LaneElement(header: header, envelope: []))
        wasBlocked = true
    }

    private mutating func keepResult(_ key: String, of id: OperationID) {
        guard let operation = operations[id], let unique = operation.unique, unique.freshMilliseconds > 0,
            operation.record.state == .finished
        else {
            keys[key] = nil
            return
        }
        let end = operation.record.endedAt + unique.freshMilliseconds
        keys[key]?.claim = .fresh(until: end)
        freshKeys[key] = end
    }

    private mutating func forgetResults() {
        let old = freshKeys.filter { $0.value <= now }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        for (key, _) in old.prefix(Self.freshForgottenAtOnce) {
            if case .fresh(let end) = keys[key]?.claim, end <= now { keys[key] = nil }
            freshKeys[key] = nil
        }
    }
}

// MARK: - Forced cancels and retries

extension QueueModel {
    /// Keeps the key of an operation that a forced cancel has ended, because its body may continue.
    mutating func keepKey(of id: OperationID, worker: String) {
        guard let key = operations[id]?.unique?.key, keys[key]?.id == id else { return }
        keys[key]?.claim = .stopping(worker: worker)
    }

    /// Frees the key of an operation whose body has stopped, or whose worker is gone.
    mutating func freeStoppedKey(of id: OperationID) {
        guard let key = operations[id]?.unique?.key, let holder = keys[key], holder.id == id,
            case .stopping = holder.claim
        else { return }
        keys[key]?.claim = .inFlight
        freedKeys.append((key, id))
    }

    mutating func freeStoppedKeys(of worker: String) {
        for id in (workers[worker]?.forced.values.map(\.id) ?? []).sorted() { freeStoppedKey(of: id) }
    }

    /// Takes the key for an ended operation that is to be in flight again.
    ///
    /// - Returns: the other holder of the key; nil = the operation has the key now, or needs none.
    mutating func reclaimKey(of id: OperationID) -> OperationID? {
        guard let key = operations[id]?.unique?.key else { return nil }
        if let holder = holder(of: key) {
            if case .stopping = holder.claim { return holder.id }
            if holder.claim == .inFlight, holder.id != id { return holder.id }
        }
        keys[key] = KeyHolder(id: id)
        leaveTurn(id, key)
        operations[id]?.waitsForTurn = false
        return nil
    }
}
