import Operations
import Sluice
import SluiceTesting
import Testing

/// The operations of docs/dependencies.md.
private struct Part: DistributedOperation {
    static let name = "part"
    static let retryPolicy = RetryPolicy(attempts: 1)
    let number: Int

    func main(_ context: OperationContext) async throws -> Int {
        guard number >= 0 else { throw OperationsError(.refused, "a negative part") }
        return number * number
    }
}

private struct Sum: DistributedOperation {
    static let name = "sum"

    func main(_ context: OperationContext) async throws -> Int {
        try await context.dependencies().map { try $0.value(as: Int.self) }.reduce(0, +)
    }
}

@Suite("Dependencies in the testing kit", .timeLimit(.minutes(60)))
struct DependencyTests {
    private let sluice = InMemorySluice(queues: .all) {
        $0.register(Part.self)
        $0.register(Sum.self)
    }

    @Test("An operation runs after its dependencies, and reads their results")
    func results() async throws {
        let first = try await sluice.client.enqueue(Part(number: 0))
        let parts = try await sluice.client.enqueue((1...120).map { Part(number: $0) }, .after(first))
        let sum = try await sluice.client.enqueue(Sum(), .after(parts))
        #expect(try await sum.state() == .blocked)
        try await sluice.drain()
        #expect(try await sum.value == (1...120).reduce(0) { $0 + $1 * $1 })
        #expect(try await sluice.run(Sum(), .after(parts[0], parts[1].id)) == 5)
    }

    @Test("A failed dependency cancels, holds or runs its dependents, and its result is an error")
    func policies() async throws {
        let bad = try await sluice.client.enqueue(Part(number: -1))
        let cancelled = try await sluice.client.enqueue(Sum(), .after(bad))
        let held = try await sluice.client.enqueue(Sum(), .after(bad.onFailure(.hold)))
        let runs = try await sluice.client.enqueue(Sum(), .after(bad.onFailure(.run)), .attempts(1))
        try await sluice.drain()
        #expect(try await cancelled.state() == .cancelled)
        #expect(try await held.state() == .blocked)
        #expect(try await runs.state() == .dead)
        let error = await #expect(throws: OperationsError.self) { try await runs.value }
        #expect(
            error?.message.contains("operation \(bad.id) is dead, so it has no result") == true,
            "\(error?.message ?? "")"
        )
    }

    @Test("The operations of an enqueue may have any order, but a cycle of dependencies is refused")
    func order() async throws {
        let ids = (0..<5).map { OperationID(key: "part \($0)") }
        let handles = try await sluice.client.enqueue((0..<5).map { Part(number: $0) }) { part in
            EnqueueOptions(.id(ids[part.number]), .after(ids[(part.number + 1)...]))
        }
        #expect(handles.map(\.id) == ids)
        #expect(try await handles[4].state() == .ready)
        #expect(try await handles[0].state() == .blocked)
        let error = await #expect(throws: OperationsError.self) {
            try await sluice.client.enqueue((5..<8).map { Part(number: $0) }) { part in
                let next = part.number == 7 ? 5 : part.number + 1
                return EnqueueOptions(.id(OperationID(key: "\(part.number)")), .after(OperationID(key: "\(next)")))
            }
        }
        #expect(error?.code == .invalidOption && error?.message.contains("wait for each other") == true)
        #expect(try await sluice.waiting(Part.self).count == 5)
    }

    @Test("Invalid dependencies are refused before anything is enqueued")
    func wrong() async throws {
        let known = try await sluice.client.enqueue(Part(number: 1))
        for options in [
            EnqueueOptions(.untracked, .after(known)), .after((0...10_000).map { _ in OperationID() }),
        ] {
            let error = await #expect(throws: OperationsError.self) { try await sluice.client.enqueue(Sum(), options) }
            #expect(error?.code == .invalidOption)
        }
        for options in [EnqueueOptions.after(OperationID()), .after(OperationDependency(known.id, queue: "other"))] {
            let error = await #expect(throws: OperationsError.self) { try await sluice.client.enqueue(Sum(), options) }
            #expect(error?.code == .notFound)
        }
        #expect(try await sluice.waiting(Sum.self).isEmpty)
    }

    @Test("Dependencies may be in another queue, and their results come along")
    func elsewhere() async throws {
        let parts = try await sluice.client.enqueue((1...3).map { Part(number: $0) }, .queue("parts"))
        let sum = try await sluice.client.enqueue(Sum(), .queue("sums"), .after(parts))
        #expect(try await sum.state() == .blocked)
        try await sluice.drain()
        #expect(try await sum.value == 14)
    }
}
