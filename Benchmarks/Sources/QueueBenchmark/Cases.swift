import Foundation
import Operations

/// One piece of work, written for both queues.
struct BenchmarkCase: Sendable {
    let name: String
    let operations: Int
    let ours: @Sendable (Int) async throws -> Void
    let foundation: (@Sendable (Int) async throws -> Void)?
}

extension BenchmarkCase {
    static func all(scale: Double) -> [BenchmarkCase] {
        func count(_ number: Int) -> Int { max(10, Int(Double(number) * scale)) }
        return [1, 2, 64].map { addAndRun(count(100_000), concurrency: $0) }
            + [1, 2, 64].map { runFilled(count(100_000), concurrency: $0) }
            + [priorities(count(100_000)), chain(count(20_000)), fan(count(10_000))]
    }

    /// Adds operations while the queue runs.
    static func addAndRun(_ count: Int, concurrency: Int) -> BenchmarkCase {
        BenchmarkCase(name: "add and run, \(concurrency) at once", operations: count) { count in
            let queue = LocalOperationQueue(maxConcurrentOperationCount: concurrency)
            for _ in 0..<count { queue.add {} }
            try await queue.waitUntilAllOperationsAreFinished()
        } foundation: { count in
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = concurrency
            for _ in 0..<count { queue.addOperation {} }
            await queue.allFinished()
        }
    }

    /// Adds operations to a suspended queue, then runs them.
    static func runFilled(_ count: Int, concurrency: Int) -> BenchmarkCase {
        BenchmarkCase(name: "fill, then run, \(concurrency) at once", operations: count) { count in
            let queue = LocalOperationQueue(maxConcurrentOperationCount: concurrency)
            queue.isSuspended = true
            for _ in 0..<count { queue.add {} }
            queue.isSuspended = false
            try await queue.waitUntilAllOperationsAreFinished()
        } foundation: { count in
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = concurrency
            queue.isSuspended = true
            for _ in 0..<count { queue.addOperation {} }
            queue.isSuspended = false
            await queue.allFinished()
        }
    }

    static func priorities(_ count: Int) -> BenchmarkCase {
        let levels = OperationPriority.allCases
        let foundationLevels: [Operation.QueuePriority] = [.veryLow, .low, .normal, .high, .veryHigh]
        return BenchmarkCase(name: "five priorities mixed, 2 at once", operations: count) { count in
            let queue = LocalOperationQueue(maxConcurrentOperationCount: 2)
            queue.isSuspended = true
            for number in 0..<count { queue.add(LocalOperationOptions(priority: levels[number % 5])) {} }
            queue.isSuspended = false
            try await queue.waitUntilAllOperationsAreFinished()
        } foundation: { count in
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 2
            queue.isSuspended = true
            for number in 0..<count {
                let operation = BlockOperation {}
                operation.queuePriority = foundationLevels[number % 5]
                queue.addOperation(operation)
            }
            queue.isSuspended = false
            await queue.allFinished()
        }
    }

    /// Each operation depends on the one before it.
    static func chain(_ count: Int) -> BenchmarkCase {
        BenchmarkCase(name: "chain", operations: count) { count in
            let queue = LocalOperationQueue(maxConcurrentOperationCount: 2)
            var last: ValueOperation<Void>?
            for _ in 0..<count {
                let operation = ValueOperation {}
                if let last { try operation.addDependency(last) }
                try queue.add(operation)
                last = operation
            }
            try await queue.waitUntilAllOperationsAreFinished()
        } foundation: { count in
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 2
            var last: BlockOperation?
            for _ in 0..<count {
                let operation = BlockOperation {}
                if let last { operation.addDependency(last) }
                queue.addOperation(operation)
                last = operation
            }
            await queue.allFinished()
        }
    }

    /// One operation, then many that depend on it, then one that depends on all of them.
    static func fan(_ count: Int) -> BenchmarkCase {
        BenchmarkCase(name: "fan 1 → n → 1", operations: count + 2) { count in
            let queue = LocalOperationQueue(maxConcurrentOperationCount: 2)
            queue.isSuspended = true
            let (root, leaf) = (ValueOperation {}, ValueOperation {})
            try queue.add(root)
            for _ in 0..<count - 2 {
                let operation = ValueOperation {}
                try operation.addDependency(root)
                try leaf.addDependency(operation)
                try queue.add(operation)
            }
            try queue.add(leaf)
            queue.isSuspended = false
            try await queue.waitUntilAllOperationsAreFinished()
        } foundation: { count in
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 2
            queue.isSuspended = true
            let (root, leaf) = (BlockOperation {}, BlockOperation {})
            queue.addOperation(root)
            for _ in 0..<count - 2 {
                let operation = BlockOperation {}
                operation.addDependency(root)
                leaf.addDependency(operation)
                queue.addOperation(operation)
            }
            queue.addOperation(leaf)
            queue.isSuspended = false
            await queue.allFinished()
        }
    }
}

extension OperationQueue {
    /// Waits on a separate thread, because `waitUntilAllOperationsAreFinished` blocks.
    func allFinished() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.waitUntilAllOperationsAreFinished()
                continuation.resume()
            }
        }
    }
}
