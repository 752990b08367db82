import Operations

/// What is kept of a group besides its members, which are its needs.
struct StoredGroup {
    var terms: GroupTerms
    /// How many members have ended otherwise than finished.
    var misses = 0
    /// What starts when the first member is dead.
    var deathCallbacks: [OperationID] = []
}

// A group never runs. It is blocked as long as it is open or members of it have not ended, and then it ends by itself.
extension QueueModel {
    static let abandonedAgain: Int64 = 10_000

    func takesMembers(_ id: OperationID) -> Bool {
        guard let stored = operations[id], stored.group != nil, stored.cancel == nil else { return false }
        return [.blocked, .dead].contains(effectiveState(of: stored.record))
    }

    /// The first of these groups that takes no more members.
    func groupWithoutRoom(_ ids: [OperationID]) -> OperationID? {
        ids.first { !takesMembers($0) || needs[$0]?.count ?? 0 > GroupTerms.mostMembers - Defaults.batch }
    }

    mutating func renewGroup(_ id: OperationID) {
        guard open.contains(id), let terms = operations[id]?.group?.terms, terms.leaseMilliseconds > 0 else { return }
        openGroups.insert(id, score: now + terms.leaseMilliseconds)
    }

    /// A new operation becomes a member.
    mutating func enter(_ id: OperationID, group: OperationID) {
        openGroupAgain(group)
        renewGroup(group)
        needs[group, default: [:]][DependencyName(id)] = Need(policy: .member, end: nil)
        dependencies.insert(id)
        let sequence = operations[id]?.record.header.sequence ?? 0
        dependents[DependencyName(id), default: ScoredSet()].insert(group, score: sequence - 1)
    }

    /// It has ended as dead, and is blocked again.
    mutating func openGroupAgain(_ id: OperationID) {
        guard operations[id]?.record.state == .dead else { return }
        ended[.dead]?.remove(id)
        takeBackEnd(of: id)
        raiseSequence(of: id)
        operations[id]?.record.state = .blocked
        operations[id]?.record.endedAt = 0
        blocked.insert(id, score: now)
        event(id, .blocked)
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

    /// It is closed, and all its members have ended.
    mutating func endGroup(_ id: OperationID) {
        leavePlace(id, state: .blocked)
        end(id, as: end(ofGroup: id))
    }

    /// It was dead, and a member that was tried again has finished: that may have been the last that had not.
    mutating func endGroupAgain(_ id: OperationID) {
        guard operations[id]?.record.state == .dead, end(ofGroup: id) == .finished else { return }
        ended[.dead]?.remove(id)
        takeBackEnd(of: id)
        raiseSequence(of: id)
        end(id, as: .finished)
    }

    /// A member has ended in this way, and before in that one.
    ///
    /// - Returns: whether it had not finished, and has now.
    @discardableResult
    mutating func noteMemberEnd(of group: OperationID, before: DependencyEnd?, _ end: DependencyEnd?) -> Bool {
        func isMiss(_ end: DependencyEnd?) -> Int { end == nil || end == .finished ? 0 : 1 }
        let misses = isMiss(end) - isMiss(before)
        operations[group]?.group?.misses += misses
        if end == .dead { startDeathCallbacks(of: group) }
        return misses < 0
    }

    private mutating func startDeathCallbacks(of group: OperationID) {
        let callbacks = operations[group]?.group?.deathCallbacks ?? []
        operations[group]?.group?.deathCallbacks = []
        for id in callbacks where needs[id]?.removeValue(forKey: DependencyName(group)) != nil {
            if needs[id]?.isEmpty ?? false { needs[id] = nil }
            forget(id, of: DependencyName(group))
            leaveBlocked(id)
        }
    }

    /// Its group has ended in a way in which this callback may not be needed: then it goes at the end of the call.
    mutating func dropCallback(_ id: OperationID, _ policy: NeedPolicy, _ end: DependencyEnd) {
        guard policy == .death || (end != .finished && end != .dead), let record = operations[id]?.record,
            effectiveState(of: record) == .blocked
        else { return }
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

    func holds(_ run: RunClaim) -> Bool {
        guard let element = workers[run.worker.description]?.inFlight[run.fence] else { return false }
        return element.id == run.id && element.header.tracked && operations[run.id] != nil
    }

    mutating func openRun(_ run: RunClaim, _ group: OperationID) {
        operations[group]?.group = StoredGroup(terms: GroupTerms(ifAbandoned: .cancel, leaseMilliseconds: 0))
        operations[run.id]?.runGroup = group
        setLinked(run.id)
    }

    /// A run has ended for which its body has enqueued others: with a completion they start, otherwise they go.
    mutating func endRun(of id: OperationID, isCompleted: Bool) {
        guard let group = operations[id]?.runGroup else { return }
        operations[id]?.runGroup = nil
        guard let record = operations[group]?.record, effectiveState(of: record) == .blocked,
            open.remove(group) != nil
        else { return }
        if !isCompleted {
            operations[group]?.cancel = CancelIntent(at: now, by: "run", reason: "the run has not finished")
        }
        leaveBlocked(group)
    }

    /// - Returns: whether it has ended.
    mutating func cancelGroup(_ id: OperationID, _ intent: CancelIntent) -> Bool {
        if operations[id]?.cancel == nil { operations[id]?.cancel = intent }
        open.remove(id)
        leaveBlocked(id)
        return operations[id]?.record.state != .blocked
    }

    mutating func lookAtOpener(of id: OperationID, _ questions: inout RemoteQuestions) {
        guard open.contains(id), let terms = operations[id]?.group?.terms else {
            openGroups.remove(id)
            return
        }
        questions.abandoned.append(AbandonedGroup(id, terms.ifAbandoned))
        openGroups.insert(id, score: now + Self.abandonedAgain)
    }
}
