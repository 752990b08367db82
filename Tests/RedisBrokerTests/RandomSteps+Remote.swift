import BrokerModel
import Operations

// Messages between the queue and another one, and changes of dependencies.
extension RandomSteps {
    static let otherQueue = "other"
    static let otherIDs = (1...5).map { OperationID(key: "other \($0)") }

    /// Rarely draws a high sequence, so that a state may be newer or older than the known one.
    mutating func said(of id: OperationID, canBeUnknown: Bool) -> RemoteState {
        let status: RemoteState.Status =
            switch number(1...12) {
            case 1...4: .live
            case 5: .finished
            case 6...7: .dead
            case 8: .cancelled
            case 9: .expired
            case 10: .removed
            default: canBeUnknown ? .unknown : .live
            }
        let sequence = status == .unknown ? 0 : Int64(number(1...(chance(0.1) ? 40 : 8)))
        let result = status == .finished && chance(0.6) ? Array("\(sequence)".utf8) : []
        return RemoteState(id, status, sequence: sequence, result: result)
    }

    /// Draws the links of a group, a member or a callback.
    mutating func groupLinks() -> OperationLinks {
        let some = (0..<number(1...2)).map { _ in group() }
        switch number(1...10) {
        case 1...3:
            let terms = GroupTerms(
                ifAbandoned: chance(0.5) ? .close : .cancel,
                leaseMilliseconds: Int64(number(1...90_000))
            )
            var links = OperationLinks(group: terms)
            if chance(0.2) { links.groups = Array(Set(some)).sorted() }
            return links
        case 4...8:
            return OperationLinks(groups: Array(Set(some)).sorted(), tells: chance(0.2) ? ["queue-1", "queue-2"] : [])
        default:
            return OperationLinks(callback: GroupCallback(GroupCallback.When.allCases[number(0...2)], of: some[0]))
        }
    }

    /// Draws operations that start with the completion of a run.
    mutating func children(_ hold: Hold) -> RandomStep {
        let run = RunClaim(worker: hold.worker, fence: hold.fence, id: hold.header.id)
        let group = NewOperation(id: newID(), envelope: envelope(), links: OperationLinks(run: run))
        groups.append(group.id)
        let children = (0..<number(0...2)).map { _ in
            let callback = GroupCallback(.success, of: group.id)
            return NewOperation(id: newID(), envelope: envelope(), links: OperationLinks(callback: callback))
        }
        return .enqueue([group] + children)
    }

    private mutating func group() -> OperationID {
        chance(0.9) ? groups.randomElement(using: &chance) ?? newID() : ids(1...1)[0]
    }

    /// Draws a change of a group. Members may be in another queue, and may not exist yet.
    private mutating func groupChange() -> NeedsChange {
        let group = group()
        guard chance(0.6) else { return NeedsChange(group, part: chance(0.8) ? .last : .part) }
        let own = Set(ids(1...2)).filter { $0 != group }.sorted().map { DependencyName($0) }
        let others = (0..<number(1...2)).map { _ in Self.otherIDs[number(0...Self.otherIDs.count - 1)] }
        let names = chance(0.6) ? own : Set(others).sorted().map { DependencyName($0, queue: Self.otherQueue) }
        guard chance(0.8) else { return NeedsChange(group, removed: names) }
        var links = OperationLinks(members: names)
        for name in names where name.queue != nil && chance(0.7) {
            links.said[name] = said(of: name.id, canBeUnknown: true)
        }
        return NeedsChange(group, added: links)
    }

    private mutating func change() -> NeedsChange {
        if chance(0.4) { return groupChange() }
        let id = tracked.randomElement(using: &chance) ?? newID()
        let after = dependencies().filter { $0.id != id }
        var added = chance(0.7) ? OperationLinks(after: after) : nil
        for dependency in added?.after ?? [] where dependency.queue != nil {
            added?.said[dependency.name] = said(of: dependency.id, canBeUnknown: chance(0.1))
        }
        let removed = chance(0.4) ? dependencies().map(\.name) : []
        return NeedsChange(id, added: added, removed: removed, part: chance(0.6) ? nil : chance(0.5) ? .part : .last)
    }

    mutating func remote() -> RemoteStep {
        switch number(1...10) {
        case 1...2: return .change(change())
        case 3: return .link(ids(1...4), from: "queue \(number(1...3))".replacing(" ", with: "-"))
        case 4...5: return .relay(isDelivered: chance(0.8))
        case 6...8:
            let ids = (0..<number(1...3)).map { _ in Self.otherIDs[number(0...Self.otherIDs.count - 1)] }
            return .resolve(ids.map { said(of: $0, canBeUnknown: true) })
        default: return .ask
        }
    }
}

/// A message between the queue and another one.
enum RemoteStep {
    case change(NeedsChange)
    case link([OperationID], from: String)
    case relay(isDelivered: Bool)
    case resolve([RemoteState])
    case ask

    func outcome(on broker: some Broker, queue: String) async throws -> StepOutcome {
        switch self {
        case .change(let change):
            return .changedNeeds(try await broker.change(change, by: "tester", queue: queue))
        case .link(let ids, let other): return .said(try await broker.link(ids, in: queue, from: other))
        case .relay(let isDelivered):
            let relay = try await broker.relay(queue: queue)
            guard let relay, isDelivered else { return .relayed(relay, more: nil) }
            return .relayed(relay, more: try await broker.relayed(relay, queue: queue))
        case .resolve(let states):
            try await broker.resolve(states, of: RandomSteps.otherQueue, queue: queue)
            return .none
        case .ask: return .asked(try await broker.ask(queue: queue))
        }
    }
}
