import BrokerModel
import Operations
import Synchronization
import TestSupport
import Testing

@testable import WorkerRuntime

/// Records what a worker reports about itself.
private final class Recorder: OperationMiddleware, RuntimeObserving {
    struct Seen { var (lost, reconnects, outbox) = (0, 0, [Duration]()) }

    private let state = Mutex(Seen())
    var seen: Seen { state.withLock { $0 } }

    func lostLease(queue: String) { state.withLock { $0.lost += 1 } }
    func reconnected(queue: String) { state.withLock { $0.reconnects += 1 } }
    func outboxWaits(_ time: Duration, queue: String) { state.withLock { $0.outbox.append(time) } }
}

@Suite("What a worker reports about itself", .timeLimit(.minutes(60)))
struct RuntimeObserverTests {
    @Test("An operation that another worker may run is counted once as a lost lease")
    func lostLease() async throws {
        let (recorder, gate, again) = (Recorder(), Latch(), Latch())
        let harness = Harness(handlers: [
            OperationHandler(name: "work") { _, context in
                guard context.delivery == 1 else { return [] }
                again.open()
                _ = await gate.wait(isDeaf: true)
                context.progress(0.5)
                // The answer to the report stops the body.
                _ = await Latch().wait(isDeaf: false)
                throw CancellationError()
            }
        ]) { $0.use(recorder) }
        harness.start()
        let work = NewOperation(envelope: OperationEnvelope(name: "work").encoded())
        _ = try await harness.broker.enqueue([work], queue: "default")
        #expect(await again.wait(isDeaf: true))
        _ = try await harness.broker.recoverWorker(worker: harness.worker.core.id, queue: "default")
        gate.open()
        #expect(try await harness.reaches(.finished, work.id))
        try await harness.stop()
        #expect(recorder.seen.lost == 1)
    }

    @Test("Ends that Redis does not answer are reported with the heartbeats")
    func unanswered() async throws {
        let recorder = Recorder()
        let harness = Harness(
            connection: { UnreliableBroker($0, seed: 1, callLoss: 1, replyLoss: 0, only: [.complete]) },
            handlers: [OperationHandler(name: "work") { _, _ in [] }]
        ) { $0.use(recorder) }
        harness.start()
        let work = NewOperation(envelope: OperationEnvelope(name: "work").encoded())
        _ = try await harness.broker.enqueue([work], queue: "default")
        #expect(await comesTrue { recorder.seen.outbox.contains { $0 > .zero } })
        #expect(recorder.seen.reconnects == 0)
        harness.worker.stopNow()
        try await harness.ended()
    }

    @Test("The return of Redis is reported, and the outbox is empty then")
    func outage() async throws {
        let recorder = Recorder()
        let harness = Harness(
            connection: { UnreliableBroker($0, seed: 3, callLoss: 0.9, replyLoss: 0, only: [.complete]) },
            handlers: [OperationHandler(name: "work") { _, _ in [] }]
        ) { $0.use(recorder) }
        harness.start()
        for _ in 0..<3 {
            let work = NewOperation(envelope: OperationEnvelope(name: "work").encoded())
            _ = try await harness.broker.enqueue([work], queue: "default")
            #expect(try await harness.reaches(.finished, work.id))
        }
        #expect(await comesTrue { recorder.seen.reconnects > 0 && recorder.seen.outbox.last == .zero })
        try await harness.stop()
    }

    @Test("The age of an outbox counts from the first unanswered end, and ends with the answer")
    func age() {
        var outbox = Outbox()
        let header = OperationHeader(id: OperationID(), tracked: true)
        let operation = HeldOperation(
            ClaimedOperation(fence: 1, header: header, envelope: []),
            queue: 0,
            context: .none
        )
        let start = ContinuousClock.now
        outbox.add(operation, .finished(result: []))
        outbox.putBack(outbox.takeBatch(), start)
        outbox.putBack(outbox.takeBatch(), start + .seconds(9))
        #expect(outbox.waitsSince == start)
        outbox.confirm()
        #expect(outbox.waitsSince == start, "it was not answered")
        _ = outbox.takeBatch()
        outbox.confirm()
        #expect(outbox.waitsSince == nil)
    }
}
