import Operations

// What every end of an operation has in common.
extension QueueModel {
    /// Ends a record. `usesAttempt`: the run that ended counts as one of its attempts.
    mutating func end(_ id: OperationID, as state: OperationState, usesAttempt: Bool = false) {
        if usesAttempt { countAttempt(of: id) }
        noteEnd(id, as: state, at: now)
        add(state.rawValue)
        event(id, state)
    }

    /// What every end of an operation with a record comes through, at once or when its cancelled batch is cleared away.
    mutating func noteEnd(_ id: OperationID, as state: OperationState, at time: Int64) {
        operations[id]?.record.state = state
        operations[id]?.record.endedAt = time
        ended[state, default: ScoredSet()].insert(id, score: time)
        endedInCall[state, default: 0] += 1
        if let end = DependencyEnd(state) { endLinks(of: id, end) }
    }

    mutating func countAttempt(of id: OperationID) {
        guard let failed = operations[id]?.record.header.failedAttempts else { return }
        operations[id]?.record.header.failedAttempts = min(failed + 1, Defaults.maxAttempts)
    }

    mutating func keepError(_ error: [UInt8], of id: OperationID) {
        guard !error.isEmpty else { return }
        operations[id]?.errors.append(FailedAttempt(at: now, error: error))
        let surplus = (operations[id]?.errors.count ?? 0) - Defaults.errorsKept
        if surplus > 0 { operations[id]?.errors.removeFirst(surplus) }
    }

    /// A call that ended n operations removes at most 2n old ones of the same state: those beyond the age, else those beyond
    /// the count; never one younger than 10 s, nor one that was awaited within 60 s.
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
