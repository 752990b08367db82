import Foundation
import BrokerModel
import Testing

@testable import Operations

/// Random schedules against `ReferenceModel`. A failure names its seed; `SLUICE_SEED=…` runs that seed alone.
@Suite("Random schedules", .timeLimit(.minutes(60)))
struct ScheduleTests {
    static let seeds: [UInt64] = {
        if let seed = ProcessInfo.processInfo.environment["SLUICE_SEED"].flatMap(UInt64.init) { return [seed] }
        return Array(1...10)
    }()

    @Test("10,000 random steps leave queue and model in the same states", arguments: seeds)
    func schedule(seed: UInt64) throws {
        var schedule = Schedule(seed: seed)
        for step in 0..<10_000 {
            let what = schedule.step()
            if let difference = schedule.difference {
                Issue.record("seed \(seed), step \(step), after \(what): \(difference)")
                return
            }
        }
    }
}

/// A queue without executor tasks, driven by hand, and its model
private struct Schedule {
    var model = ReferenceModel(queues: [.init(limit: 3), .init(limit: 1)])
    let queues: [LocalOperationQueue]
    var operations: [Int: ValueOperation<Void>] = [:]
    /// The keys of `operations`.
    var numbers: [Int] = []
    var last = 0
    var generator: SeededGenerator
    /// The difference between the last answer and the expected one
    var wrongAnswer: String?

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        let clock = TestClock()
        queues = [3, 1].map { LocalOperationQueue(maxConcurrentOperationCount: $0, clock: clock) }
        // The scheduler believes that this many executor tasks are starting, so it never starts one.
        for queue in queues { queue.core.scheduler.withLock { $0.idle = .max / 2 } }
    }

    /// Applies one random step to both the queues and the model.
    mutating func step() -> String {
        let crowd = operations.count > 24
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<18 where !crowd: return create()
        case 0..<36: return add()
        case 36..<50: return addDependency()
        case 50..<54: return removeDependency()
        case 54..<58: return cancel()
        case 58..<59: return cancelAll()
        case 59..<63: return setPriority()
        case 63..<66: return control()
        case 66..<82: return take()
        case 82..<97: return conclude()
        default: return forget()
        }
    }

    /// The first difference between queues and model, or nil
    var difference: String? {
        if let wrongAnswer { return wrongAnswer }
        for (number, operation) in operations {
            guard let expected = model.operations[number] else { return "\(number) is unknown to the model" }
            if operation.state != expected.state { return "\(number) is \(operation.state), not \(expected.state)" }
            if operation.isCancelled != expected.isCancelled {
                return "\(number): isCancelled is \(operation.isCancelled)"
            }
        }
        for queue in queues.indices where queues[queue].operationCount != model.alive(in: queue).count {
            return "queue \(queue) counts \(queues[queue].operationCount), not \(model.alive(in: queue).count)"
        }
        return nil
    }

    /// Returns an operation for which the condition holds: the first one from a random position on.
    private mutating func any(where condition: (ReferenceModel.Operation) -> Bool = { _ in true }) -> Int? {
        guard !numbers.isEmpty else { return nil }
        let start = Int.random(in: numbers.indices, using: &generator)
        for offset in numbers.indices {
            let number = numbers[(start + offset) % numbers.count]
            if let operation = model.operations[number], condition(operation) { return number }
        }
        return nil
    }

    private mutating func expect(_ answer: Bool, _ expected: Bool, _ what: String) -> String {
        if answer != expected { wrongAnswer = "the answer was \(answer), not \(expected)" }
        return what
    }

    private mutating func create() -> String {
        last += 1
        numbers.append(last)
        operations[last] = ValueOperation(LocalOperationOptions(name: "\(last)")) {}
        model.operations[last] = .init()
        return "create \(last)"
    }

    private mutating func add() -> String {
        guard let number = any(where: { $0.queue == nil || $0.attempts > 0 }), let operation = operations[number] else {
            return create()
        }
        let queue = Int.random(in: 0...1, using: &generator)
        let asBarrier = Int.random(in: 0..<10, using: &generator) == 0
        let expected = model.add(number, to: queue, asBarrier: asBarrier)
        do throws(OperationsError) {
            if asBarrier { try queues[queue].addBarrier(operation) } else { try queues[queue].add(operation) }
            return expect(true, expected, "add \(number) to \(queue), barrier \(asBarrier)")
        } catch {
            return expect(false, expected, "add \(number) to \(queue), barrier \(asBarrier)")
        }
    }

    private mutating func addDependency() -> String {
        guard let number = any(), let other = any() else { return create() }
        let policy = DependencyFailurePolicy.allCases.randomElement(using: &generator) ?? .run
        let expected = model.addDependency(number, on: other, policy)
        guard let dependent = operations[number], let dependency = operations[other] else { return create() }
        let what = "\(number) depends on \(other), \(policy)"
        do {
            try dependent.addDependency(dependency, onFailure: policy)
            return expect(true, expected, what)
        } catch {
            return expect(false, expected, what)
        }
    }

    private mutating func removeDependency() -> String {
        guard let number = any(where: { !$0.edges.isEmpty }),
            let edge = model.operations[number]?.edges.randomElement(using: &generator),
            let other = operations[edge.dependency]
        else { return create() }
        model.removeDependency(number, on: edge.dependency)
        operations[number]?.removeDependency(other)
        return "\(number) no longer depends on \(edge.dependency)"
    }

    private mutating func cancel() -> String {
        guard let number = any() else { return create() }
        model.cancel(number)
        operations[number]?.cancel()
        return "cancel \(number)"
    }

    private mutating func cancelAll() -> String {
        let queue = Int.random(in: 0...1, using: &generator)
        model.cancelAll(queue)
        queues[queue].cancelAllOperations()
        return "cancel all of \(queue)"
    }

    private mutating func setPriority() -> String {
        guard let number = any(), let priority = OperationPriority.allCases.randomElement(using: &generator) else {
            return create()
        }
        model.operations[number]?.priority = priority
        operations[number]?.priority = priority
        return "priority of \(number) is \(priority)"
    }

    private mutating func control() -> String {
        let queue = Int.random(in: 0...1, using: &generator)
        if Bool.random(using: &generator) {
            model.queues[queue].isSuspended.toggle()
            queues[queue].isSuspended.toggle()
            return "suspend or resume \(queue)"
        }
        let limit = [0, 1, 2, 5, LocalOperationQueue.unlimited].randomElement(using: &generator) ?? 1
        model.queues[queue].limit = limit
        queues[queue].maxConcurrentOperationCount = limit
        return "limit of \(queue) is \(limit)"
    }

    private mutating func take() -> String {
        let queue = Int.random(in: 0...1, using: &generator)
        let expected = model.next(in: queue)
        let taken = queues[queue].core.scheduler.withLock { $0.take() }
        if let expected { model.start(expected) }
        if taken?.name != expected.map(String.init) {
            wrongAnswer = "\(taken?.name ?? "nothing") was taken, not \(expected.map(String.init) ?? "nothing")"
        }
        return "take from \(queue)"
    }

    private mutating func conclude() -> String {
        if let number = any(where: { $0.state == .retrying }), Bool.random(using: &generator) {
            model.operations[number]?.state = .ready
            operations[number]?.decide { [operations] scheduler, _ in
                if let operation = operations[number] { scheduler.unpark(operation) }
            }
            return "\(number) is due again"
        }
        guard let number = any(where: { $0.state == .executing }), let operation = operations[number] else {
            return take()
        }
        let chance = Int.random(in: 0..<10, using: &generator)
        let end: BodyEnd = chance < 7 ? .returned : .threw(chance < 8 ? .retry(after: .seconds(1)) : .dead)
        model.conclude(number, didReturn: chance < 7, retries: chance == 7)
        operation.decide { scheduler, effects in
            scheduler.conclude(operation, end, &effects)
            if operation.guardedState.isTerminal { effects.givenUp.append(operation) }
        }
        return "\(number) ends: \(end)"
    }

    /// Drops an operation that has ended. Also drops one that was never added and that only this schedule holds.
    private mutating func forget() -> String {
        guard let number = any(where: { $0.state.isTerminal || ($0.queue == nil && $0.edges.isEmpty) }) else {
            return take()
        }
        if model.operations[number]?.state.isTerminal == false { model.end(number, .cancelled) }
        operations[number] = nil
        numbers.removeAll { $0 == number }
        model.operations[number] = model.operations[number].flatMap { $0.state.isTerminal ? nil : $0 }
        return "forget \(number)"
    }
}
