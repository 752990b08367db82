import Foundation
import BrokerModel
import Testing

@testable import Operations

@Suite("Local queues used by many tasks", .timeLimit(.minutes(60)))
struct StormTests {
    @Test("With many tasks at once, every operation ends exactly once and the count returns to zero")
    func storm() async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 4)
        let ends = Journal()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var last: ValueOperation<Void>?
                    for number in 0..<300 {
                        let operation = ValueOperation { if number % 7 == 0 { throw Oops() } }
                        operation.onEnd { _ in ends.note("end") }
                        if let last, number % 3 == 0 {
                            try? operation.addDependency(last, onFailure: number % 2 == 0 ? .run : .cancel)
                        }
                        try? queue.add(operation)
                        if number % 5 == 0 { operation.priority = .high }
                        if number % 11 == 0 { operation.cancel() }
                        if number % 50 == 0 { queue.maxConcurrentOperationCount = 1 + number % 4 }
                        last = operation
                    }
                }
            }
        }
        try await queue.waitUntilAllOperationsAreFinished()
        #expect(queue.operationCount == 0 && queue.executingCount == 0)
        // A waiting operation that is cancelled runs its hook in a separate task.
        await ends.wait(count: 8 * 300)
        #expect(ends.entries.count == 8 * 300)
    }

    @Test("Two queues under all calls at once from many tasks: every operation ends exactly once")
    func everythingAtOnce() async throws {
        let queues = [
            LocalOperationQueue(maxConcurrentOperationCount: 3), LocalOperationQueue(maxConcurrentOperationCount: 2),
        ]
        let (shared, ends) = (Crowd(), Journal())
        await withTaskGroup(of: Void.self) { group in
            for seed in 0..<8 {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(seed))
                    for _ in 0..<400 { Self.disturb(queues, shared, ends, &generator) }
                }
            }
        }
        let operations = shared.operations.withLock { $0 }
        for queue in queues { queue.isSuspended = false }
        for queue in queues { queue.maxConcurrentOperationCount = 2 }
        // Some operations wait for one that was never added, or are held by a failed one. Without a cancel these would
        // wait forever.
        for operation in operations where operation.state == .blocked { operation.cancel() }
        for queue in queues { try await queue.waitUntilAllOperationsAreFinished() }
        for operation in operations { operation.cancel() }
        await ends.wait(count: operations.count)
        #expect(ends.entries.count == operations.count)
        #expect(queues.allSatisfy { $0.operationCount == 0 && $0.executingCount == 0 })
    }

    private static func disturb(
        _ queues: [LocalOperationQueue],
        _ shared: Crowd,
        _ ends: Journal,
        _ generator: inout SeededGenerator
    ) {
        let queue = queues[Int.random(in: 0...1, using: &generator)]
        let some = shared.operations.withLock { operations in
            (0..<2).map { _ in operations.suffix(30).randomElement(using: &generator) }
        }
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<8:
            let fails = Int.random(in: 0..<9, using: &generator) == 0
            let operation = ValueOperation { if fails { throw Oops() } }
            operation.onEnd { _ in ends.note("end") }
            shared.operations.withLock { $0.append(operation) }
            if let other = some[0] { try? operation.addDependency(other, onFailure: fails ? .run : .cancel) }
            try? queue.add(operation)
        case 8..<12:
            if let left = some[0], let right = some[1] { try? left.addDependency(right, onFailure: .hold) }
        case 12..<13: some[0]?.cancel()
        case 13..<15: if let left = some[0], let right = some[1] { left.removeDependency(right) }
        case 15..<16: some[0]?.priority = .veryHigh
        case 16..<17: queue.isSuspended.toggle()
        case 17..<18: queue.maxConcurrentOperationCount = Int.random(in: 0...4, using: &generator)
        case 18..<19: queue.addBarrier {}
        default: _ = queue.operations.count + queue.executingCount
        }
    }
}

/// The operations that all tasks share
private final class Crowd: Sendable {
    let operations = Guarded<[ValueOperation<Void>]>([])
}
