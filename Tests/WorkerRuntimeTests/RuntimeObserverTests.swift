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
            // The end can never be sent, so the drain takes all its time.
            configuration: .quick(drainTimes: DrainTimes()),
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

    @Test("The return of Redis is reported once for each time that a heartbeat had failed")
    func outage() async throws {
        let recorder = Recorder()
        let harness = Harness(
            connection: { UnreliableBroker($0, seed: 3, callLoss: 0.5, replyLoss: 0, only: [.beat]) },
            register: { $0.use(recorder) }
        )
        harness.start()
        #expect(await comesTrue { recorder.seen.reconnects > 1 })
        harness.worker.stopNow()
        try await harness.ended()
    }

    @Test("The age of an outbox counts from the first look at a waiting end, until Redis answers")
    func age() {
        var outbox = Outbox()
        let header = OperationHeader(id: OperationID(), tracked: true)
        let operation = HeldOperation(
            ClaimedOperation(fence: 1, header: header, envelope: []),
            queue: 0,
            context: .none
        )
        let start = ContinuousClock.now
        #expect(outbox.age(start) == .zero)
        outbox.add(operation, .finished(result: []))
        #expect(outbox.age(start) == .zero && outbox.age(start + .seconds(2)) == .seconds(2), "it is never sent")
        let sent = outbox.takeBatch()
        #expect(outbox.age(start + .seconds(3)) == .seconds(3), "the call has no answer")
        outbox.putBack(sent, start + .seconds(4))
        #expect(outbox.age(start + .seconds(5)) == .seconds(5))
        _ = outbox.takeBatch()
        outbox.answered()
        #expect(outbox.age(start + .seconds(6)) == .zero)
    }
}
