import Foundation
import Operations

/// Measures the cost and the memory of an operation while more and more operations wait.
func measureGrowth() async throws {
    for count in [1_000, 10_000, 100_000, 1_000_000].map({ max(10, Int(Double($0) * min(scale, 1))) }) {
        let repeats = max(1, 100_000 / count)
        let queues = (0..<repeats).map { _ in LocalOperationQueue(maxConcurrentOperationCount: 2) }
        for queue in queues { queue.isSuspended = true }
        let add = await nanoseconds(runs: 1, operations: count * repeats) {
            for queue in queues { for _ in 0..<count { queue.add {} } }
        }
        let run = try await nanoseconds(runs: 1, operations: count * repeats) {
            for queue in queues {
                queue.isSuspended = false
                try await queue.waitUntilAllOperationsAreFinished()
            }
        }
        growthRow("add, \(count) waiting", count, add)
        growthRow("run, \(count) waiting", count, run)
    }
}

/// Measures the memory of a waiting operation.
///
/// Call this first: later measurements would reuse freed memory and not see it.
func measureMemory() {
    let count = max(10, Int(200_000 * min(scale, 1)))
    let (ours, chained, foundation) = (LocalOperationQueue(), LocalOperationQueue(), OperationQueue())
    ours.isSuspended = true
    chained.isSuspended = true
    foundation.isSuspended = true
    memoryRow("Sluice", count) { for _ in 0..<count { ours.add {} } }
    memoryRow("Sluice, each with a dependency", count) {
        var last: ValueOperation<Void>?
        for _ in 0..<count {
            let operation = ValueOperation {}
            if let last { try? operation.addDependency(last) }
            try? chained.add(operation)
            last = operation
        }
    }
    if !isOursOnly { memoryRow("Foundation", count) { for _ in 0..<count { foundation.addOperation {} } } }
    ours.cancelAllOperations()
    chained.cancelAllOperations()
    foundation.cancelAllOperations()
    foundation.isSuspended = false
    foundation.waitUntilAllOperationsAreFinished()
}

private func memoryRow(_ name: String, _ count: Int, _ fill: () -> Void) {
    let before = residentBytes()
    fill()
    let bytes = Double(residentBytes() - before) / Double(count)
    let row = MemoryRow(name: "memory, \(name)", operations: count, bytesPerWaitingOperation: bytes)
    write(row, "bytes per waiting operation, \(name): \(whole(bytes))")
}

private func growthRow(_ name: String, _ count: Int, _ time: Double) {
    write(
        Row(name: name, operations: count, nanosecondsPerOperation: time),
        [name.padding(toLength: 40, withPad: " ", startingAt: 0), cell("\(count)", 9), cell(whole(time), 9)].joined(
            separator: " "
        )
    )
}
