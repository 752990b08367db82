import Operations

extension QueueModel {
    /// Enqueues operations. A tracked operation is created once per id; an untracked one is not looked for. Every
    /// operation of the call uses a sequence number, even if it exists already.
    mutating func enqueue(_ new: [NewOperation]) -> [EnqueueOutcome] {
        var earliest: Int64?
        noteLarge(new.map { OperationHeader.byteCount + $0.envelope.count }.max() ?? 0)
        let outcomes = new.map { operation -> EnqueueOutcome in
            sequence += 1
            if operation.tracked, operations[operation.id] != nil { return .exists }
            let header = stamped(operation)
            var needs = readNeeds(operation.links)
            if let unknown = needs.unknown { return .unknownDependency(unknown) }
            if let group = groupWithoutRoom(operation.links?.groups ?? []) ?? needs.needless {
                return .closedGroup(group)
            }
            if let run = operation.links?.run {
                guard holds(run) else { return .staleRun }
                if let known = operations[run.id]?.runGroup { return .taken(by: known) }
            }
            var waitsForTurn = false
            if let unique = operation.links?.unique, unique.yields || needs.failed == nil {
                switch claimKey(unique, for: operation.id) {
                case .refuse(let outcome): return outcome
                case .wait: waitsForTurn = true
                case .start: break
                }
                // The claim of the key may have cancelled a dependency.
                needs = readNeeds(operation.links)
            }
            let isOpen =
                operation.links?.isOpen ?? false || operation.links?.group != nil || operation.links?.run != nil
            if waitsForTurn || !needs.isMet || isOpen {
                storeBlocked(operation, header: header)
                if waitsForTurn, let key = operation.links?.unique?.key { waitForTurn(operation.id, key) }
                if header.expiresAt > 0 { earliest = min(earliest ?? .max, header.expiresAt) }
            } else {
                store(operation, header: header)
                earliest = [earliest, firstInstant(of: operation, header: header)].compactMap { $0 }.min()
            }
            operations[operation.id]?.unique = operation.links?.unique
            operations[operation.id]?.group = operation.links?.group.map { StoredGroup(terms: $0) }
            if let tells = operation.links?.tells, !tells.isEmpty { dependentQueues[operation.id] = tells }
            if isOpen { open.insert(operation.id) }
            renewGroup(operation.id)
            if let run = operation.links?.run { openRun(run, operation.id) }
            for group in operation.links?.groups ?? [] { enter(operation.id, group: group) }
            addNeeds(operation.id, needs)
            return .created
        }
        announce(due: earliest)
        return outcomes
    }

    private mutating func noteLarge(_ bytes: Int) {
        if bytes > Self.usualBytes { largest = max(largest, bytes) }
    }

    /// Notes the size of an operation that returns to a lane, or may return.
    mutating func noteLarge(_ element: LaneElement) {
        noteLarge(OperationHeader.byteCount + envelope(of: element).count)
    }

    private func stamped(_ operation: NewOperation) -> OperationHeader {
        OperationHeader(
            id: operation.id,
            tracked: operation.tracked,
            linked: operation.links != nil,
            hasLimitKey: operation.links?.limitKey != nil,
            priority: operation.priority,
            readyAt: now + operation.delayMilliseconds,
            expiresAt: operation.expiresMilliseconds > 0 ? now + operation.expiresMilliseconds : 0,
            sequence: sequence
        )
    }

    private mutating func store(_ operation: NewOperation, header: OperationHeader) {
        let isDelayed = operation.delayMilliseconds > 0
        let state: OperationState = isDelayed ? .scheduled : .ready
        add("enqueued")
        event(operation.id, state, isNew: true)
        if operation.tracked {
            let record = OperationRecord(
                header: header,
                state: state,
                enqueuedAt: now,
                envelope: operation.envelope
            )
            operations[operation.id] = StoredOperation(record: record)
            operations[operation.id]?.limitKey = operation.links?.limitKey
            if header.expiresAt > 0 { expiring.insert(operation.id, score: header.expiresAt) }
        }
        if isDelayed { return scheduled.insert(operation.id, score: header.readyAt) }
        if enterKey(operation.id) { return }
        let envelope = operation.tracked ? [] : operation.envelope
        lanes[operation.priority.lane].append(LaneElement(header: header, envelope: envelope))
        wakeForReady()
    }

    /// Stores a new operation as blocked: it waits for its turn at a unique key or for dependencies, or it is open.
    private mutating func storeBlocked(_ operation: NewOperation, header: OperationHeader) {
        add("enqueued")
        event(operation.id, .blocked, isNew: true)
        let record = OperationRecord(header: header, state: .blocked, enqueuedAt: now, envelope: operation.envelope)
        operations[operation.id] = StoredOperation(record: record)
        operations[operation.id]?.limitKey = operation.links?.limitKey
        if header.expiresAt > 0 { expiring.insert(operation.id, score: header.expiresAt) }
        blocked.insert(operation.id, score: now)
    }

    private func firstInstant(of operation: NewOperation, header: OperationHeader) -> Int64? {
        let due = operation.delayMilliseconds > 0 ? header.readyAt : nil
        let deadline = operation.tracked && header.expiresAt > 0 ? header.expiresAt : nil
        return [due, deadline].compactMap { $0 }.min()
    }
}
