import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A worker that stops", .timeLimit(.minutes(60)))
struct DrainTests {
    @Test("A stopped worker lets running operations end, claims nothing new and gives up its lease")
    func drains() async throws {
        let gate = Gate()
        let harness = Harness(configuration: .quick(slots: 2), handlers: [holding(gate)])
        harness.start()
        let ids = [try await harness.broker.put("hold"), try await harness.broker.put("hold")]
        #expect(await comesTrue { gate.arrived.count == 2 })
        // Not before: two claims at once may bring more operations than slots, and any of them may start.
        let waiting = try await harness.broker.put("hold")
        #expect(try await harness.reaches(.ready, waiting))
        harness.worker.stop()
        #expect(await comesTrue { harness.worker.core.queue.withLock { $0.phase == .draining } })
        gate.open()
        try await harness.ended()
        for id in ids { #expect(try await harness.state(id) == .finished) }
        #expect(try await harness.state(waiting) == .ready)
        #expect(try await harness.broker.snapshot(queue: "default", executingRows: 0).workers.isEmpty)
    }

    @Test("An operation that misses the drain timeout goes back unchanged, and another worker runs it")
    func givesBack() async throws {
        let gate = Gate()
        let harness = Harness(configuration: .quick(drain: .milliseconds(50)), handlers: [holding(gate)])
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        try await harness.stop()
        let record = try await harness.detail(id)?.record
        #expect(record?.state == .ready && record?.header.failedAttempts == 0 && record?.header.delivery == 1)
        gate.open()
        let second = Harness(broker: harness.broker, handlers: [holding(gate)])
        second.start()
        #expect(try await second.reaches(.finished, id))
        #expect(gate.attempts.map { [$0.attempt, $0.delivery] } == [[1, 1], [1, 1]])
        try await second.stop()
    }

    @Test("A second stop gives everything back within two seconds, even if bodies ignore it")
    func recoveries() async throws {
        let gate = Gate()
        // The lease is long: if a slow machine let it lapse, another worker would get the operation.
        let configuration = WorkerConfiguration.quick(lease: .seconds(60), drain: .seconds(60))
        let harness = Harness(configuration: configuration, handlers: [holding(gate, isDeaf: true)])
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        harness.worker.stop()
        #expect(await comesTrue { harness.worker.core.queue.withLock { $0.phase == .draining } })
        let toldAgain = ContinuousClock.now
        harness.worker.stopNow()
        try await harness.ended()
        expectPrompt("given back at once", since: toldAgain, promised: .seconds(2))
        let record = try await harness.detail(id)?.record
        #expect(record?.state == .ready && record?.header.failedAttempts == 0 && record?.header.delivery == 1)
        #expect(harness.log.messages.contains { $0.contains("ignored the request to end") }, "\(harness.log.messages)")
        gate.open()
    }

    @Test("A second stop ends the worker within two seconds even if the broker no longer answers")
    func stopsNowWithoutBroker() async throws {
        let gate = Gate()
        let broker = InMemoryBroker()
        let mute = MuteBroker(broker)
        let harness = Harness(
            broker: broker,
            connection: { _ in mute },
            configuration: .quick(lease: .seconds(60), drain: .seconds(60), drainTimes: DrainTimes()),
            handlers: [holding(gate)]
        )
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        mute.silence()
        harness.worker.stop()
        let toldAgain = ContinuousClock.now
        harness.worker.stopNow()
        try await harness.ended()
        expectPrompt("given back at once, without answers", since: toldAgain, promised: .seconds(2))
        #expect(harness.log.messages.contains { $0.contains("before Redis stored the end") })
        mute.speak()
    }

    @Test("Cancelling the task that runs the worker gives everything back")
    func cancelled() async throws {
        let gate = Gate()
        let broker = InMemoryBroker()
        var registry = OperationRegistry()
        registry.register(holding(gate))
        let worker = WorkerService(
            broker: broker,
            registry: registry,
            configuration: .quick(),
            logger: LogRecorder().logger()
        )
        let running = Task { try await worker.run() }
        let id = try await broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        running.cancel()
        try await running.value
        #expect(try await broker.details([id], queue: "default")[0]?.state == .ready)
    }

    @Test("A stopped worker gives back unstarted operations in order")
    func unstarted() async throws {
        let gate = Gate()
        let harness = Harness(configuration: .quick(slots: 1), handlers: [holding(gate)])
        harness.start()
        for _ in 0..<200 { try await harness.broker.put("noop", tracked: false) }
        #expect(
            try await comesTrue {
                try await harness.broker.snapshot(queue: "default", executingRows: 0).totals["finished"] == 200
            }
        )
        let operations = (0..<20).map { _ in NewOperation(envelope: OperationEnvelope(name: "hold").encoded()) }
        _ = try await harness.broker.enqueue(operations, queue: "default")
        #expect(await comesTrue { gate.arrived.count == 1 })
        harness.worker.stop()
        #expect(await comesTrue { harness.worker.core.queue.withLock { $0.phase == .draining } })
        gate.open()
        try await harness.ended()
        let rest = try await harness.broker.page(state: .ready, queue: "default", cursor: nil, limit: 100)
        #expect(rest.operations.map(\.record.header.id) == operations.dropFirst().map(\.id))
        #expect(gate.arrived == [operations[0].id])
    }

    /// Returns a worker with a heartbeat in flight that gets no answer before `letGo` opens.
    private func beatUnderWay(_ times: DrainTimes = .patient) async -> (Harness<HeldBeats>, HeldBeats) {
        let beats = HeldBeats(InMemoryBroker())
        let harness = Harness(
            broker: beats.base,
            connection: { _ in beats },
            configuration: .quick(drainTimes: times)
        )
        harness.start()
        #expect(await comesTrue { beats.log.contains("beat") })
        beats.hold()
        harness.worker.core.beatNow.request()
        #expect(await comesTrue { beats.log.contains("held") })
        return (harness, beats)
    }

    @Test("A stopping worker waits for a heartbeat in flight before it retires: a later one would renew the lease")
    func beatEnds() async throws {
        let (harness, beats) = await beatUnderWay()
        harness.worker.stop()
        #expect(await comesTrue { harness.worker.core.queue.withLock { $0.phase == .stopped } })
        beats.letGo.open()
        try await harness.ended()
        #expect(beats.log.suffix(2) == ["beat", "retire"])
        #expect(try await beats.base.snapshot(queue: "default", executingRows: 0).workers.isEmpty)
    }

    @Test("A worker whose heartbeat hangs lets its lease lapse: that heartbeat could renew a retired lease")
    func beatHangs() async throws {
        let (harness, beats) = await beatUnderWay(DrainTimes())
        try await harness.stop()
        #expect(beats.log.last == "held")
        #expect(harness.log.messages.contains { $0.contains("heartbeat did not stop in time") })
        beats.letGo.open()
    }

    @Test("A worker cannot run twice")
    func onlyOnce() async throws {
        let harness = Harness(configuration: .quick(burst: .ready))
        try await harness.worker.run()
        await #expect(throws: WorkerError.self) { try await harness.worker.run() }
    }

    @Test(
        "A wrong configuration is refused",
        arguments: [
            WorkerConfiguration(slots: 0), WorkerConfiguration(lease: .milliseconds(10)),
            WorkerConfiguration(queues: .named([])),
            WorkerConfiguration(queues: .named([QueueShare("a"), QueueShare("a")])),
            WorkerConfiguration(queues: .named([QueueShare("a", reservedSlots: 11)])),
            WorkerConfiguration(queues: .named([QueueShare("a", reservedSlots: 10), QueueShare("b")])),
            WorkerConfiguration(drainTimeout: .seconds(-1)), WorkerConfiguration(drainTimeout: .seconds(Int64.max)),
            WorkerConfiguration(cancelGrace: .seconds(Int64.max)), WorkerConfiguration(build: ""),
            WorkerConfiguration(build: "a\nb"),
        ]
    )
    func wrongConfiguration(configuration: WorkerConfiguration) {
        #expect(throws: WorkerError.self) { try configuration.validate() }
    }
}

/// A broker that answers no call after `silence()`. A held call also ignores task cancellation.
private final class MuteBroker: Forwarding {
    let base: InMemoryBroker
    private let gate = Latch()
    private let isSilent = Mutex(false)

    init(_ base: InMemoryBroker) { self.base = base }

    func silence() { isSilent.withLock { $0 = true } }
    func speak() { gate.open() }

    private func hold() async {
        if isSilent.withLock({ $0 }) { await gate.wait(isDeaf: true) }
    }

    func giveBack(_ returns: [Return], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        await hold()
        return try await base.giveBack(returns, worker: worker, queue: queue)
    }

    func retire(worker: WorkerID, statistics: [StatisticsDelta], queue: String) async throws {
        await hold()
        try await base.retire(worker: worker, statistics: statistics, queue: queue)
    }

    func wake(queue: String) async throws {
        await hold()
        try await base.wake(queue: queue)
    }
}

/// A broker that holds heartbeats back after `hold()` until `letGo` opens.
private final class HeldBeats: Forwarding {
    let base: InMemoryBroker
    let letGo = Latch()
    private let calls = Mutex<[String]>([])
    private let isHolding = Mutex(false)

    init(_ base: InMemoryBroker) { self.base = base }

    /// `held` for a heartbeat that is held back, `beat` for one that continues, and `retire`
    var log: [String] { calls.withLock { $0 } }

    func hold() { isHolding.withLock { $0 = true } }

    func beat(_ beat: Beat, queue: String) throws -> BeatReply {
        if isHolding.withLock({ $0 }) {
            calls.withLock { $0.append("held") }
            letGo.block()
        }
        calls.withLock { $0.append("beat") }
        return try base.beat(beat, queue: queue)
    }

    func retire(worker: WorkerID, statistics: [StatisticsDelta], queue: String) async throws {
        calls.withLock { $0.append("retire") }
        try await base.retire(worker: worker, statistics: statistics, queue: queue)
    }
}
