import SluiceTesting
import Testing

private struct Chatty: DistributedOperation {
    static let name = "chatty"

    func main(_ context: OperationContext) async throws {
        for number in 0..<5 { context.log("line \(number)") }
    }
}

@Suite("Reading queues from a program", .timeLimit(.minutes(60)))
struct ReadingTests {
    let sluice = InMemorySluice(queues: .all) { $0.register(Resize.self) }
    private var client: SluiceClient { sluice.client }

    @Test("A queue that was never used has only zeros")
    func unused() async throws {
        let statistics = try await client.statistics(queue: "never")
        #expect(try await client.queues() == [])
        #expect(OperationState.allCases.allSatisfy { statistics[state: $0] == 0 })
        #expect(QueueStatistics.Total.allCases.allSatisfy { statistics[total: $0] == 0 })
        #expect((statistics.isPaused, statistics.liveWorkers) == (false, 0))
        #expect((statistics.oldestReady, statistics.pausedUntil) == (nil, nil))
    }

    @Test("A program reads counts, totals, pause and oldest age of a queue")
    func statistics() async throws {
        for path in ["a", "b", "c"] { try await client.enqueue(Resize(path: path), .queue("mail")) }
        try await client.enqueue(Resize(path: "late"), .queue("mail"), .delay(.seconds(60)))
        sluice.clock.advance(by: .seconds(5))
        try await client.pause(queue: "mail", for: .seconds(10))
        let paused = try await client.statistics(queue: "mail")
        #expect((paused[state: .ready], paused[state: .scheduled], paused[state: .finished]) == (3, 1, 0))
        #expect(paused[total: .enqueued] == 4)
        #expect(paused.isPaused)
        #expect(paused.pausedUntil == paused.time.addingTimeInterval(10))
        #expect(paused.oldestReady == .seconds(5))
        try await client.resume(queue: "mail")
        try await sluice.drain()
        let drained = try await client.statistics(queue: "mail")
        #expect((drained[state: .ready], drained[state: .finished], drained[total: .finished]) == (0, 3, 3))
        #expect((drained.isPaused, drained.pausedUntil, drained.oldestReady) == (false, nil, nil))
        #expect(try await client.queues() == ["mail"])
    }

    @Test("A program reads the operations of a state over all pages, with names, tags and order")
    func operations() async throws {
        for number in 0..<450 { try await client.enqueue(Resize(path: "\(number)"), .tags("t\(number)")) }
        let handle = try await client.enqueue(Resize(path: "first"), .priority(.high), .tags("vip"))
        var found: [StoredOperation] = []
        for try await operation in client.operations(.ready) { found.append(operation) }
        #expect(found.count == 451)
        #expect(found[0].reference.id == handle.id)
        #expect((found[0].name, found[0].tags, found[0].priority) == ("image.resize", ["vip"], .high))
        #expect(found.dropFirst().map(\.tags) == (0..<450).map { ["t\($0)"] })
        try await found[7].reference.cancel()
        #expect(try await found[7].reference.state() == .cancelled)
        for try await _ in client.operations(.dead) { Issue.record("there is no dead operation") }
    }

    @Test("A program reads a limited number of log lines from a number on")
    func log() async throws {
        let sluice = InMemorySluice { $0.register(Chatty.self) }
        let handle = try await sluice.client.enqueue(Chatty())
        let reference = handle.reference
        try await sluice.drain()
        #expect(try await reference.log().map(\.text) == (0..<5).map { "line \($0)" })
        #expect(try await reference.log(from: 3).map(\.number) == [3, 4])
        #expect(try await reference.log(from: 1, limit: 2).map(\.text) == ["line 1", "line 2"])
        #expect(try await reference.log(from: 5) == [])
        #expect(try await reference.log().allSatisfy { $0.sentAt != nil })
    }

    @Test("An invalid queue name is refused")
    func names() async throws {
        await #expect(throws: OperationsError.self) { try await client.statistics(queue: "a b") }
        await #expect(throws: OperationsError.self) { for try await _ in client.operations(.ready, queue: "") {} }
    }
}
