import Operations
import SluiceTesting
import Testing

private struct Child: DistributedOperation {
    static let name = "child"
    var number: Int

    func main(_ context: OperationContext) async throws -> Int { number }
}

/// Enqueues as a module does that imports `Operations` alone: the answer has no handle.
private struct Parent: DistributedOperation {
    static let name = "parent"

    func main(_ context: OperationContext) async throws -> [OperationID] {
        let child: any OperationArguments = Child(number: 1)
        let first: EnqueuedOperation = try await context.enqueue(child, .limitKey("acme"))
        let again: EnqueuedOperation = try await context.enqueue(child, .id(first.id))
        let last: EnqueuedOperation = try await context.enqueue(child, .after(first.id), .withCompletion)
        return first.isNew && !again.isNew && last.isNew ? [first.id, last.id] : []
    }
}

@Suite("Enqueuing from a module that imports Operations alone", .timeLimit(.minutes(60)))
struct EnqueueFromOperationsTests {
    @Test("A body gets the ids of its children, also of those that start with its completion")
    func children() async throws {
        let sluice = InMemorySluice {
            $0.register(Child.self)
            $0.register(Parent.self)
        }
        let ids = try await sluice.run(Parent())
        try #require(ids.count == 2)
        try await sluice.drain()
        for id in ids {
            #expect(try await sluice.client.handle(id, of: Child.self).value == 1)
        }
    }
}
