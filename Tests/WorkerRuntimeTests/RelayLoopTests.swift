import BrokerModel
import Operations
import TestSupport
import Testing

@testable import WorkerRuntime

@Suite("Relayed ends of dependencies", .timeLimit(.minutes(60)))
struct RelayLoopTests {
    /// Returns a broker with an ended operation in a queue that no worker serves, and a dependent in the worker's
    /// queue.
    private func broker() async throws -> (broker: InMemoryBroker, waiting: OperationID) {
        let broker = InMemoryBroker()
        let first = NewOperation(envelope: OperationEnvelope(name: "work").encoded())
        _ = try await broker.enqueue([first], queue: "unserved")
        let dependency = OperationDependency(first.id, queue: "unserved", onFailure: .run)
        var links = OperationLinks(after: [dependency])
        links?.said[dependency.name] = try await broker.link([first.id], in: "unserved", from: "default").first
        let waiting = NewOperation(envelope: OperationEnvelope(name: "work").encoded(), links: links)
        _ = try await broker.enqueue([waiting], queue: "default")
        let request = CancelRequest(reason: "", by: "ann")
        _ = try await broker.cancel([first.id], request: request, queue: "unserved")
        return (broker, waiting.id)
    }

    @Test("The relay loop relays the ends of a queue without a worker")
    func looks() async throws {
        let (broker, waiting) = try await broker()
        let harness = Harness(broker: broker)
        let discover = { @Sendable in try await broker.queues() }
        let loop = RelayLoop(core: harness.worker.core, discover: discover, pause: .milliseconds(5))
        let task = Task { await loop.run() }
        #expect(try await harness.reaches(.ready, waiting))
        task.cancel()
        await task.value
    }

    @Test("A worker of the queue relays its ends at once")
    func relaysOwn() async throws {
        let (broker, waiting) = try await broker()
        let harness = Harness(
            broker: broker,
            configuration: .quick("default,unserved"),
            handlers: [
                OperationHandler(name: "work") { _, _ in [] }
            ]
        )
        harness.start()
        #expect(try await harness.reaches(.finished, waiting))
        try await harness.stop()
    }
}
