import Operations

/// What a queue knows of an operation in another queue that some of its own depend on.
struct RemoteOperation {
    /// Of the last end of which it has heard; 0 = of none.
    var sequence: Int64 = 0
    var end: DependencyEnd?
    /// Of one that has finished, if it is short; else empty.
    var result: [UInt8] = []
    /// How often its queue was asked.
    var asks = 0
    /// Since when its queue does not know it.
    var unknownSince: Int64?
}

/// Ends of which another queue has to hear.
struct Outbox {
    var ends = ScoredSet()
    /// From which instant on a relay may take them.
    var freeAt: Int64 = 0
}

// Operations that depend on those of other queues.
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

    /// Its queue has said how it stands. An end counts only with a higher sequence than the last one; that it has finished also after a failure with a
    /// higher one, since it is final.
    ///
    /// - Returns: sequence and kind of its last end, and whether this queue has not heard of that before.
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
            // As if it was removed, once it is unknown for long.
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

    /// What a new operation depends on in another queue. It may have ended since its queue has said how it stands, and this queue may have heard of that.
    mutating func readRemoteNeed(
        _ name: DependencyName,
        _ policy: NeedPolicy,
        _ said: RemoteState?
    ) -> (need: Need, heard: Int64)? {
        // A group waits for members that are about to be enqueued.
        let said = said ?? RemoteState(name.id, .unknown, sequence: 0)
        guard said.status != .unknown || policy == .member else { return nil }
        let (last, end, isNew) = hear(of: name, said)
        if isNew, let end { noteEnded(name, last, end) }
        // Of what was removed before, the end is not that of what comes.
        if said.status == .unknown, end != .finished {
            return (Need(policy: policy, end: nil), end == nil || end == .removed ? last : last - 1)
        }
        let isEnd = DependencyEnd(said.status) != nil
        if let end, isEnd || last >= said.sequence { return (Need(policy: policy, end: end), last) }
        return (Need(policy: policy, end: nil), max(said.sequence - 1, last))
    }

    /// Another queue says how its operations stand.
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

    /// Notes a dependency that has not ended since it got this sequence: no end before counts, also one that is still on its way. If it had ended before, it is tried
    /// again, and its groups wait for it.
    private mutating func noteLive(_ name: DependencyName, sequence: Int64, hadEnded: Bool) {
        remote[name]?.sequence = sequence - 1
        guard hadEnded else { return }
        remote[name]?.end = nil
        remote[name]?.result = []
        askSoon(name)
        waitForRemote(name)
    }

    /// A retry: what it needs in other queues may have ended without a message that got here.
    mutating func askForNeeds(of id: OperationID) {
        for (name, need) in needs[id] ?? [:] where name.queue != nil && !need.isMet { askSoon(name) }
    }

    /// What is looked at again, operations of other queues and open groups: when, and as the scripts call it.
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

    /// - Returns: when to look again; nil = nothing depends on it any more.
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

// What other queues have to hear of.
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

    /// It is tried again: the end that others have not heard of is none any more.
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
    /// nil = it is no end.
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
