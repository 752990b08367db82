import Operations
import BrokerModel
import TestSupport
import Testing

/// Replies that are lost in the network after the script has run.
@Suite(.timeLimit(.minutes(60)))
struct LostReplyTests {
    @Test("An enqueue whose answer is lost three times happens once, also for untracked operations")
    func enqueue() async throws {
        try await withProxy { proxy, broker in
            proxy.set(.loseReplies(count: 3, marker: "lost-enqueue"))
            let operations = (0..<10).map { number in
                NewOperation(tracked: number % 2 == 0, envelope: Array(#"{"name":"lost-enqueue"}"#.utf8))
            }
            let outcomes = try await broker.redis.enqueue(operations, queue: "lost")
            #expect(outcomes == [EnqueueOutcome](repeating: .created, count: 10))
            #expect(proxy.lostReplies == 3)
            let snapshot = try await broker.redis.snapshot(queue: "lost", executingRows: 0)
            #expect(snapshot.counts[.ready] == 10)
            #expect(snapshot.totals["enqueued"] == 10)
        }
    }

    @Test("Each of many enqueue calls in flight whose answer is lost is repeated and happens once")
    func enqueueAll() async throws {
        try await withProxy { proxy, broker in
            proxy.set(.loseReplies(count: 5, marker: "lost-bulk"))
            let operations = (0..<12 * SluiceDefaults.batch).map { number in
                NewOperation(tracked: number % 2 == 0, envelope: Array(#"{"name":"lost-bulk"}"#.utf8))
            }
            let outcomes = try await broker.redis.enqueueAll(operations, queue: "lost") { _ in }
            #expect(outcomes.count == operations.count)
            #expect(outcomes.allSatisfy { $0 == .created })
            #expect(proxy.lostReplies == 5)
            let snapshot = try await broker.redis.snapshot(queue: "lost", executingRows: 0)
            #expect(snapshot.counts[.ready] == operations.count)
            #expect(snapshot.totals["enqueued"] == Int64(operations.count))
        }
    }

    @Test("A bulk enqueue that is refused midway reports it, and the operations before stay enqueued")
    func refused() async throws {
        try await withProxy { _, broker in
            let envelope = Array(#"{"name":"n"}"#.utf8)
            var operations = (0..<4 * SluiceDefaults.batch).map { _ in NewOperation(tracked: false, envelope: envelope)
            }
            // No script accepts an envelope that continues the id.
            operations[2 * SluiceDefaults.batch].envelope = Array("ABC".utf8)
            var enqueued = 0
            await #expect(throws: OperationsError.self) {
                _ = try await broker.redis.enqueueAll(operations, queue: "lost") { enqueued = $0 }
            }
            #expect(enqueued == 2 * SluiceDefaults.batch)
            let snapshot = try await broker.redis.snapshot(queue: "lost", executingRows: 0)
            #expect(snapshot.counts[.ready] == 3 * SluiceDefaults.batch)
            // The numbers of all four calls are free again, so the next call is a new one.
            let one = [NewOperation(envelope: Array(#"{"name":"n"}"#.utf8))]
            #expect(try await broker.redis.enqueue(one, queue: "lost") == [.created])
        }
    }

    @Test("A read is repeated once if its connection ends before the answer")
    func reading() async throws {
        try await withProxy { proxy, broker in
            let operation = NewOperation(envelope: Array(#"{"name":"lost-reading"}"#.utf8))
            _ = try await broker.redis.enqueue([operation], queue: "lost")
            _ = try await broker.redis.details([operation.id], queue: "lost")
            proxy.set(.loseReplies(count: 1, marker: operation.id.description))
            let found = try await broker.redis.details([operation.id], queue: "lost")
            #expect(found.compactMap { $0?.record.header.id } == [operation.id] && proxy.lostReplies == 1)
            proxy.set(.loseReplies(count: 2, marker: operation.id.description))
            await #expect(throws: OperationsError.self) {
                _ = try await broker.redis.details([operation.id], queue: "lost")
            }
            #expect(proxy.lostReplies == 3)
        }
    }

    @Test("A claim whose answer is lost reports it, and a reconcile finds its operations without claiming them twice")
    func claim() async throws {
        try await withProxy { proxy, broker in
            let worker = WorkerID()
            let beat = Beat(worker: worker, epoch: 0, leaseMilliseconds: 15_000, intervalMilliseconds: 5000, info: [])
            _ = try broker.redis.beat(beat, queue: "lost")
            // The first call may have to load its script, and then that reply would be the lost one.
            _ = try await broker.redis.claim(ClaimRequest(worker: worker, epoch: 0, capacity: 4), queue: "lost")
            let operations = (0..<6).map { NewOperation(tracked: $0 % 2 == 0, envelope: Array(#"{"name":"n"}"#.utf8)) }
            _ = try await broker.redis.enqueue(operations, queue: "lost")
            proxy.set(.loseReplies(count: 1, marker: worker.description))
            await #expect {
                _ = try await broker.redis.claim(ClaimRequest(worker: worker, epoch: 0, capacity: 4), queue: "lost")
            } throws: {
                ($0 as? OperationsError)?.code == .outcomeUnknown
            }
            proxy.set(.none)
            let found = try await broker.redis.reconcile(known: [], worker: worker, epoch: 1, queue: "lost").found
            #expect(found.map(\.id) == operations.prefix(4).map(\.id))
            let next = try await broker.redis.claim(ClaimRequest(worker: worker, epoch: 1, capacity: 9), queue: "lost")
            #expect(next.operations.map(\.id) == operations.suffix(2).map(\.id))
        }
    }

    private func withProxy(_ body: (FaultProxy, ClockedBroker) async throws -> Void) async throws {
        let proxy = try await FaultProxy.start(to: TestServer.shared.endpoint)
        defer { proxy.stop() }
        let broker = try await ClockedBroker(queue: "lost", endpoint: proxy.endpoint)
        defer { broker.close() }
        try await body(proxy, broker)
    }
}
