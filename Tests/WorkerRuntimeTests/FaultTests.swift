import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A worker whose answers are lost", .timeLimit(.minutes(60)))
struct FaultTests {
    @Test(
        "A worker runs each operation exactly once, whichever calls are unreliable",
        arguments: [
            Set<UnreliableBroker<InMemoryBroker>.Call>([.claim]), [.complete], [.fail],
            [.report, .giveBack, .reconcile],
            Set(UnreliableBroker<InMemoryBroker>.Call.allCases),
        ],
        [UInt64(1), 2]
    )
    func everyCall(calls: Set<UnreliableBroker<InMemoryBroker>.Call>, seed: UInt64) async throws {
        let runs = Mutex<[OperationID: Int]>([:])
        let harness = Harness(
            connection: {
                UnreliableBroker($0, seed: seed, callLoss: 0.05, replyLoss: 0.15, only: calls)
            },
            handlers: [
                OperationHandler(name: "count") { _, context in
                    runs.withLock { $0[context.id, default: 0] += 1 }
                    context.log("run")
                    return []
                }
            ]
        )
        harness.start()
        var ids: [OperationID] = []
        for number in 0..<60 { ids.append(try await harness.broker.put("count", tracked: number % 3 != 0)) }
        let failing = try await harness.broker.put("fail", retry: RetryPolicy(attempts: 3, base: .milliseconds(5)))
        #expect(
            try await comesTrue {
                let totals = try await harness.broker.snapshot(queue: "default", executingRows: 0).totals
                return totals["finished"] == 60 && totals["dead"] == 1
            }
        )
        #expect(try await harness.detail(failing)?.errors.count == 3)
        #expect(ids.allSatisfy { id in runs.withLock { $0[id] } == 1 })
        try await harness.stop()
    }

    @Test("A worker finds an operation whose claim had no answer, without waiting for a lease")
    func lostClaim() async throws {
        let harness = Harness(
            connection: { LossyClaims($0) },
            configuration: .quick(lease: .seconds(60))
        )
        let id = try await harness.broker.put("noop")
        let start = ContinuousClock.now
        harness.start()
        #expect(try await harness.reaches(.finished, id))
        expectPrompt("a claim that was never answered", since: start, promised: .seconds(5))
        #expect(try await harness.detail(id)?.record.header.delivery == 1)
        #expect(harness.log.messages.contains { $0.contains("claim was not answered") })
        try await harness.stop()
    }

    @Test("A worker that no longer owns an ended operation stores nothing and logs that")
    func staleCompletion() async throws {
        let clock = ManualClock()
        let broker = InMemoryBroker(time: .manual(clock))
        let switchable = DeafHeartbeat(broker)
        let gate = Gate()
        let harness = Harness(
            broker: broker,
            connection: { _ in switchable },
            configuration: .quick(lease: .seconds(60)),
            handlers: [holding(gate)]
        )
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        // The lease of this worker lapses at the broker, and another worker recovers the operation. A heartbeat
        // meanwhile would renew the lease.
        switchable.isDeaf.withLock { $0 = true }
        let other = WorkerID()
        let beat = Beat(
            worker: other,
            epoch: 1,
            leaseMilliseconds: 10_000_000,
            intervalMilliseconds: 1_000_000,
            info: []
        )
        _ = try broker.beat(beat, queue: "default")
        clock.advance(by: .seconds(100))
        _ = try broker.beat(beat, queue: "default")
        #expect(try await broker.sweep(queue: "default").recovered == 1)
        let claim = try await broker.claim(
            ClaimRequest(worker: other, epoch: 1, capacity: 1),
            queue: "default"
        )
        #expect(claim.operations.map(\.header.delivery) == [2])
        gate.open()
        // The next heartbeat may tell the worker of the loss. The operation has ended before.
        #expect(await comesTrue { harness.worker.core.queue.withLock { $0.slots.running == 0 } })
        switchable.isDeaf.withLock { $0 = false }
        #expect(await comesTrue { harness.log.messages.contains { $0.contains("nothing was stored") } })
        #expect(try await harness.state(id) == .executing)
        #expect(try await harness.detail(id)?.worker == other.description)
        try await harness.stop()
    }

    @Test("A worker ends its run of an operation that Redis gave to another worker")
    func lost() async throws {
        let clock = ManualClock()
        let broker = InMemoryBroker(time: .manual(clock))
        let switchable = DeafHeartbeat(broker)
        let gate = Gate()
        let harness = Harness(
            broker: broker,
            connection: { _ in switchable },
            configuration: .quick(lease: .seconds(3)),
            handlers: [holding(gate)]
        )
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        // A heartbeat before the sweep would renew the lease.
        switchable.isDeaf.withLock { $0 = true }
        let beat = Beat(
            worker: WorkerID(),
            epoch: 1,
            leaseMilliseconds: 10_000_000,
            intervalMilliseconds: 1_000_000,
            info: []
        )
        _ = try broker.beat(beat, queue: "default")
        clock.advance(by: .seconds(100))
        #expect(try await broker.sweep(queue: "default").recovered == 1)
        switchable.isDeaf.withLock { $0 = false }
        // After two heartbeats with a different count the run ends here. The operation runs again as delivery 2.
        #expect(await comesTrue { harness.log.messages.contains { $0.hasPrefix("warning lost") } })
        #expect(await comesTrue { gate.attempts.map(\.delivery) == [1, 2] })
        gate.open()
        #expect(try await harness.reaches(.finished, id))
        try await harness.stop()
    }

    @Test("A worker recovers the operations of a lost worker as their next delivery")
    func recovers() async throws {
        let gate = Gate()
        gate.open()
        let broker = InMemoryBroker()
        let id = try await broker.put("hold")
        let lost = WorkerID()
        let beat = Beat(worker: lost, epoch: 1, leaseMilliseconds: 500, intervalMilliseconds: 200, info: [])
        // Repeated, because the short lease may lapse between the two calls.
        #expect(
            try await comesTrue {
                _ = try broker.beat(beat, queue: "default")
                let request = ClaimRequest(worker: lost, epoch: 1, capacity: 5)
                return try await broker.claim(request, queue: "default").operations.map(\.id) == [id]
            }
        )
        let harness = Harness(broker: broker, configuration: .quick(lease: .seconds(1)), handlers: [holding(gate)])
        harness.start()
        #expect(try await harness.reaches(.finished, id))
        #expect(gate.attempts.map { [$0.attempt, $0.delivery] } == [[1, 2]])
        // Logged after the sweep, when the operation may have run.
        #expect(
            await comesTrue { harness.log.messages.contains { $0.contains("recovered operations of a lost worker") } }
        )
        try await harness.stop()
    }

    @Test("Bodies continue through an outage; those without outage grace end with the lease and lose no attempt")
    func outage() async throws {
        let (gate, short) = (Gate(), Gate())
        let broker = InMemoryBroker()
        let switchable = DeafHeartbeat(broker)
        // Long enough for the heartbeats of a busy machine
        var configuration = WorkerConfiguration.quick(lease: .seconds(12))
        configuration.outageGrace = OutageGrace(names: ["short": .zero])
        let harness = Harness(
            broker: broker,
            connection: { _ in switchable },
            configuration: configuration,
            handlers: [
                holding(gate),
                OperationHandler(name: "short") { _, context in
                    try await short.pass(context)
                    return []
                },
            ]
        )
        harness.start()
        let (long, stopped) = try await (harness.broker.put("hold"), harness.broker.put("short"))
        #expect(await comesTrue { gate.arrived == [long] && short.arrived == [stopped] })
        switchable.isDeaf.withLock { $0 = true }
        #expect(await comesTrue { harness.log.messages.contains { $0.hasPrefix("warning lost") } })
        #expect(!harness.worker.core.queue.withLock { $0.members[0].lease.isValid(.now) })
        switchable.isDeaf.withLock { $0 = false }
        #expect(await comesTrue { short.arrived == [stopped, stopped] })
        gate.open()
        short.open()
        #expect(try await harness.reaches(.finished, long))
        #expect(try await harness.reaches(.finished, stopped))
        #expect(gate.attempts.map(\.delivery) == [1])
        #expect(short.attempts.map(\.attempt) == [1, 1])
        try await harness.stop()
    }

    @Test("The outage grace of a name comes first, then that of the queue, then the default")
    func graces() throws {
        let grace = OutageGrace(.seconds(9), names: ["a": .zero], queues: ["q": .seconds(5)])
        #expect(grace.of(name: "a", queue: "q") == .zero)
        #expect(grace.of(name: "b", queue: "q") == .seconds(5))
        #expect(grace.of(name: "b", queue: "other") == .seconds(9))
        #expect(grace.of(name: nil, queue: "other") == .seconds(9))
        #expect(throws: (any Error).self) { try OutageGrace(.seconds(-1)).validate() }
        #expect(throws: (any Error).self) { try OutageGrace(queues: ["{a}": .zero]).validate() }
    }

    @Test("With a lapsed lease a worker starts and stores nothing, and reading the fence throws")
    func lapse() async throws {
        let gate = Gate()
        let fence = Mutex<Result<Int64, any Error>?>(nil)
        let broker = InMemoryBroker()
        let switchable = DeafHeartbeat(broker)
        let harness = Harness(
            broker: broker,
            connection: { _ in switchable },
            configuration: .quick(lease: .seconds(2)),
            handlers: [
                OperationHandler(name: "hold") { _, context in
                    try await gate.pass(context)
                    fence.withLock { $0 = Result { try context.fence } }
                    return []
                }
            ]
        )
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        switchable.isDeaf.withLock { $0 = true }
        #expect(
            await comesTrue {
                harness.worker.core.queue.withLock { !$0.members[0].lease.isValid(.now) }
            }
        )
        gate.open()
        #expect(await comesTrue { fence.withLock { $0 != nil } })
        #expect(throws: OperationsError.self) { try fence.withLock { try $0?.get() } }
        #expect(try await harness.state(id) == .executing)
        switchable.isDeaf.withLock { $0 = false }
        #expect(try await harness.reaches(.finished, id))
        try await harness.stop()
    }

    @Test(
        "A body that cannot read its fence after a lapse is given back, and its next run is the same attempt"
    )
    func lapsedFence() async throws {
        let gate = Gate()
        let asked = Mutex<[Bool]>([])
        let broker = InMemoryBroker()
        let switchable = DeafHeartbeat(broker)
        let harness = Harness(
            broker: broker,
            connection: { _ in switchable },
            configuration: .quick(lease: .seconds(2)),
            handlers: [
                OperationHandler(name: "hold") { _, context in
                    try await gate.pass(context)
                    let fence = Result { try context.fence }
                    asked.withLock { $0.append((try? fence.get()) != nil) }
                    _ = try fence.get()
                    return []
                }
            ]
        )
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        switchable.isDeaf.withLock { $0 = true }
        #expect(await comesTrue { harness.worker.core.queue.withLock { !$0.members[0].lease.isValid(.now) } })
        gate.open()
        #expect(await comesTrue { asked.withLock { $0.first == false } })
        switchable.isDeaf.withLock { $0 = false }
        #expect(try await harness.reaches(.finished, id))
        // On a slow machine the lease may lapse again before the last run.
        #expect(asked.withLock { $0.last } == true)
        let detail = try await harness.detail(id)
        #expect(detail?.errors.isEmpty == true && detail?.record.attempt == 1)
        #expect(detail?.record.header.delivery == 1)
        try await harness.stop()
    }
}

/// Loses the answer to the first claim that has operations.
private final class LossyClaims: Forwarding {
    let base: InMemoryBroker
    private let isFirst = Mutex(true)

    init(_ base: InMemoryBroker) { self.base = base }

    func claim(_ request: ClaimRequest, queue: String) async throws -> Claim {
        let claim = try await base.claim(request, queue: queue)
        let isLost =
            !claim.operations.isEmpty
            && isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
        if isLost { throw OperationsError(.outcomeUnknown, "the answer was lost") }
        return claim
    }
}

/// Answers no heartbeat while `isDeaf` is true.
private final class DeafHeartbeat: Forwarding {
    let base: InMemoryBroker
    let isDeaf = Mutex(false)

    init(_ base: InMemoryBroker) { self.base = base }

    func beat(_ beat: Beat, queue: String) throws -> BeatReply {
        // Under the lock: once the test has changed `isDeaf`, no earlier heartbeat is still on its way.
        try isDeaf.withLock { isDeaf in
            if isDeaf { throw OperationsError(.unavailable, "deaf") }
            return try base.beat(beat, queue: queue)
        }
    }
}
