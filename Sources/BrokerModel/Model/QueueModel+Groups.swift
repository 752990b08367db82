import Operations

/// The stored state of a group, besides its members, which are its dependencies.
struct StoredGroup {
    var terms: GroupTerms
    /// How many members have ended without finishing.
    var misses = 0
    /// Callbacks that start when the first member dies.
    var deathCallbacks: [OperationID] = []
    /// Whether a member has died.
    var hasDeath = false
}

// A group never runs. A group is blocked while it is open or has members that have not ended, and then ends by itself.
extension QueueModel {
    static let lookAgain: Int64 = 10_000
    static let deathCallbacks = GroupTerms.mostDeathCallbacks
    static let climbs = 200

    func takesMembers(_ id: OperationID) -> Bool {
        guard let stored = operations[id], stored.group != nil, stored.cancel == nil else { return false }
        return [.blocked, .dead].contains(effectiveState(of: stored.record))
    }

    /// The first of the groups that accepts no more members; nil = all of them accept members.
    func groupWithoutRoom(_ ids: [OperationID]) -> OperationID? {
        ids.first { id in
            let isFull = (needs[id]?.count ?? 0) + (open.contains(id) ? 1 : 0) >= GroupTerms.mostMembers
            return !takesMembers(id) || isFull
        }
    }

    mutating func renewGroup(_ id: OperationID) {
        guard open.contains(id), let terms = operations[id]?.group?.terms, terms.leaseMilliseconds > 0 else { return }
        openGroups.insert(id, score: now + terms.leaseMilliseconds)
    }

    /// Makes a new operation a member. An earlier operation with its id may have been one.
    mutating func enter(_ id: OperationID, group: OperationID) {
        openGroupAgain(group)
        renewGroup(group)
        waitAgain(group, for: DependencyName(id))
        note(group: group, of: id)
        dependencies.insert(id)
        let sequence = operations[id]?.record.header.sequence ?? 0
        dependents[DependencyName(id), default: ScoredSet()].insert(group, score: sequence - 1)
    }

    /// Makes a group wait again for a member that is enqueued anew or retried.
    private mutating func waitAgain(_ group: OperationID, for name: DependencyName) {
        let before = needs[group]?[name]
        needs[group, default: [:]][name] = Need(policy: .member, end: nil)
        if let end = before?.end { noteMemberEnd(of: group, before: end, .finished) }
    }

    /// Makes the groups of this queue wait again for an operation that is retried or opened again.
    mutating func waitForRetry(of id: OperationID) {
        for group in operations[id]?.groups ?? [] {
            guard let need = needs[group]?[DependencyName(id)], need.policy == .member, need.end != nil,
                takesMembers(group)
            else { continue }
            openGroupAgain(group)
            waitAgain(group, for: DependencyName(id))
        }
    }

    /// How many dependents of an operation in another queue wait for it again after its retry.
    private static let dependentsTold = 100
    mutating func waitForRemote(_ name: DependencyName) {
        for group in (dependents[name]?.entries ?? []).prefix(Self.dependentsTold).map(\.id) {
            guard let need = needs[group]?[name], need.policy == .member, need.end != nil, takesMembers(group) else {
                continue
            }
            openGroupAgain(group)
            waitAgain(group, for: name)
        }
    }

    mutating func note(group: OperationID, of id: OperationID) {
        guard operations[id]?.groups.contains(group) == false else { return }
        operations[id]?.groups.append(group)
    }

    mutating func noteDeathCallback(_ id: OperationID, of group: OperationID) {
        guard operations[group]?.group?.deathCallbacks.contains(id) == false else { return }
        operations[group]?.group?.deathCallbacks.append(id)
    }

    /// Blocks a dead group again, so it takes members. The groups around it are opened as well, in each call those of
    /// the first 200 groups.
    mutating func openGroupAgain(_ id: OperationID) {
        guard operations[id]?.record.state == .dead else { return }
        ended[.dead]?.remove(id)
        takeBackEnd(of: id)
        raiseSequence(of: id)
        operations[id]?.record.state = .blocked
        operations[id]?.record.endedAt = 0
        blocked.insert(id, score: now)
        event(id, .blocked)
        climbs += 1
        if climbs <= Self.climbs { waitForRetry(of: id) }
    }

    private mutating func raiseSequence(of id: OperationID) {
        sequence += 1
        operations[id]?.record.header.sequence = sequence
        add("reopened")
    }

    private func end(ofGroup id: OperationID) -> OperationState {
        guard operations[id]?.cancel == nil else { return .cancelled }
        return operations[id]?.group?.misses ?? 0 > 0 ? .dead : .finished
    }

    /// Ends a closed group whose members have all ended.
    mutating func endGroup(_ id: OperationID) {
        leavePlace(id, state: .blocked)
        end(id, as: end(ofGroup: id))
    }

    /// Finishes a dead group if the last member that had not finished now has.
    mutating func endGroupAgain(_ id: OperationID) {
        guard operations[id]?.record.state == .dead, end(ofGroup: id) == .finished else { return }
        ended[.dead]?.remove(id)
        takeBackEnd(of: id)
        raiseSequence(of: id)
        end(id, as: .finished)
    }

    /// Counts the end of a member in place of its end before.
    ///
    /// - Returns: whether the member had ended without finishing and now counts as finished.
    @discardableResult
    mutating func noteMemberEnd(of group: OperationID, before: DependencyEnd?, _ end: DependencyEnd?) -> Bool {
        func isMiss(_ end: DependencyEnd?) -> Int { end == nil || end == .finished ? 0 : 1 }
        let misses = isMiss(end) - isMiss(before)
        operations[group]?.group?.misses += misses
        if end == .dead { startDeathCallbacks(of: group) }
        return misses < 0
    }

    private mutating func startDeathCallbacks(of group: OperationID) {
        operations[group]?.group?.hasDeath = true
        let callbacks = operations[group]?.group?.deathCallbacks ?? []
        operations[group]?.group?.deathCallbacks = []
        for id in callbacks where needs[id]?.removeValue(forKey: DependencyName(group)) != nil {
            if needs[id]?.isEmpty ?? false { needs[id] = nil }
            forget(id, of: DependencyName(group))
            leaveBlocked(id)
        }
    }

    /// Drops a callback that is not needed, because of how its group ended. The call erases it at its end.
    mutating func dropCallback(_ id: OperationID) {
        guard let record = operations[id]?.record, effectiveState(of: record) == .blocked else { return }
        leavePlace(id, state: .blocked)
        endLinks(of: id, .removed)
        needlessCallbacks.append(id)
    }

    mutating func eraseNeedlessCallbacks() {
        for id in needlessCallbacks {
            erase(id)
            add("removed")
        }
        needlessCallbacks = []
    }

    /// Whether the operation is a callback that its group has not started.
    func isCallback(_ id: OperationID) -> Bool {
        needs[id]?.values.contains { ($0.policy == .success || $0.policy == .death) && !$0.isMet } ?? false
    }

    /// Whether the operation is a callback that its group will never start.
    func isHopelessCallback(_ id: OperationID) -> Bool {
        needs[id]?.values.contains { need in
            !need.isMet && (need.policy.neverSucceeds(after: need.end) || need.policy == .death && need.end != nil)
        } ?? false
    }

    func holds(_ run: RunClaim) -> Bool {
        guard let element = workers[run.worker.description]?.inFlight[run.fence] else { return false }
        return element.id == run.id && element.header.tracked && operations[run.id] != nil
    }

    mutating func openRun(_ run: RunClaim, _ group: OperationID) {
        operations[group]?.group = StoredGroup(terms: GroupTerms(ifAbandoned: .cancel, leaseMilliseconds: 0))
        operations[run.id]?.runGroup = group
        setLinked(run.id)
    }

    /// Ends the group of a run. Operations that the body enqueued for this end start after a completion, and are
    /// removed otherwise.
    mutating func endRun(of id: OperationID, isCompleted: Bool) {
        guard let group = operations[id]?.runGroup else { return }
        operations[id]?.runGroup = nil
        guard let record = operations[group]?.record, effectiveState(of: record) == .blocked,
            open.remove(group) != nil
        else { return }
        if !isCompleted {
            let reason = "the run that enqueued it ended without finishing"
            operations[group]?.cancel = CancelIntent(at: now, by: "run", reason: reason)
        }
        leaveBlocked(group)
    }

    /// Cancels a group.
    ///
    /// - Returns: whether the group has ended. If not, workers cancel its members until they have ended.
    mutating func cancelGroup(_ id: OperationID, _ intent: CancelIntent) -> Bool {
        if operations[id]?.cancel == nil { operations[id]?.cancel = intent }
        open.remove(id)
        leaveBlocked(id)
        guard operations[id]?.record.state == .blocked else { return true }
        openGroups.insert(id, score: now + Self.lookAgain)
        return false
    }

    /// Looks at a group that is due: an open one whose opener was silent for its lease, or a cancelled one with members
    /// that have not ended.
    mutating func lookAtGroup(_ id: OperationID, _ questions: inout RemoteQuestions) {
        guard let stored = operations[id], let terms = stored.group?.terms,
            effectiveState(of: stored.record) == .blocked
        else {
            openGroups.remove(id)
            return
        }
        if open.contains(id) {
            guard !isOutage(lease: terms.leaseMilliseconds) else {
                openGroups.insert(id, score: now + Self.lookAgain)
                return
            }
            switch terms.ifAbandoned {
            case .cancel:
                let reason = "the opener of the group was silent for \(terms.leaseMilliseconds) ms"
                _ = cancelGroup(id, CancelIntent(at: now, by: "worker", reason: reason))
            case .close:
                open.remove(id)
                leaveBlocked(id)
            }
        }
        guard operations[id]?.cancel != nil, operations[id]?.record.state == .blocked else {
            openGroups.remove(id)
            return
        }
        questions.cancelled.append(id)
        openGroups.insert(id, score: now + Self.lookAgain)
    }

    /// Whether an outage explains the opener's silence. After an outage an opener gets the time of another lease. Only
    /// a heartbeat notices an outage.
    private func isOutage(lease: Int64) -> Bool {
        let seen = lastSeen ?? now
        return leaseFloor + lease >= now || now < seen || longestGap.map { now - seen > $0 } ?? false
    }
}
