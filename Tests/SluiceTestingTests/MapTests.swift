import Operations
import Sluice
import SluiceTesting
import Synchronization
import TestSupport
import Testing

private struct Square: DistributedOperation {
    static let name = "square"
    static let retryPolicy = RetryPolicy(attempts: 1)
    let number: Int

    func main(_ context: OperationContext) async throws -> Int {
        guard number >= 0 else { throw OperationsError(.refused, "a negative number") }
        if number == 1000 { try await untilCancelled() }
        return number * number
    }
}

@Suite("sluice.map", .timeLimit(.minutes(60)))
struct MapTests {
    private let sluice = InMemorySluice(queues: .all, slots: 8) { $0.register(Square.self) }

    @Test("returns the outputs in the order of the elements, and nothing for no elements")
    func order() async throws {
        let client = sluice.client
        let squares = try await sluice.withWorker {
            try await client.map(0..<600, .queue("math")) { Square(number: $0) }
        }
        #expect(squares == (0..<600).map { $0 * $0 })
        #expect(try await client.map([Int]()) { Square(number: $0) } == [])
    }

    @Test("throws the error of a failed operation, and cancels the others")
    func failure() async throws {
        let client = sluice.client
        try await sluice.withWorker {
            let error = await #expect(throws: OperationsError.self) {
                try await client.map([1000, -1, 1000]) { Square(number: $0) }
            }
            #expect(
                error?.code == .dead && error?.message.contains("a negative number") == true,
                "\(String(describing: error))"
            )
            // The running ones end a moment after their cancel.
            try await eventually("the others are cancelled") {
                let counts = try await client.snapshotCounts()
                return counts[.cancelled] == 2 && counts[.dead] == 1
            }
        }
    }

    @Test("cancels its own operations when its task is cancelled, but not joined ones")
    func cancelled() async throws {
        let client = sluice.client
        try await sluice.withWorker {
            let other = try await client.enqueue(Square(number: 1000), .unique("shared"))
            let waiting = Task {
                try await client.map([1000, 7], .unique("shared", ifExists: .join)) { Square(number: $0) }
            }
            let own = Task { try await client.map([1000, 1000]) { Square(number: $0) } }
            try await eventually("they run") { try await client.snapshotCounts()[.executing] == 3 }
            for task in [waiting, own] {
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            try await eventually("the added ones are cancelled") { try await client.snapshotCounts()[.cancelled] == 2 }
            #expect(try await other.state() == .executing)
            try await other.cancel()
        }
    }
}

extension SluiceClient {
    fileprivate func snapshotCounts() async throws -> [OperationState: Int] {
        try await broker.snapshot(queue: SluiceDefaults.queue, executingRows: 0).counts
    }
}
