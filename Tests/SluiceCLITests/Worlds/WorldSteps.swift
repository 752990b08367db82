import BrokerModel
import Operations
import Sluice

// The steps of producers, workers and operators.
extension World {
    mutating func step() async throws {
        switch number(1...100) {
        case 1...28: try await enqueue()
        case 29...33: try await openGroup()
        case 34...36: try await closeGroup()
        case 37...48: advance(by: Int64(number(0...4000)))
        case 49...50: advance(by: Int64(number(4000...90_000)))
        case 51...62:
            let queue = queue()
            _ = try await claim(number(1...4), from: queue)
        case 63...74: try await complete()
        case 75...81: try await fail()
        case 82...83: try await giveBack()
        case 84: lose()
        case 85...86: _ = await broker.relayEnds(of: queue())
        default: try await operate()
        }
    }

    /// Advances the clock, with heartbeats in time: a live worker is never late.
    mutating func advance(by milliseconds: Int64) {
        var left = milliseconds
        while left > 0 {
            let part = min(left, Self.lease / 3)
            clock.advance(by: .milliseconds(part))
            try? beat()
            left -= part
        }
    }

    // MARK: Producers

    private mutating func enqueue() async throws {
        let queue = queue()
        let operations = (0..<number(1...4)).map { _ in operation(of: queue) }
        note("enqueue into \(queue): \(operations.map(Self.text))")
        await hand(over: operations, to: queue)
    }

    private static func text(_ operation: NewOperation) -> String {
        let links = operation.links
        let parts = [
            links?.unique.map { "unique \($0.key) \($0.policy)" }, links?.limitKey.map { "key \($0)" },
            (links?.after).flatMap { $0.isEmpty ? nil : "after \($0.map { "\($0.name) \($0.policy)" })" },
            (links?.entering).flatMap { $0.isEmpty ? nil : "group \($0)" },
            links?.callback.map { "on \($0.when) of \($0.group)" },
            operation.delayMilliseconds > 0 ? "in \(operation.delayMilliseconds)" : nil,
            operation.expiresMilliseconds > 0 ? "expires \(operation.expiresMilliseconds)" : nil,
        ]
        return "\(operation.id) \(operation.priority) \(parts.compactMap { $0 }.joined(separator: ", "))"
    }

    private mutating func hand(over operations: [NewOperation], to queue: String) async {
        // Cycles, closed groups and missing dependencies are refused; other tests cover that.
        guard let outcomes = try? await client.outcomes(operations, queue: queue, durability: .none).outcomes else {
            return tally["refused", default: 0] += 1
        }
        tally["taken", default: 0] += 1
        for (operation, outcome) in zip(operations, outcomes) where operation.tracked && outcome == .created {
            known.append(DependencyName(operation.id, queue: queue))
        }
    }

    private mutating func operation(of queue: String) -> NewOperation {
        if chance(0.12) { return plain(tracked: false) }
        var operation = plain(tracked: true)
        if chance(0.25) { operation.delayMilliseconds = Int64(number(1...30_000)) }
        if chance(0.12) { operation.expiresMilliseconds = operation.delayMilliseconds + Int64(number(1...40_000)) }
        operation.links = links(of: queue)
        return operation
    }

    private mutating func plain(tracked: Bool) -> NewOperation {
        let arguments = Array(#"{"n":\#(number(1...9))}"#.utf8)
        let envelope = OperationEnvelope(name: Self.name, arguments: arguments, tags: chance(0.2) ? ["x"] : [])
        made += 1
        return NewOperation(
            id: OperationID(milliseconds: 1_700_000_000_000 + made, using: &chance),
            tracked: tracked,
            priority: OperationPriority.allCases.randomElement(using: &chance) ?? .normal,
            envelope: envelope.encoded()
        )
    }

    private mutating func links(of queue: String) -> OperationLinks? {
        if chance(0.06), let group = groups.last {
            let when = GroupCallback.When.allCases[number(0...2)]
            return group.queue == queue ? OperationLinks(callback: GroupCallback(when, of: group.id)) : nil
        }
        var links = OperationLinks(
            unique: chance(0.2) ? unique() : nil,
            limitKey: chance(0.3) ? Self.keys[number(0...1)] : nil,
            after: chance(0.3) ? dependencies(of: queue) : []
        )
        guard chance(0.2), let group = groups.suffix(3).randomElement(using: &chance) else { return links }
        if links == nil { links = OperationLinks(entering: [group]) }
        links?.entering = [group]
        return links
    }

    private mutating func unique() -> UniqueClaim {
        let policies: [DuplicatePolicy] = [.join, .skip, .replace, .enqueue, .keepLatest, .debounce(.seconds(5))]
        return UniqueClaim(
            key: Self.uniqueKeys[number(0...1)],
            policy: policies[number(0...policies.count - 1)],
            freshMilliseconds: chance(0.3) ? Int64(number(1...20_000)) : 0
        )
    }

    private mutating func dependencies(of queue: String) -> [OperationDependency] {
        let names = Set((0..<number(1...2)).compactMap { _ in some() })
        return names.sorted().map { name in
            let policy = DependencyFailurePolicy.allCases.randomElement(using: &chance) ?? .cancel
            return OperationDependency(name.id, queue: name.queue == queue ? nil : name.queue, onFailure: policy)
        }
    }

    private mutating func openGroup() async throws {
        let queue = queue()
        var group = plain(tracked: true)
        group.priority = .normal
        let terms = GroupTerms(
            ifAbandoned: chance(0.5) ? .close : .cancel,
            leaseMilliseconds: Int64(number(1...200) * 1000)
        )
        group.links = OperationLinks(group: terms)
        note("open group \(group.id) in \(queue)")
        await hand(over: [group], to: queue)
        if known.last?.id == group.id { groups.append(DependencyName(group.id, queue: queue)) }
    }

    private mutating func closeGroup() async throws {
        guard let group = groups.suffix(4).randomElement(using: &chance) else { return }
        note("close group \(group)")
        _ = try await broker.closeGroup(group.id, by: "ann", queue: home(of: group))
    }

    // MARK: The worker

    private mutating func take() -> Held? {
        guard !held.isEmpty else { return nil }
        return held.remove(at: number(0...held.count - 1))
    }

    private mutating func complete() async throws {
        for _ in 0..<number(1...3) { if let held = take() { try await complete(held) } }
    }

    mutating func complete(_ held: Held) async throws {
        note("complete \(held.operation.id)")
        let completion = Completion(
            fence: held.operation.fence,
            id: held.operation.id,
            tracked: held.operation.header.tracked
        )
        _ = try await broker.complete(
            [completion],
            isRepeat: false,
            worker: worker,
            thenClaim: nil,
            queue: held.queue
        )
    }

    private mutating func fail() async throws {
        guard let held = take() else { return }
        let disposition: Failure.Disposition =
            switch number(1...10) {
            case 1...4: .retry(afterMilliseconds: Int64(number(0...20_000)))
            case 5...7: .dead
            case 8: .cancelled
            case 9: .yielded
            default: .snoozed(milliseconds: Int64(number(1...20_000)), reason: "later")
            }
        note("fail \(held.operation.id): \(disposition)")
        let error = OperationFailure(type: "step", message: "wrong", attempt: 1, delivery: 1).encoded()
        let failure = Failure(
            fence: held.operation.fence,
            id: held.operation.id,
            disposition: disposition,
            error: error
        )
        _ = try await broker.fail([failure], worker: worker, queue: held.queue)
    }

    private mutating func giveBack() async throws {
        guard let held = take() else { return }
        note("give back \(held.operation.id)")
        let back = Return(fence: held.operation.fence, id: held.operation.id)
        _ = try await broker.giveBack([back], worker: worker, queue: held.queue)
    }

    /// Lets the worker die with all its operations; a new one replaces it.
    private mutating func lose() {
        note("the worker dies with \(held.map(\.operation.id))")
        replaceWorker()
        try? beat()
    }

    // MARK: Operators

    private mutating func operate() async throws {
        guard let name = some() else { return }
        let queue = home(of: name)
        let kind = number(1...20)
        note("operator \(kind) \(name)")
        switch kind {
        case 1...2: _ = try await broker.hold([name.id], by: "ann", reason: "wait", queue: queue)
        case 3...4: _ = try await broker.release([name.id], by: "ann", queue: queue)
        case 5...7:
            let request = CancelRequest(reason: "no", by: "ann", isForced: chance(0.2))
            _ = try await broker.cancelWithMembers([name.id], request: request, queue: queue)
        case 8...10: _ = try await broker.retryWithMembers([name.id], by: "ann", queue: queue)
        case 11: _ = try await broker.remove([name.id], by: "ann", queue: queue)
        case 12: try await edit(name)
        case 13...14:
            let milliseconds = chance(0.7) ? Int64(number(1...20_000)) : nil
            try await broker.setPaused(.pause(forMilliseconds: milliseconds, by: "ann"), queue: queue)
        case 15: try await broker.setPaused(.resume(by: "ann"), queue: queue)
        case 16...17: _ = try await broker.setLimits([limit()], by: "ann", queue: queue)
        case 18:
            isQuiet.toggle()
            for queue in Self.queues {
                _ = try await broker.control(isQuiet ? .quiet : .resume, worker: "\(worker)", by: "ann", queue: queue)
            }
            try beat()
        case 19:
            let request = CancelRequest(reason: "all", by: "ann")
            if chance(0.3) { _ = try await broker.cancelQueue(queue, request: request) }
        default:
            let new = NewStandingCancel(query: "tag:x", milliseconds: Int64(number(1...20_000)), by: "ann", reason: "x")
            if chance(0.4) { _ = try await broker.setStandingCancel(new, queue: queue) }
        }
    }

    private mutating func edit(_ name: DependencyName) async throws {
        let queue = home(of: name)
        guard let detail = try await broker.details([name.id], queue: queue).first.flatMap({ $0 }) else { return }
        let edit = OperationEdit(
            detail.record,
            priority: OperationPriority.allCases.randomElement(using: &chance),
            delayMilliseconds: chance(0.4) ? Int64(number(0...10_000)) : nil
        )
        _ = try await broker.edit([edit], by: "ann", queue: queue)
    }

    private mutating func limit() -> QueueLimit {
        let isRemoved = chance(0.5)
        let key = chance(0.5) ? nil : Self.keys[number(0...1)]
        let rate = QueueRate(number(1...4), per: .seconds(number(1...20)), burst: number(1...4))
        switch number(1...5) {
        case 1: return .concurrency(isRemoved ? nil : number(1...4))
        case 2: return .rate(isRemoved ? nil : rate)
        case 3: return .keyConcurrency(isRemoved ? nil : number(1...3), of: key)
        case 4: return .keyRate(isRemoved ? nil : rate, of: key)
        default: return .keyWeight(isRemoved ? nil : number(1...4), of: key)
        }
    }
}
