import Operations

// Steps that every end of an operation shares.
extension QueueModel {
    /// Ends a record.
    ///
    /// - Parameter usesAttempt: whether the ended run counts as one of the operation's attempts.
    mutating func end(_ id: OperationID, as state: OperationState, usesAttempt: Bool = false) {
        if usesAttempt { countAttempt(of: id) }
        noteEnd(id, as: state, at: now)
        add(state.rawValue)
        event(id, state)
    }

    /// Stores the end of an operation with a record. Every end passes here, at once or when a cancelled batch is
    /// cleared away.
    mutating func noteEnd(_ id: OperationID, as state: OperationState, at time: Int64) {
        operations[id]?.record.state = state
        operations[id]?.record.endedAt = time
        ended[state, default: ScoredSet()].insert(id, score: time)
        endedInCall[state, default: 0] += 1
        if let end = DependencyEnd(state) { endLinks(of: id, end) }
    }

    mutating func countAttempt(of id: OperationID) {
        guard let failed = operations[id]?.record.header.failedAttempts else { return }
        operations[id]?.record.header.failedAttempts = min(failed + 1, SluiceDefaults.maxAttempts)
    }

    mutating func keepError(_ error: [UInt8], of id: OperationID) {
        guard !error.isEmpty else { return }
        operations[id]?.errors.append(FailedAttempt(at: now, error: error))
        let surplus = (operations[id]?.errors.count ?? 0) - SluiceDefaults.errorsKept
        if surplus > 0 { operations[id]?.errors.removeFirst(surplus) }
    }

    /// Trims old ended operations. A call that ended n operations removes at most 2n old ones of the same state: those
    /// beyond the age, otherwise those beyond the count. The count limit removes none younger than 10 s. Operations
    /// awaited within the last 60 s stay.
    mutating func trimEnded() {
        for (state, number) in endedInCall {
            for id in surplus(state, limit: 2 * number) {
                ended[state]?.remove(id)
                if state != .finished { noteRemoval(of: id) }
                erase(id)
                add("trimmed")
            }
        }
        endedInCall = [:]
        if hasNewOutbox { goOn() }
    }

    private func surplus(_ state: OperationState, limit: Int) -> [OperationID] {
        guard let set = ended[state], let kept = retention[state] else { return [] }
        let over = set.count - kept.count
        let old = set.entries.enumerated().lazy.prefix { rank, entry in
            let age = now - entry.score
            return age >= kept.ageMilliseconds || rank < over && age >= Self.leastRetentionMilliseconds
        }
        return Array(old.map(\.element.id).filter { !isAwaited($0) }.prefix(limit))
    }

    private func isAwaited(_ id: OperationID) -> Bool {
        awaited[id].map { now - $0 <= Self.awaitedMilliseconds } ?? false
    }
}
