import BrokerModel
import Operations
import Sluice

@testable import SluiceCLI
@testable import SluiceOperator

// The end of a world: nothing holds operations back, so all must end.
extension World {
    /// The number of rounds after which all operations must have ended. Each round takes twice as long as the one
    /// before; the last ones take hours.
    private static let rounds = 13

    /// Ends the world.
    ///
    /// - Throws: `WorldFault` for an operation that never ends, and for a key, a place or a count that is not freed.
    mutating func end() async throws {
        note("the end")
        try await free()
        while true {
            let open = try await goOn()
            if open.isEmpty { break }
            try await endForPersons(open)
        }
        try await expectNothingTaken()
    }

    /// Lets time pass, and runs all operations that can run.
    ///
    /// - Returns: the operations that have not ended.
    private mutating func goOn() async throws -> [OperationDetail] {
        var open: [OperationDetail] = []
        for round in 0..<Self.rounds {
            try await calm()
            while let held = held.popLast() { try await complete(held) }
            try await settle()
            open = try await details().filter { !$0.state.isTerminal }
            if open.isEmpty { break }
            clock.advance(by: .seconds(5 << round))
            // The old worker's lease may have ended. After the silence, earlier workers count as lost only one lease
            // later.
            replaceWorker()
            advance(by: 2 * Self.lease)
        }
        return open
    }

    /// Reverts all settings of operators.
    private mutating func free() async throws {
        isQuiet = false
        for queue in Self.queues {
            try await broker.setPaused(.resume(by: "ann"), queue: queue)
            _ = try await broker.control(.resume, worker: "\(worker)", by: "ann", queue: queue)
            _ = try await broker.removeStandingCancels(nil, by: "ann", queue: queue)
            let limits: [QueueLimit] =
                [.concurrency(nil), .rate(nil), .keyConcurrency(nil), .keyRate(nil), .keyWeight(nil)]
                + Self.keys.flatMap { [.keyConcurrency(nil, of: $0), .keyRate(nil, of: $0), .keyWeight(nil, of: $0)] }
            _ = try await broker.setLimits(limits, by: "ann", queue: queue)
            let held = try await details().filter { $0.queue == queue && $0.hold != nil }.map(\.id)
            _ = try await broker.release(held, by: "ann", queue: queue)
        }
        for group in groups { _ = try await broker.closeGroup(group.id, by: "ann", queue: home(of: group)) }
    }

    /// Cancels operations that wait for a person, because a dependency has ended badly. Dependents of a cancelled
    /// operation then continue.
    private mutating func endForPersons(_ open: [OperationDetail]) async throws {
        let explanations = try await SituationReader(broker: client.broker).read(open, isMeasured: false).map {
            Explanation($0)
        }
        let stuck = explanations.filter { !Set($0.reasons.map(\.code)).isDisjoint(with: ["needs", "members"]) }
        guard !stuck.isEmpty else {
            // `explain` adds the chain of operations that this one waits for.
            throw fault(
                "it never ends",
                try await SituationReader(broker: client.broker).explain([open[0]])[0],
                open[0]
            )
        }
        for explanation in stuck {
            let (id, queue) = (explanation.situation.detail.id, explanation.situation.queue)
            note("cancel \(id): \(explanation.sentence)")
            let request = CancelRequest(reason: "the end", by: "ann")
            _ = try await broker.cancelWithMembers([id], request: request, queue: queue)
        }
        try await settle()
        for explanation in stuck {
            let situation = explanation.situation
            let now = try await broker.details([situation.detail.id], queue: situation.queue).first.flatMap { $0 }
            guard now?.state.isTerminal == false else { continue }
            let still = try await SituationReader(broker: client.broker).read(
                [now].compactMap { $0 },
                isMeasured: false
            )
            throw fault("a cancel does not end it", Explanation(still[0]), now)
        }
    }

    private func expectNothingTaken() async throws {
        for queue in Self.queues {
            let snapshot = try await broker.snapshot(queue: queue, executingRows: 5)
            for state in OperationState.allCases where !state.isTerminal && snapshot.counts[state] ?? 0 != 0 {
                throw WorldFault(
                    description: "\(queue) counts \(snapshot.counts[state] ?? 0) \(state.rawValue), and none is"
                )
            }
            for key in Self.keys {
                let row = try await broker.limitKey(key, queue: queue).row
                guard row.executing == 0, row.waiting == 0 else {
                    throw WorldFault(description: "key \(key) of \(queue): \(row), and nothing has it")
                }
            }
            for key in Self.uniqueKeys {
                let envelope = OperationEnvelope(name: Self.name).encoded()
                let new = NewOperation(
                    envelope: envelope,
                    links: OperationLinks(unique: UniqueClaim(key: key, policy: .enqueue))
                )
                let outcomes = try await client.outcomes([new], queue: queue, durability: .none).outcomes
                let detail = try await broker.details([new.id], queue: queue).first.flatMap { $0 }
                guard outcomes == [.created], detail?.state == .ready else {
                    throw WorldFault(description: "unique key \(key) of \(queue) is not free: \(outcomes)")
                }
            }
        }
    }
}
