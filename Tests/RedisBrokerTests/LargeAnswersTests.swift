import Logging
import Operations
import RedisBroker
import TestSupport
import Testing

/// Reads details that exceed the largest answer (64 MiB).
@Suite("Answers about large operations", .timeLimit(.minutes(60)))
struct LargeAnswersTests {
    private static let queue = "large"
    private static let count = 80
    private static let envelope = OperationEnvelope(
        name: "large",
        arguments: Array(#""\#(String(repeating: "x", count: 900 << 10))""#.utf8)
    ).encoded()

    @Test("arrive completely, a few at a time", arguments: [true, false])
    func all(tracked: Bool) async throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let broker = RedisBroker(
            server.endpoint,
            configuration: .patient(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        defer { broker.close() }
        let operations = (0..<Self.count).map { _ in NewOperation(tracked: tracked, envelope: Self.envelope) }
        _ = try await broker.enqueueAll(operations, queue: Self.queue) { _ in }
        let ids = operations.map(\.id)
        #expect(try await pages(.ready, broker) == ids)
        guard tracked else { return }

        let details = try await broker.details(ids, queue: Self.queue)
        #expect(details.map { $0?.record.header.id } == ids)
        let request = CancelRequest(reason: "", by: "test")
        _ = try await broker.cancel(ids, request: request, queue: Self.queue)
        #expect(Set(try await pages(.cancelled, broker)) == Set(ids))
    }

    @Test("also cover running operations")
    func executing() async throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let broker = RedisBroker(
            server.endpoint,
            configuration: .patient(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        defer { broker.close() }
        let operations = (0..<Self.count).map { _ in NewOperation(envelope: Self.envelope) }
        _ = try await broker.enqueueAll(operations, queue: Self.queue) { _ in }
        let worker = WorkerID()
        let beat = Beat(worker: worker, epoch: 0, leaseMilliseconds: 3_600_000, intervalMilliseconds: 5000, info: [])
        _ = try broker.beat(beat, queue: Self.queue)
        let request = ClaimRequest(worker: worker, epoch: 0, capacity: Self.count)
        while try await !broker.claim(request, queue: Self.queue).operations.isEmpty {}
        #expect(try await pages(.executing, broker) == operations.map(\.id))
    }

    /// Returns the ids of all pages, each of which has some.
    private func pages(_ state: OperationState, _ broker: RedisBroker) async throws -> [OperationID] {
        var ids: [OperationID] = []
        var cursor: String?
        repeat {
            let page = try await broker.page(state: state, queue: Self.queue, cursor: cursor, limit: 200)
            #expect(page.operations.count < Self.count)
            try #require(!page.operations.isEmpty || page.cursor == nil)
            ids += page.operations.map(\.record.header.id)
            cursor = page.cursor
        } while cursor != nil
        return ids
    }
}
