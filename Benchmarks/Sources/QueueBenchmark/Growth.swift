import Foundation
import Operations

/// Cost and memory of an operation while more and more wait.
func measureGrowth() async throws {
    for count in [1_000, 10_000, 100_000, 1_000_000].map({ max(10, Int(Double($0) * min(scale, 1))) }) {
        let repeats = max(1, 100_000 / count)
        let queues = (0..<repeats).map { _ in LocalOperationQueue(maxConcurrentOperationCount: 2) }
        for queue in queues { queue.isSuspended = true }
        let before = residentBytes()
        let add = await nanoseconds(runs: 1, operations: count * repeats) {
            for queue in queues { for _ in 0..<count { queue.add {} } }
        }
        let bytes = Double(residentBytes() - before) / Double(count * repeats)
        let run = try await nanoseconds(runs: 1, operations: count * repeats) {
            for queue in queues {
                queue.isSuspended = false
                try await queue.waitUntilAllOperationsAreFinished()
            }
        }
        growthRow("add, \(count) waiting", count, add)
        growthRow("run, \(count) waiting", count, run)
        if count >= 100_000 {
            let row = MemoryRow(name: "memory, Sluice", operations: count, bytesPerWaitingOperation: bytes)
            write(row, "memory per waiting operation at \(count): \(whole(bytes)) bytes")
        }
    }
    if !isOursOnly { await measureFoundationMemory(max(10, Int(100_000 * min(scale, 1)))) }
}

private func growthRow(_ name: String, _ count: Int, _ time: Double) {
    write(
        Row(name: name, operations: count, nanosecondsPerOperation: time),
        [name.padding(toLength: 40, withPad: " ", startingAt: 0), cell("\(count)", 9), cell(whole(time), 9)].joined(
            separator: " "
        )
    )
}

private func measureFoundationMemory(_ count: Int) async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let before = residentBytes()
    for _ in 0..<count { queue.addOperation {} }
    let bytes = Double(residentBytes() - before) / Double(count)
    let row = MemoryRow(name: "memory, Foundation", operations: count, bytesPerWaitingOperation: bytes)
    write(row, "memory per waiting operation of Foundation at \(count): \(whole(bytes)) bytes")
    queue.isSuspended = false
    await queue.allFinished()
}
