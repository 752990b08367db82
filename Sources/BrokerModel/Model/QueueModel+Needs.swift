import Operations

/// A dependency of an operation.
struct Need: Equatable {
    var policy: NeedPolicy
    /// The last end of the dependency that was reported to the operation.
    var end: DependencyEnd?
    /// For a callback: whether its group already had a dead member.
    var isSeen = false

    /// Whether the dependency no longer blocks the operation.
    var isMet: Bool {
        guard let end, !isSeen else { return isSeen }
        return policy.isMet(byEnd: end == .finished)
    }

    /// The text that the scripts store.
    var text: String { "\(policy.rawValue) \(end?.letter ?? "-")" }
}

/// How a dependency ended, in the order of the scripts.
enum DependencyEnd: Int64, CaseIterable {
    case finished, dead, cancelled, expired, removed

    init?(_ state: OperationState) {
        switch state {
        case .finished: self = .finished
        case .dead: self = .dead
        case .cancelled: self = .cancelled
        case .expired: self = .expired
        case .ready, .scheduled, .retrying, .blocked, .executing: return nil
        }
    }

    var state: OperationState? {
        switch self {
        case .finished: .finished
        case .dead: .dead
        case .cancelled: .cancelled
        case .expired: .expired
        case .removed: nil
        }
    }

    var letter: String { String(Array("fdcem")[Int(rawValue)]) }

    /// The words in the reason of a cancel.
    var words: String {
        switch self {
        case .finished: "has finished"
        case .dead: "is dead"
        case .cancelled: "is cancelled"
        case .expired: "has expired"
        case .removed: "was removed"
        }
    }

    func score(_ sequence: Int64) -> Int64 { sequence * Int64(Self.allCases.count) + rawValue }

    static func read(score: Int64) -> (sequence: Int64, end: DependencyEnd) {
        let (sequence, place) = score.quotientAndRemainder(dividingBy: Int64(allCases.count))
        return (sequence, DependencyEnd(rawValue: place) ?? .removed)
    }
}

/// The dependencies of a new operation, as read.
struct NeedsReading {
    /// The dependencies. `heard` is the dependency's sequence at the last end that was reported to the operation.
    var needs: [(name: DependencyName, need: Need, heard: Int64)] = []
    var unknown: OperationID?
    /// The group that does not need the callback any more, or that is no group.
    var needless: OperationID?

    var isMet: Bool { needs.allSatisfy { $0.need.isMet } }

    /// The first dependency that cancels the operation at once. Such an operation replaces no other one at a unique
    /// key.
    var failed: (name: DependencyName, end: DependencyEnd)? {
        for (name, need, _) in needs where need.policy == .cancel && !need.isMet {
            if let end = need.end { return (name, end) }
        }
        return nil
    }
}

// Operations with dependencies wait until these have ended.
extension QueueModel {
    static let resolvedAtOnce = 50
    static let edgesAtOnce = 500
    static let resolvedBySweep = 100
    static let sweptAtOnce = 50

    func unmetCount(of id: OperationID) -> Int {
        (needs[id]?.values.count { !$0.isMet } ?? 0) + (open.contains(id) ? 1 : 0)
    }

    /// Reads the dependencies of a new operation as they are now.
    ///
    /// - Returns: the dependencies in their order, or the id of the first unknown one.
    mutating func readNeeds(_ links: OperationLinks?) -> NeedsReading {
        var reading = NeedsReading()
        for (name, policy) in links?.kept ?? [] {
            guard let (need, heard) = readNeed(name, policy, links?.said[name]) else {
                reading.unknown = name.id
                return reading
            }
            if isNeedless(name, need) { reading.needless = name.id }
            reading.needs.append((name, need, heard))
        }
        return reading
    }

    private func isNeedless(_ name: DependencyName, _ need: Need) -> Bool {
        if need.policy == .death {
            guard let group = operations[name.id]?.group, need.end == nil else { return true }
            return group.deathCallbacks.count >= Self.deathCallbacks
        }
        return need.policy == .success && need.end != nil && need.end != .finished && need.end != .dead
    }

    private mutating func readNeed(
        _ name: DependencyName,
        _ policy: NeedPolicy,
        _ said: RemoteState?
    ) -> (need: Need, heard: Int64)? {
        guard name.queue == nil else { return readRemoteNeed(name, policy, said) }
        guard let record = operations[name.id]?.record else { return nil }
        let end = DependencyEnd(effectiveState(of: record))
        let isSeen = policy == .death && operations[name.id]?.group?.hasDeath == true
        let need = Need(policy: policy, end: end, isSeen: isSeen)
        return (need, end == nil ? record.header.sequence - 1 : record.header.sequence)
    }

    mutating func addNeeds(_ id: OperationID, _ new: NeedsReading) {
        guard !new.needs.isEmpty else { return }
        for (name, need, heard) in new.needs {
            needs[id, default: [:]][name] = need
            if need.policy == .death, !need.isSeen { noteDeathCallback(id, of: name.id) }
            if need.policy == .member, name.queue == nil { note(group: id, of: name.id) }
            dependents[name, default: ScoredSet()].insert(id, score: heard)
            if name.queue == nil {
                dependencies.insert(name.id)
                setLinked(name.id)
            } else if !need.isMet {
                askSoon(name)
            }
            if need.end == .finished { keepInput(id, name) }
        }
        for (_, need, _) in new.needs where need.policy == .member { noteMemberEnd(of: id, before: nil, need.end) }
        if let (name, end) = new.failed { cancelDependent(id, of: name, end) }
    }

    /// Marks an operation as linked. References in lanes stay as they are, see `OperationHeader.isSame`.
    mutating func setLinked(_ id: OperationID) {
        operations[id]?.record.header.linked = true
        guard operations[id]?.record.state == .executing, let owner = owner(of: id) else { return }
        workers[owner.worker]?.inFlight[owner.fence]?.header.linked = true
    }

    private mutating func cancelDependent(_ id: OperationID, of dependency: DependencyName, _ end: DependencyEnd) {
        let reason = "depends on \(dependency), which \(end.words)"
        cancelWaiting(id, CancelIntent(at: now, by: "dependency", reason: reason))
    }
}

// MARK: - Ends

extension QueueModel {
    /// Handles an operation that has ended or is removed. The dependents continue before the call ends.
    mutating func endLinks(of id: OperationID, _ end: DependencyEnd) {
        if end == .removed { forgetNeeds(of: id) }
        if end == .finished { endRun(of: id, isCompleted: true) }
        endTurn(of: id)
        guard let sequence = operations[id]?.record.header.sequence else { return }
        if dependencies.contains(id) { noteEnded(DependencyName(id), sequence, end) }
        send(end: end, of: id, sequence: sequence)
    }

    /// Notes that an ended operation is removed, so its dependents no longer wait for a retry. A new sequence makes the
    /// removal count. A sweep notifies the dependents.
    mutating func noteRemoval(of id: OperationID) {
        guard dependencies.contains(id) || dependentQueues[id]?.isEmpty == false else { return }
        sequence += 1
        if dependencies.contains(id) { outbox.insert(DependencyName(id), score: DependencyEnd.removed.score(sequence)) }
        send(end: .removed, of: id, sequence: sequence)
        hasNewOutbox = true
    }

    /// Notes an end of a dependency. If it ends twice in a call, the last end counts.
    mutating func noteEnded(_ name: DependencyName, _ sequence: Int64, _ end: DependencyEnd) {
        if let place = endedDependencies.firstIndex(where: { $0.name == name }) {
            endedDependencies[place] = (name, sequence, end)
        } else {
            endedDependencies.append((name, sequence, end))
        }
    }

    /// Lets the next operations at freed unique keys continue, and the dependents of ended operations.
    mutating func goOn() {
        var isLeft = false
        while !freedKeys.isEmpty || !endedDependencies.isEmpty {
            passKeys()
            let ended = endedDependencies
            endedDependencies = []
            isLeft = resolve(ended) || isLeft
            forgetRemoved(ended)
        }
        eraseNeedlessCallbacks()
        if isLeft || hasNewOutbox { effects.messages.append((nil, .outbox(queue: queue))) }
        hasNewOutbox = false
    }

    /// Ends a call: wakes a worker for operations that were blocked and can start.
    mutating func announceStartable() {
        climbs = 0
        if wasBlocked { wakeForReady() }
        announce(due: startableAt)
        (wasBlocked, startableAt) = (false, nil)
    }

    /// Continues, in a sweep, with ends of which not all dependents were notified.
    mutating func clearOutbox() {
        leftToResolve = Self.resolvedBySweep
        var list: [(name: DependencyName, sequence: Int64, end: DependencyEnd)] = []
        while list.count < Self.sweptAtOnce, let entry = outbox.popFirst() {
            let (sequence, end) = DependencyEnd.read(score: entry.score)
            list.append((entry.member, sequence, end))
        }
        _ = resolve(list)
        forgetRemoved(list)
    }

    /// Forgets the dependents of operations without a record, once all were notified.
    private mutating func forgetRemoved(_ ended: [(name: DependencyName, sequence: Int64, end: DependencyEnd)]) {
        for (name, _, _) in ended
        where name.queue == nil && operations[name.id] == nil && !outbox.contains(name) {
            dependents[name] = nil
        }
    }

    /// Notifies dependents of ends. Each dependent gets all ends that concern it.
    ///
    /// - Returns: whether some dependents were not notified.
    private mutating func resolve(_ ended: [(name: DependencyName, sequence: Int64, end: DependencyEnd)]) -> Bool {
        var hearing: [OperationID] = []
        var ends: [OperationID: [(name: DependencyName, sequence: Int64, end: DependencyEnd)]] = [:]
        var isLeft = false
        for entry in ended {
            for dependent in dependents[entry.name]?.upTo(entry.sequence - 1, limit: .max).map(\.id) ?? [] {
                guard edgesLeft > 0, ends[dependent] != nil || leftToResolve > 0 else {
                    outbox.insert(entry.name, score: entry.end.score(entry.sequence))
                    isLeft = true
                    break
                }
                edgesLeft -= 1
                if ends[dependent] == nil {
                    leftToResolve -= 1
                    hearing.append(dependent)
                }
                ends[dependent, default: []].append(entry)
            }
        }
        for dependent in hearing { hear(dependent, ends[dependent] ?? []) }
        return isLeft
    }

    /// Applies ends to a dependent. A dependent without such a dependency was released or is gone.
    private mutating func hear(
        _ id: OperationID,
        _ ends: [(name: DependencyName, sequence: Int64, end: DependencyEnd)]
    ) {
        var failed: (name: DependencyName, end: DependencyEnd)?
        var (hasMet, isRegained) = (false, false)
        var isDropped = false
        for (dependency, sequence, end) in ends {
            guard let need = needs[id]?[dependency] else {
                forget(id, of: dependency)
                continue
            }
            dependents[dependency]?.insert(id, score: sequence)
            if need.end != .finished {
                needs[id]?[dependency]?.end = end
                if end == .finished { keepInput(id, dependency) }
                if need.policy == .member {
                    isRegained = noteMemberEnd(of: id, before: need.end, end) || isRegained
                }
            }
            if need.policy == .death || need.policy == .success && [.cancelled, .expired].contains(end) {
                isDropped = true
            }
            guard !need.isMet else { continue }
            if needs[id]?[dependency]?.isMet ?? false {
                hasMet = true
            } else if need.policy == .cancel || need.policy == .success && end == .removed, failed == nil {
                failed = (dependency, end)
            }
        }
        if hasMet && unmetCount(of: id) == 0 { leaveBlocked(id) } else if !hasMet && isRegained { endGroupAgain(id) }
        if isDropped { dropCallback(id) }
        guard let failed, let record = operations[id]?.record, effectiveState(of: record) == .blocked else { return }
        cancelDependent(id, of: failed.name, failed.end)
    }

    mutating func forget(_ dependent: OperationID, of dependency: DependencyName) {
        dependents[dependency]?.remove(dependent)
        if dependents[dependency]?.count == 0 { dependents[dependency] = nil }
    }

    /// Makes a blocked operation ready once nothing blocks it, or scheduled if its time is still to come. A group ends
    /// instead.
    mutating func leaveBlocked(_ id: OperationID) {
        guard let stored = operations[id], effectiveState(of: stored.record) == .blocked, !stored.waitsForTurn,
            stored.hold == nil, unmetCount(of: id) == 0
        else { return }
        if stored.group != nil { return endGroup(id) }
        blocked.remove(id)
        start(id)
    }

    /// Erases all that is stored of an operation.
    mutating func erase(_ id: OperationID) {
        operations[id] = nil
        forgetNeeds(of: id)
        inputs[id] = nil
        dependentQueues[id] = nil
        dependencies.remove(id)
        let name = DependencyName(id)
        if !outbox.contains(name), !endedDependencies.contains(where: { $0.name == name }) { dependents[name] = nil }
    }
}

// MARK: - Reading

extension QueueModel {
    private mutating func keepInput(_ id: OperationID, _ dependency: DependencyName) {
        let result = dependency.queue == nil ? shortResult(of: dependency.id) : remote[dependency]?.result ?? []
        guard !result.isEmpty else { return }
        let bytes = inputs[id]?.values.reduce(0) { $0 + $1.count } ?? 0
        if bytes + result.count <= DependencyInput.keptBytes { inputs[id, default: [:]][dependency] = result }
    }

    func inputs(of id: OperationID) -> [DependencyInput] {
        (needs[id] ?? [:]).sorted { $0.key < $1.key }.map { dependency, need in
            let stored = dependency.queue == nil ? operations[dependency.id].map { $0.result ?? [] } : nil
            let result = need.end == .finished ? inputs[id]?[dependency] ?? stored : nil
            return DependencyInput(name: dependency, state: need.end?.state, result: result)
        }
    }

    func links(of id: OperationID) -> OperationNeeds {
        var links = OperationNeeds()
        let needs = (needs[id] ?? [:]).map { dependency, need in
            OperationNeeds.Need(
                dependency,
                need.policy,
                isMet: need.isMet && need.policy != .death,
                state: state(of: dependency),
                hasHeard: need.end != nil
            )
        }
        links.needs = Array(needs.sorted(by: OperationNeeds.Need.isBefore).prefix(OperationNeeds.shown))
        (links.needCount, links.unmetCount) = (needs.count, unmetCount(of: id))
        links.isOpen = open.contains(id)
        if links.isOpen { links.needs = Array(links.needs.prefix(OperationNeeds.shown - 1)) }
        let dependents = dependencies.contains(id) ? (dependents[DependencyName(id)]?.entries ?? []).map(\.id) : []
        links.dependents = Array(dependents.prefix(OperationNeeds.shown))
        links.dependentCount = dependents.count
        links.dependentQueues = dependentQueues[id] ?? []
        links.group = operations[id]?.group?.terms
        links.missCount = operations[id]?.group?.misses ?? 0
        return links
    }

    private func state(of dependency: DependencyName) -> OperationState? {
        if dependency.queue != nil { return remote[dependency]?.end?.state }
        return operations[dependency.id].map { effectiveState(of: $0.record) }
    }

    func addNeeds(to layout: inout QueueLayout) {
        for (id, inputs) in inputs.sorted(by: { $0.key < $1.key }) {
            for (dependency, result) in inputs.sorted(by: { $0.key < $1.key }) {
                layout.addLine("inputs:\(id) \(dependency) \(result.count)")
            }
        }
        let all = needs.merging(open.map { ($0, [:]) }) { needs, _ in needs }
        for (id, needs) in all.sorted(by: { $0.key < $1.key }) {
            if open.contains(id) { layout.addLine("needs:\(id) + hold -") }
            for (dependency, need) in needs.sorted(by: { $0.key < $1.key }) {
                layout.addLine("needs:\(id) \(dependency) \(need.text)")
            }
        }
        for (name, set) in dependents.sorted(by: { $0.key < $1.key }) {
            for entry in set.entries { layout.addLine("dependents:\(name) \(entry.id) \(entry.score)") }
        }
        for entry in outbox.entries { layout.addLine("outbox \(entry.member) \(entry.score)") }
    }
}

extension NeedPolicy {
    /// Whether a callback waits for a success that can no longer come. A dead group may still be retried.
    func neverSucceeds(after end: DependencyEnd?) -> Bool {
        guard self == .success, let end else { return false }
        return end != .finished && end != .dead
    }
}

extension OperationHeader {
    /// Whether a reference with this header means a record with the other one. The record may have become linked since.
    func isSame(as other: OperationHeader) -> Bool {
        var header = self
        header.linked = other.linked
        return header == other
    }
}

// MARK: - Changes

extension QueueModel {
    mutating func change(_ change: NeedsChange, by: String) -> NeedsOutcome {
        let id = change.id
        guard let stored = operations[id] else { return .unknown }
        let state = effectiveState(of: stored.record)
        let isGroup = stored.group != nil
        let members = change.added?.members.count ?? 0
        let others = change.added?.after.count ?? 0
        guard change.added?.callback == nil, isGroup ? others == 0 : members == 0 else { return .otherKind }
        let known = needs[id] ?? [:]
        let added = missing(of: change.added, known)
        let count = added?.dependencyCount ?? 0
        if isGroup, count > 0, !takesMembers(id) { return .refused(stored.cancel == nil ? state : .cancelled) }
        if isGroup, let all = change.added { hearOfMembers(all, missing: added?.members ?? []) }
        if isGroup, members > 0, count == 0 { return .done(added: []) }
        let isDeadGroup = isGroup && state == .dead && (count > 0 || !change.removed.isEmpty)
        guard isDeadGroup || [.ready, .scheduled, .blocked].contains(state) else { return .refused(state) }
        guard stored.hold == nil else { return .held }
        guard change.part == nil || open.contains(id) else { return .notOpen }
        let changed = Set((added?.kept ?? []).map(\.name).filter { known[$0] != nil })
        let most = isGroup ? GroupTerms.mostMembers : OperationLinks.mostDependencies
        guard known.count - changed.count + count <= most else { return .tooMany }
        let reading = readNeeds(added)
        if let unknown = reading.unknown { return .unknownDependency(unknown) }
        if stored.group != nil {
            if !reading.needs.isEmpty { openGroupAgain(id) }
            renewGroup(id)
        }
        setLinked(id)
        for name in changed { removeNeed(name, of: id) }
        if !reading.isMet { blockWaiting(id, state) }
        addNeeds(id, reading)
        for name in change.removed { removeNeed(name, of: id) }
        if needs[id]?.isEmpty ?? false { needs[id] = nil }
        if change.part == .last { open.remove(id) }
        leaveBlocked(id)
        if stored.group != nil, !change.removed.isEmpty { endGroupAgain(id) }
        if stored.group == nil { (effects.change, effects.subject) = (QueueChange(.depend, by: by, count: 1), id) }
        return .done(added: reading.needs.map(\.name).filter { !changed.contains($0) })
    }

    /// The added dependencies that are new or have another policy. A member that ended without finishing counts as new.
    private func missing(of added: OperationLinks?, _ known: [DependencyName: Need]) -> OperationLinks? {
        var missing = added
        missing?.after.removeAll { known[$0.name]?.policy == NeedPolicy($0.policy) }
        missing?.members.removeAll { known[$0].map { $0.end == nil || $0.end == .finished } ?? false }
        return missing
    }

    /// Takes the ends that queues have said of members that a group has already.
    private mutating func hearOfMembers(_ added: OperationLinks, missing: [DependencyName]) {
        for name in added.members where name.queue != nil && !missing.contains(name) {
            guard let said = added.said[name], DependencyEnd(said.status) != nil else { continue }
            let (last, end, _) = hear(of: name, said)
            if let end { noteEnded(name, last, end) }
        }
    }

    private mutating func removeNeed(_ name: DependencyName, of id: OperationID) {
        guard let need = needs[id]?.removeValue(forKey: name) else { return }
        forget(id, of: name)
        if need.policy == .member { noteMemberEnd(of: id, before: need.end, .finished) }
    }

    private mutating func blockWaiting(_ id: OperationID, _ state: OperationState) {
        guard state != .blocked else { return }
        leavePlace(id, state: state)
        revise(id)
        operations[id]?.unhandledName = nil
        operations[id]?.record.state = .blocked
        blocked.insert(id, score: now)
        expireAgain(id)
        event(id, .blocked)
    }

    mutating func forgetNeeds(of id: OperationID) {
        needs[id] = nil
        open.remove(id)
    }
}
