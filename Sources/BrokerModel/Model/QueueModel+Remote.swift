import Operations

/// The known state of an operation in another queue on which operations of this queue depend.
struct RemoteOperation {
    /// The sequence of the last end that was reported to this queue; 0 = none.
    var sequence: Int64 = 0
    var end: DependencyEnd?
    /// The result of a finished operation, if it is short; otherwise empty.
    var result: [UInt8] = []
    /// How often the other queue was asked.
    var asks = 0
    /// The time since which the other queue does not know the operation.
    var unknownSince: Int64?
}

/// Ends to report to another queue.
struct Outbox {
    var ends = ScoredSet()
    /// The time from which a relay may take the ends.
    var freeAt: Int64 = 0
}

// Operations that depend on operations of other queues.
extension QueueModel {
    static let firstAsk: Int64 = 10_000
    static let secondAsk: Int64 = 60_000
    static let nextAsk: Int64 = 300_000
    static let idleAsk: Int64 = 3_600_000
    static let unknownFor: Int64 = 600_000
    static let dependentQueues = 64
    static let relayedAtOnce = 100
    static let relayMilliseconds: Int64 = 1000
    static let askedAtOnce = 50
    static let dependentsLookedAt = 20
    static let resolvedByMessage = 100

    mutating func askSoon(_ name: DependencyName) {
        remote[name]?.asks = 0
        asking.insert(name, score: min(asking.score(of: name) ?? .max, now + Self.firstAsk))
    }

    /// Notes the state that another queue has reported for an operation. An end counts only if its sequence is higher
    /// than that of the last end. Exception: a finish is final, so it counts even after a failure with a higher
    /// sequence.
    ///
    /// - Returns: sequence and kind of the last end, and whether that end is new to this queue.
    mutating func hear(
        of name: DependencyName,
        _ said: RemoteState
    ) -> (sequence: Int64, end: DependencyEnd?, isNew: Bool) {
        if remote[name] == nil {
            remote[name] = RemoteOperation()
            askSoon(name)
        }
        var known = remote[name] ?? RemoteOperation()
        var (sequence, end) = (said.sequence, DependencyEnd(said.status))
        if said.status == .unknown {
            let since = known.unknownSince ?? now
            known.unknownSince = since
            // An operation that has been unknown for a long time counts as removed.
            (sequence, end) = (
                known.sequence + 1, now - since >= Self.unknownFor && known.end != .removed ? .removed : nil
            )
        } else {
            known.unknownSince = nil
        }
        var isNew = false
        if let end {
            if end == .finished, known.end != .finished { sequence = max(sequence, known.sequence + 1) }
            isNew = sequence > known.sequence
            if isNew { (known.sequence, known.end, known.result) = (sequence, end, []) }
        }
        remote[name] = known
        return (known.sequence, known.end, isNew)
    }

    /// Reads a dependency of a new operation in another queue. The dependency may have ended after its queue answered,
    /// and this queue may know of that end.
    mutating func readRemoteNeed(
        _ name: DependencyName,
        _ policy: NeedPolicy,
        _ said: RemoteState?
    ) -> (need: Need, heard: Int64)? {
        // A group may wait for members that are not enqueued yet.
        let said = said ?? RemoteState(name.id, .unknown, sequence: 0)
        guard said.status != .unknown || policy == .member else { return nil }
        let (last, end, isNew) = hear(of: name, said)
        if isNew, let end { noteEnded(name, last, end) }
        // The end of a removed operation is not the end of the next one with its id.
        if said.status == .unknown, end != .finished {
            return (Need(policy: policy, end: nil), end == nil || end == .removed ? last : last - 1)
        }
        let isEnd = DependencyEnd(said.status) != nil
        if let end, isEnd || last >= said.sequence { return (Need(policy: policy, end: end), last) }
        return (Need(policy: policy, end: nil), max(said.sequence - 1, last))
    }

    /// Applies the states of operations that another queue has reported.
    mutating func resolve(_ states: [RemoteState], of source: String) {
        leftToResolve = Self.resolvedByMessage
        for state in states {
            let name = DependencyName(state.id, queue: source)
            let (last, end, isNew) = hear(of: name, state)
            let isLast = isNew || state.sequence == last
            if isLast, end == .finished, !state.result.isEmpty, state.result.count <= DependencyInput.shortResultBytes {
                remote[name]?.result = state.result
            }
            if state.status == .live, end != .finished, state.sequence > last {
                noteLive(name, sequence: state.sequence, hadEnded: end != nil)
            } else if let end {
                noteEnded(name, last, end)
            }
        }
    }

    /// Notes that a dependency has not ended since it got this sequence. Earlier ends no longer count, even if one is
    /// still on its way. A dependency that had ended before is retried, and its groups wait for it again.
    private mutating func noteLive(_ name: DependencyName, sequence: Int64, hadEnded: Bool) {
        remote[name]?.sequence = sequence - 1
        guard hadEnded else { return }
        remote[name]?.end = nil
        remote[name]?.result = []
        askSoon(name)
        waitForRemote(name)
    }

    /// Asks soon about the dependencies of a retried operation in other queues. A message about an end may have been
    /// lost.
    mutating func askForNeeds(of id: OperationID) {
        for (name, need) in needs[id] ?? [:] where name.queue != nil && !need.isMet { askSoon(name) }
    }

    /// Operations of other queues and open groups that are to be looked at: the time, and the name in the scripts.
    private func lookedAt(until instant: Int64, limit: Int) -> ArraySlice<(score: Int64, text: String)> {
        let names = asking.upTo(instant, limit: limit).map { (score: $0.score, text: "\($0.member)") }
        let groups = openGroups.upTo(instant, limit: limit).map { (score: $0.score, text: "+\($0.id)") }
        return (names + groups).sorted { ($0.score, $0.text) < ($1.score, $1.text) }.prefix(limit)
    }

    var isAskDue: Bool { !lookedAt(until: now, limit: 1).isEmpty }

    mutating func ask() -> RemoteQuestions {
        var questions = RemoteQuestions()
        for (_, text) in lookedAt(until: now, limit: Self.askedAtOnce) {
            if let group = text.first == "+" ? OperationID(String(text.dropFirst())) : nil {
                lookAtGroup(group, &questions)
            } else if let name = DependencyName(text) {
                if let pause = look(at: name, &questions) {
                    asking.insert(name, score: now + pause)
                } else {
                    asking.remove(name)
                }
            }
        }
        questions.more = isAskDue
        return questions
    }

    /// Looks at a dependency, and adds it to the questions if its state is needed.
    ///
    /// - Returns: milliseconds until the next look; nil = nothing depends on it any more.
    private mutating func look(at name: DependencyName, _ questions: inout RemoteQuestions) -> Int64? {
        let ids = (dependents[name]?.entries ?? []).prefix(Self.dependentsLookedAt).map(\.member)
        var (left, isAwaited) = (0, false)
        for id in ids {
            guard let need = needs[id]?[name] else {
                forget(id, of: name)
                continue
            }
            left += 1
            let isBlocked = operations[id].map { effectiveState(of: $0.record) == .blocked } ?? false
            isAwaited = isAwaited || !need.isMet && isBlocked
        }
        let mayBeMore = ids.count == Self.dependentsLookedAt
        if mayBeMore, left == 0 { return 0 }
        guard left > 0 else {
            remote[name] = nil
            return nil
        }
        guard let known = remote[name], isAwaited || known.end != .finished && mayBeMore else { return Self.idleAsk }
        questions.names.append(name)
        remote[name]?.asks += 1
        return known.asks > 0 ? Self.nextAsk : Self.secondAsk
    }
}

// Ends that other queues have to know.
extension QueueModel {
    mutating func link(_ ids: [OperationID], from queue: String) -> [RemoteState] {
        var bytes = 0
        return ids.map { id in
            guard let record = operations[id]?.record else {
                guard let score = outboxes[queue]?.ends.score(of: id) else {
                    return RemoteState(id, .unknown, sequence: 0)
                }
                let (sequence, end) = DependencyEnd.read(score: score)
                return RemoteState(id, end.status, sequence: sequence)
            }
            let known = dependentQueues[id] ?? []
            if !known.contains(queue) {
                guard known.count < Self.dependentQueues else { return RemoteState(id, .crowded, sequence: 0) }
                dependentQueues[id, default: []].append(queue)
                setLinked(id)
            }
            let end = DependencyEnd(effectiveState(of: record))
            var state = RemoteState(id, end?.status ?? .live, sequence: record.header.sequence)
            if end == .finished, bytes < Self.replyBytes { state.result = shortResult(of: id) }
            bytes += state.result.count
            return state
        }
    }

    func shortResult(of id: OperationID) -> [UInt8] {
        guard let result = operations[id]?.result, result.count <= DependencyInput.shortResultBytes else { return [] }
        return result
    }

    mutating func send(end: DependencyEnd, of id: OperationID, sequence: Int64) {
        for queue in dependentQueues[id] ?? [] {
            if outboxes[queue] == nil {
                outboxes[queue] = Outbox()
                hasNewOutbox = true
            }
            outboxes[queue]?.ends.insert(id, score: end.score(sequence))
        }
    }

    /// Takes back an end that was not reported yet, because the operation is tried or opened again.
    mutating func takeBackEnd(of id: OperationID) {
        outbox.remove(DependencyName(id))
        for queue in dependentQueues[id] ?? [] { outboxes[queue]?.ends.remove(id) }
    }

    mutating func relay() -> Relay? {
        for _ in 0..<8 {
            let free = outboxes.filter { $0.value.freeAt <= now }
            guard let queue = free.min(by: { ($0.value.freeAt, $0.key) < ($1.value.freeAt, $1.key) })?.key else {
                return nil
            }
            guard let ends = outboxes[queue]?.ends, ends.count > 0 else {
                outboxes[queue] = nil
                continue
            }
            outboxes[queue]?.freeAt = now + Self.relayMilliseconds
            var relay = Relay(queue: queue, ends: [])
            var bytes = 0
            for entry in ends.entries.prefix(Self.relayedAtOnce) {
                let (sequence, end) = DependencyEnd.read(score: entry.score)
                let result = end == .finished ? shortResult(of: entry.id) : []
                bytes += result.count
                if !relay.ends.isEmpty, bytes > Self.replyBytes { break }
                relay.ends.append(RemoteState(entry.id, end.status, sequence: sequence, result: result))
            }
            return relay
        }
        return nil
    }

    mutating func relayed(_ relay: Relay) -> Bool {
        for end in relay.ends {
            let score = DependencyEnd(end.status)?.score(end.sequence)
            if outboxes[relay.queue]?.ends.score(of: end.id) == score { outboxes[relay.queue]?.ends.remove(end.id) }
        }
        if outboxes[relay.queue]?.ends.count ?? 0 > 0 {
            outboxes[relay.queue]?.freeAt = 0
        } else {
            outboxes[relay.queue] = nil
        }
        return outboxes.contains { $0.value.freeAt <= now }
    }

    func addRemote(to layout: inout QueueLayout) {
        for (name, known) in remote.sorted(by: { $0.key < $1.key }) {
            let words = [
                "\(known.sequence)", known.end?.letter ?? "-", "\(known.result.count)", "\(known.asks)",
                "\(known.unknownSince ?? 0)",
            ]
            layout.addLine("remote:\(name) \(words.joined(separator: " "))")
        }
        for (score, text) in lookedAt(until: .max, limit: .max) { layout.addLine("asking \(text) \(score)") }
        for (queue, outbox) in outboxes.sorted(by: { $0.key < $1.key }) {
            layout.addLine("outboxes \(queue) \(outbox.freeAt)")
            for entry in outbox.ends.entries { layout.addLine("outbox:\(queue) \(entry.member) \(entry.score)") }
        }
    }
}

extension DependencyEnd {
    /// Returns nil if the status is no end.
    init?(_ status: RemoteState.Status) {
        switch status {
        case .finished: self = .finished
        case .dead: self = .dead
        case .cancelled: self = .cancelled
        case .expired: self = .expired
        case .removed: self = .removed
        case .live, .unknown, .crowded: return nil
        }
    }

    var status: RemoteState.Status {
        switch self {
        case .finished: .finished
        case .dead: .dead
        case .cancelled: .cancelled
        case .expired: .expired
        case .removed: .removed
        }
    }
}
