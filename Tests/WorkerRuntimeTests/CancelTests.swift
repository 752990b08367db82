import Logging
import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

/// Returns a handler whose body waits at the gate.
func holding(_ gate: Gate, isDeaf: Bool = false) -> OperationHandler {
    OperationHandler(name: "hold") { _, context in
        try await gate.pass(context, isDeaf: isDeaf)
        return []
    }
}

@Suite("A cancel", .timeLimit(.minutes(60)))
struct CancelTests {
    @Test("A cancel of a running operation ends it as cancelled, with all three timestamps, whatever it throws")
    func running() async throws {
        let gate = Gate()
        let seen = Mutex<OperationCancellation?>(nil)
        struct Odd: Error {}
        let harness = Harness(handlers: [
            OperationHandler(name: "hold") { _, context in
                do { try await gate.pass(context) } catch {
                    seen.withLock { $0 = context.cancellation }
                    throw Odd()
                }
                return []
            }
        ])
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        let outcome = try await harness.cancel(id)
        #expect(outcome == .requested(worker: harness.worker.id.description))
        #expect(try await harness.reaches(.cancelled, id))
        let trace = try #require(try await harness.detail(id)?.cancel)
        #expect(trace.acknowledgedAt != nil && trace.stoppedAt != nil && trace.reason == "test")
        let expected = OperationCancellation(reason: "test", by: "tester", requestedAt: trace.requestedAt)
        #expect(seen.withLock { $0 } == expected)
        try await harness.stop()
    }

    @Test("A cancel is acknowledged before the body sees it, so even a body that ends at once has all timestamps")
    func immediate() {
        let claimed = ClaimedOperation(fence: 1, header: OperationHeader(id: OperationID()), envelope: [])
        let operation = HeldOperation(claimed, queue: 0, context: .none)
        #expect(operation.begin(in: ExecutorTask(), name: "test") != nil)
        #expect(operation.cancel(OperationCancellation(reason: "test")))
        #expect(operation.end()?.reportsAreBusy == true)
        #expect(operation.takeReports().map(\.content) == [.cancelAcknowledged])
    }

    @Test("A cancel whose message is lost arrives with the next heartbeat and names the requester")
    func messageLost() async throws {
        let gate = Gate()
        let seen = Mutex<OperationCancellation?>(nil)
        let harness = Harness(handlers: [
            OperationHandler(name: "hold") { _, context in
                do { try await gate.pass(context) } catch {
                    seen.withLock { $0 = context.cancellation }
                    throw error
                }
                return []
            }
        ])
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        harness.broker.cutControl()
        _ = try await harness.cancel(id)
        #expect(try await harness.reaches(.cancelled, id))
        #expect(seen.withLock { $0?.by } == "tester" && seen.withLock { $0?.requestedAt } != nil)
        try await harness.stop()
    }

    @Test("A cancel arrives at once when the subscription reconnects")
    func resubscribed() async throws {
        let gate = Gate()
        let harness = Harness(configuration: .quick(lease: .seconds(60)), handlers: [holding(gate)])
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        harness.broker.cutControl()
        _ = try await harness.cancel(id)
        harness.broker.reconnectControl()
        #expect(try await harness.reaches(.cancelled, id))
        try await harness.stop()
    }

    @Test("A cancelled operation whose body still succeeds ends as finished")
    func tooLate() async throws {
        let gate = Gate()
        let harness = Harness(handlers: [holding(gate, isDeaf: true)])
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        _ = try await harness.cancel(id)
        #expect(try await comesTrue { try await harness.detail(id)?.cancel?.acknowledgedAt != nil })
        gate.open()
        #expect(try await harness.reaches(.finished, id))
        try await harness.stop()
    }

    @Test("A cancelled operation that was claimed ahead never starts")
    func claimedAhead() async throws {
        let gate = Gate()
        let harness = Harness(configuration: .quick(slots: 1, lease: .seconds(60)), handlers: [holding(gate)])
        harness.start()
        // Many short operations make the worker claim ahead.
        for _ in 0..<200 { try await harness.broker.put("noop", tracked: false) }
        #expect(
            try await comesTrue {
                try await harness.broker.snapshot(queue: "default", executingRows: 0).totals["finished"] == 200
            }
        )
        let ids = try await harness.broker.enqueue(
            (0..<20).map { _ in NewOperation(envelope: OperationEnvelope(name: "hold").encoded()) },
            queue: "default"
        )
        #expect(ids.count == 20)
        #expect(await comesTrue { gate.arrived.count == 1 })
        let executing = try await harness.broker.snapshot(queue: "default", executingRows: 100).executing
        for row in executing where row.header.id != gate.arrived[0] {
            _ = try await harness.cancel(row.header.id)
            #expect(try await harness.reaches(.cancelled, row.header.id))
        }
        #expect(gate.arrived.count == 1)
        gate.open()
        try await harness.stop()
    }

    @Test("Cancelling a queue ends everything that runs and starts nothing that waits")
    func wholeQueue() async throws {
        let gate = Gate()
        let harness = Harness(configuration: .quick(slots: 3), handlers: [holding(gate)])
        harness.start()
        for _ in 0..<10 { try await harness.broker.put("hold") }
        #expect(await comesTrue { gate.arrived.count == 3 })
        // Two claims at once may bring more operations than slots; those that do not start go back.
        #expect(
            try await comesTrue {
                let counts = try await harness.broker.snapshot(queue: "default", executingRows: 0).counts
                return counts[.executing] == 3 && counts[.ready] == 7
            }
        )
        let counts = try await harness.broker.cancelQueue(
            "default",
            request: CancelRequest(reason: "all", by: "tester")
        )
        #expect(counts.waiting == 7 && counts.executing == 3)
        #expect(
            try await comesTrue {
                let counts = try await harness.broker.snapshot(queue: "default", executingRows: 0).counts
                return counts[.executing] == 0 && counts[.cancelled] == 10
            }
        )
        #expect(gate.arrived.count == 3)
        try await harness.stop()
    }

    @Test("A body that ignores a cancel during the grace is logged as stuck")
    func stuck() async throws {
        let gate = Gate()
        let harness = Harness(
            configuration: .quick(grace: .milliseconds(50)),
            handlers: [holding(gate, isDeaf: true)]
        )
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        _ = try await harness.cancel(id)
        #expect(await comesTrue { harness.log.messages.contains { $0.hasPrefix("warning stuck") } })
        gate.open()
        try await harness.stop()
    }

    @Test("A forged cancel message ends no operation and no queue")
    func forged() async throws {
        let gate = Gate()
        let harness = Harness(
            connection: { ForgedCancels($0) },
            configuration: .quick(lease: .seconds(60)),
            handlers: [holding(gate)]
        )
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        let forger = try #require(ForgedCancels.latest(of: harness.broker))
        forger.forge(.cancel(queue: "default", fence: 1))
        forger.forge(.cancelThrough(queue: "default"))
        // Before the next message: one read answers all messages that wait.
        #expect(await comesTrue { forger.reads >= 1 })
        // A message about a real cancel, sent after the forged ones, takes effect.
        let other = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id, other] })
        _ = try await harness.cancel(other)
        forger.forge(.cancel(queue: "default", fence: 2))
        #expect(try await harness.reaches(.cancelled, other))
        // A heartbeat may have brought the cancel before its message.
        #expect(await comesTrue { forger.reads >= 2 })
        gate.open()
        #expect(try await harness.reaches(.finished, id))
        #expect(try await harness.detail(id)?.cancel == nil)
        try await harness.stop()
    }

    @Test("A cancel arrives with an immediate heartbeat if its request cannot be read")
    func unreadable() async throws {
        let gate = Gate()
        let harness = Harness(
            connection: { UnreliableBroker($0, seed: 1, callLoss: 1, replyLoss: 0, only: [.requestedCancels]) },
            configuration: .quick(lease: .seconds(600)),
            handlers: [holding(gate)]
        )
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        _ = try await harness.cancel(id)
        #expect(try await harness.reaches(.cancelled, id))
        try await harness.stop()
    }

    @Test("A standing cancel applies to operations claimed after it, even if the list can be read only later")
    func standing() async throws {
        let gate = Gate()
        let harness = Harness(
            connection: { UnreliableBroker($0, seed: 1, callLoss: 0.7, replyLoss: 0, only: [.standingCancels]) },
            handlers: [holding(gate)]
        )
        let new = NewStandingCancel(query: "name:hold", milliseconds: 3_600_000, by: "tester", reason: "not today")
        _ = try await harness.broker.setStandingCancel(new, queue: "default")
        harness.start()
        var ids: [OperationID] = []
        for tracked in [true, false, true] { ids.append(try await harness.broker.put("hold", tracked: tracked)) }
        let other = try await harness.broker.put("noop")
        for id in ids { #expect(try await harness.reaches(.cancelled, id)) }
        #expect(try await harness.reaches(.finished, other))
        #expect(gate.arrived.isEmpty)
        let detail = try #require(try await harness.detail(ids[0]))
        #expect(detail.cancel?.by == "tester" && detail.cancel?.reason == "not today" && detail.cancel?.standing == 1)
        try await harness.stop()
    }

    @Test("A forced cancel frees the slot of a body that ignores it at once, and records when the body stops")
    func forced() async throws {
        let (deaf, gate) = (Gate(), Gate())
        let harness = Harness(
            configuration: .quick(slots: 1, lease: .seconds(60)),
            handlers: [
                OperationHandler(name: "deaf") { _, context in
                    try await deaf.pass(context, isDeaf: true)
                    context.progress(1)
                    return []
                }, holding(gate),
            ]
        )
        harness.start()
        let id = try await harness.broker.put("deaf")
        #expect(await comesTrue { deaf.arrived == [id] })
        let next = try await harness.broker.put("hold")
        let request = CancelRequest(reason: "runaway", by: "tester", isForced: true)
        let outcomes = try await harness.broker.cancel([id], request: request, queue: "default")
        #expect(outcomes == [.forced(worker: harness.worker.id.description)])
        #expect(try await harness.state(id) == .cancelled)
        // The only slot is free although the body still runs.
        #expect(await comesTrue { gate.arrived == [next] })
        #expect(try await comesTrue { try await harness.detail(id)?.cancel?.acknowledgedAt != nil })
        #expect(try await harness.detail(id)?.cancel?.stoppedAt == nil)
        deaf.open()
        #expect(try await comesTrue { try await harness.detail(id)?.cancel?.stoppedAt != nil })
        let detail = try #require(try await harness.detail(id))
        #expect(detail.state == .cancelled && detail.progress == nil && detail.result == nil)
        gate.open()
        #expect(try await harness.reaches(.finished, next))
        try await harness.stop()
    }

    @Test("A forced cancel of an operation that the worker no longer holds still records the stop")
    func forcedUnknown() async throws {
        let gate = Gate()
        let harness = Harness(handlers: [holding(gate)])
        let id = try await forceUnheard(harness, gate)
        gate.open()
        #expect(try await comesTrue { try await harness.detail(id)?.cancel?.stoppedAt != nil })
        #expect(try await harness.state(id) == .cancelled)
        try await harness.stop()
    }

    @Test(
        "A body that returns while its worker handles a forced cancel still records its stop",
        arguments: [false, true]
    )
    func forcedAndReturned(isLostFirst: Bool) async throws {
        let gate = Gate()
        // The worker hears of the cancel by this test alone, so only the end of the body reports the stop.
        let harness = Harness(connection: { UnheardCancels(base: $0) }, handlers: [holding(gate)])
        let id = try await forceUnheard(harness, gate)
        let forced = FencedCancel(fence: 1, OperationCancellation(reason: "runaway"), forced: id)
        harness.worker.core.queue.withLock { queue in
            if isLostFirst { #expect(queue.members[0].lease.lose([1]).map(\.id) == [id]) }
            #expect(queue.fence(forced, 0).hasStopped == false)
        }
        gate.open()
        #expect(try await comesTrue { try await harness.detail(id)?.cancel?.stoppedAt != nil })
        try await harness.stop()
    }

    /// Starts the worker, and cancels an operation by force whose body waits at the gate. No message tells the worker.
    private func forceUnheard<Connection>(_ harness: Harness<Connection>, _ gate: Gate) async throws -> OperationID {
        harness.broker.cutControl()
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        let request = CancelRequest(reason: "runaway", by: "tester", isForced: true)
        _ = try await harness.broker.cancel([id], request: request, queue: "default")
        return id
    }

    @Test("A cancel for an operation whose claim has no answer yet waits for that answer")
    func early() async throws {
        var queue = LocalQueue(slots: 2)
        queue.add(QueueShare("default"))
        #expect(queue.find(FencedCancel(fence: 7, OperationCancellation(reason: "early")), 0) == nil)
        let claimed = ClaimedOperation(fence: 7, header: OperationHeader(id: OperationID()), envelope: [])
        queue.take([claimed], 0, context: .none)
        #expect(queue.members[0].waiting.isEmpty && queue.members[0].outbox.ended.count == 1)
        #expect(queue.members[0].outbox.ended.first?.operation.cancellation?.reason == "early")
    }
}

/// A broker whose heartbeats bring no cancels.
private struct UnheardCancels: Forwarding {
    let base: InMemoryBroker

    func beat(_ beat: Beat, queue: String) throws -> BeatReply {
        var reply = try base.beat(beat, queue: queue)
        reply.cancels = []
        return reply
    }
}

/// A broker whose control messages the test forges.
private final class ForgedCancels: Forwarding {
    let base: InMemoryBroker
    private static let made = Mutex<[ObjectIdentifier: ForgedCancels]>([:])
    private let messages = AsyncStream.makeStream(of: ControlMessage.self)
    private let asked = Mutex(0)

    init(_ base: InMemoryBroker) {
        self.base = base
        Self.made.withLock { $0[ObjectIdentifier(base)] = self }
    }

    static func latest(of base: InMemoryBroker) -> ForgedCancels? { made.withLock { $0[ObjectIdentifier(base)] } }

    /// The number of times that the worker has read the requested cancels
    var reads: Int { asked.withLock { $0 } }

    func forge(_ message: ControlMessage) { messages.continuation.yield(message) }

    func controlMessages(worker: WorkerID, queues: [String]) -> AsyncStream<ControlMessage> { messages.stream }

    func requestedCancels(of fences: [Int64], worker: WorkerID, queue: String) async throws -> RequestedCancels {
        asked.withLock { $0 += 1 }
        return try await base.requestedCancels(of: fences, worker: worker, queue: queue)
    }
}

extension QueueContext {
    static let none = QueueContext(
        name: "default",
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        leaseIsValid: { true },
        reportsWaiting: { _ in },
        stored: { _ in nil }
    )
}
