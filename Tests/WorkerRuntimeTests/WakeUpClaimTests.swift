import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A claim at the wake-up token", .timeLimit(.minutes(60)))
struct WakeUpClaimTests {
    private let now = ContinuousClock.now

    /// An idle one.
    private func queue(slots: Int = 8) -> LocalQueue {
        var queue = LocalQueue(slots: slots)
        queue.add(QueueShare("default"))
        queue.members[0].lease.hold(until: now + .seconds(60))
        queue.accept(Claim(status: .ok), 0, ties: .none, now)
        return queue
    }

    private func claim(_ fences: ClosedRange<Int64>?, more: Bool = false, due: Int64? = nil) -> Claim {
        let operations = (fences.map(Array.init) ?? []).map { fence in
            ClaimedOperation(fence: fence, header: OperationHeader(id: OperationID()), envelope: [])
        }
        return Claim(status: .ok, operations: operations, more: more, nextDueMilliseconds: due)
    }

    private func exchange(_ queue: inout LocalQueue) -> LocalQueue.Exchange? {
        _ = queue.distribute(now)
        guard case .exchange(let exchange) = queue.nextStep(0, now) else { return nil }
        return exchange
    }

    /// Begins one where it must be possible.
    private func begin(_ queue: inout LocalQueue) throws -> LocalQueue.WakeUpClaim {
        let asked = queue.beginAtWakeUp(0, now)
        return try #require(asked)
    }

    @Test("is for few operations, and uses no slot while it waits")
    func fewAndFree() throws {
        var queue = queue()
        #expect(try begin(&queue).capacity == LocalQueue.mostAtWakeUp)
        queue.members[0].supply.expectWork()
        #expect(exchange(&queue)?.capacity == 8)
        var small = self.queue(slots: 1)
        #expect(try begin(&small).capacity == 1)
    }

    @Test("is not made by a worker that stops, nor by one of several queues")
    func notMade() {
        var queue = queue()
        queue.phase = .draining
        var asked = queue.beginAtWakeUp(0, now)
        #expect(asked == nil && !queue.mayBeGivenMore)
        queue = self.queue()
        queue.add(QueueShare("other"))
        asked = queue.beginAtWakeUp(0, now)
        #expect(asked == nil && !queue.mayBeGivenMore)
    }

    @Test(
        "is not made again by a worker that was found to be busy, before that holds nothing; the token counts all the same"
    )
    func busy() throws {
        var queue = queue()
        queue.take(claim(1...1).operations, 0, ties: .none)
        _ = queue.runAll(now)
        let asked = try begin(&queue)
        let answer = WakeUpAnswer(wasWoken: true, claim: Claim(status: .busy))
        let isOfUse = queue.accept(answer, 0, of: asked, ties: .none, now)
        #expect(isOfUse)
        guard let sent = exchange(&queue) else {
            Issue.record("what woke was not claimed")
            return
        }
        #expect(sent.capacity == 7)
        queue.finish(sent, 0)
        queue.accept(Claim(status: .ok), 0, of: sent, ties: .none, now)
        var again = queue.beginAtWakeUp(0, now)
        #expect(again == nil)
        _ = queue.reconcile(Reconciliation(found: [], lost: [1], more: false), epoch: asked.epoch, 0, ties: .none)
        again = queue.beginAtWakeUp(0, now)
        #expect(again != nil)
    }

    @Test("is not made while Redis is to be asked what the worker owns: both could name the same operation")
    func notBesideAsking() {
        var queue = queue()
        queue.unanswered([], hadClaim: true, 0)
        let asked = queue.beginAtWakeUp(0, now)
        #expect(asked == nil)
    }

    @Test("starts what it brings, and asks for more only if there is more")
    func starts() throws {
        var queue = queue()
        var asked = try begin(&queue)
        let isOfUse = queue.accept(WakeUpAnswer(wasWoken: true, claim: claim(1...1)), 0, of: asked, ties: .none, now)
        #expect(isOfUse)
        let first = queue.runAll(now)
        #expect(first.map(\.fence) == [1])
        #expect(exchange(&queue) == nil)
        asked = try begin(&queue)
        _ = queue.accept(WakeUpAnswer(wasWoken: true, claim: claim(2...3, more: true)), 0, of: asked, ties: .none, now)
        let others = queue.runAll(now)
        #expect(others.map(\.fence) == [2, 3])
        #expect(exchange(&queue)?.capacity == 5)
    }

    @Test(
        "brings nothing a second time that Redis named when it was asked: two beats counted it before it was answered"
    )
    func notTwice() throws {
        var queue = queue()
        let asked = try begin(&queue)
        let brought = claim(1...1)
        let beat = BeatReply(inFlight: 1, startable: false, sweepDue: false, cancels: [], cancelledThroughFence: 0)
        for _ in 0..<2 { queue.renew(0, until: now + .seconds(60), beat, now) }
        guard case .reconcile(_, let epoch) = queue.nextStep(0, now) else {
            Issue.record("Redis was not asked")
            return
        }
        queue.finish(nil, 0)
        let found = Reconciliation(found: brought.operations, lost: [], more: false)
        _ = queue.reconcile(found, epoch: epoch, 0, ties: .none)
        let started = queue.runAll(now)
        #expect(started.map(\.fence) == [1])
        queue.end(started[0], .finished(result: []), ranFor: .zero, .now)
        guard let sent = exchange(&queue) else {
            Issue.record("its end was not sent")
            return
        }
        queue.finish(sent, 0)
        queue.confirm(sent.ended, 0)
        _ = queue.accept(WakeUpAnswer(wasWoken: true, claim: brought), 0, of: asked, ties: .none, now)
        let again = queue.runAll(now)
        #expect(queue.members[0].lease.held.isEmpty && again.isEmpty)
    }

    @Test("brings nothing after a lapse before Redis was asked what is still its own")
    func lapse() throws {
        var queue = queue()
        let asked = try begin(&queue)
        // Another call was told, by an answer that travelled long.
        queue.accept(Claim(status: .noLease), 0, ties: .none, now)
        let beat = BeatReply(inFlight: 0, startable: false, sweepDue: false, cancels: [], cancelledThroughFence: 0)
        queue.renew(0, until: now + .seconds(60), beat, now)
        _ = queue.accept(WakeUpAnswer(wasWoken: true, claim: claim(1...1)), 0, of: asked, ties: .none, now)
        #expect(queue.members[0].lease.held.isEmpty && queue.members[0].lease.mustAsk)
    }

    @Test("asks what it was given when nothing was answered")
    func unanswered() throws {
        var queue = queue()
        let epoch = try begin(&queue).epoch
        queue.unansweredWakeUp(0)
        guard case .reconcile(_, let next) = queue.nextStep(0, now) else {
            Issue.record("Redis was not asked")
            return
        }
        #expect(next > epoch)
        // A worker that stops waits for the answer no longer than it must.
        #expect(queue.holdsNothing && queue.mayBeGivenMore)
        queue.finish(nil, 0)
        _ = queue.reconcile(Reconciliation(found: [], lost: [], more: false), epoch: next, 0, ties: .none)
        #expect(!queue.mayBeGivenMore)
    }

    @Test("puts the token back where another worker should have it")
    func putsBack() throws {
        var queue = queue()
        var asked = try begin(&queue)
        let refused = WakeUpAnswer(wasWoken: true, claim: Claim(status: .noLease))
        var isOfUse = queue.accept(refused, 0, of: asked, ties: .none, now)
        #expect(!isOfUse)
        #expect(!queue.members[0].lease.isValid(now))

        queue = self.queue()
        asked = try begin(&queue)
        queue.phase = .draining
        let stale = WakeUpAnswer(wasWoken: true, claim: Claim(status: .staleEpoch))
        isOfUse = queue.accept(stale, 0, of: asked, ties: .none, now)
        #expect(!isOfUse)
        queue.phase = .running
        isOfUse = queue.accept(stale, 0, of: asked, ties: .none, now)
        #expect(isOfUse)
    }

    @Test("does not unsay what a call that was sent after it has said")
    func oneOfSeveral() throws {
        var queue = queue()
        let asked = try begin(&queue)
        queue.members[0].supply.expectWork()
        guard let sent = exchange(&queue) else {
            Issue.record("nothing was sent")
            return
        }
        queue.finish(sent, 0)
        queue.accept(claim(1...8, more: true, due: 50), 0, of: sent, ties: .none, now)
        _ = queue.accept(WakeUpAnswer(claim: claim(nil, due: 70)), 0, of: asked, ties: .none, now)
        #expect(queue.members[0].supply.state == .ready && queue.members[0].supply.nextDue == now + .milliseconds(50))
    }

    @Test("says the highest fence that its worker was given")
    func saysHighestFence() async throws {
        let broker = HeardAtWakeUp(InMemoryBroker())
        let harness = Harness(broker: broker.base, connection: { _ in broker })
        harness.start()
        _ = try await broker.base.put("noop")
        #expect(await comesTrue { broker.highestFences.withLock { $0.contains(1) } })
        try await harness.stop()
    }

    @Test("is called back when the worker stops, and what it brings then goes back untried")
    func drain() async throws {
        let broker = LateRing(InMemoryBroker())
        let harness = Harness(broker: broker.base, connection: { _ in broker })
        harness.start()
        #expect(await comesTrue { broker.waits.withLock { $0 } })
        try await harness.stop()
        let ids = broker.claimed.withLock { $0 }
        #expect(ids.count == 1)
        let record = try await harness.detail(ids[0])?.record
        #expect(record?.state == .ready && record?.header.failedAttempts == 0 && record?.header.delivery == 1)
        #expect(try await broker.base.snapshot(queue: "default", executingRows: 0).workers.isEmpty)
    }
}

/// A broker that remembers which fence each claim at a wake-up token was sent with.
private final class HeardAtWakeUp: Forwarding {
    let base: InMemoryBroker
    let highestFences = Mutex<[Int64]>([])

    init(_ base: InMemoryBroker) { self.base = base }

    func claimAtWakeUp(_ request: ClaimRequest, queue: String, timeout: Duration) async throws -> WakeUpAnswer {
        highestFences.withLock { $0.append(request.highestFence) }
        return try await base.claimAtWakeUp(request, queue: queue, timeout: timeout)
    }
}

/// A broker at which something wakes just when a wait is called off, and that takes its time to say so.
private final class LateRing: Forwarding {
    let base: InMemoryBroker
    let waits = Mutex(false)
    let claimed = Mutex<[OperationID]>([])

    init(_ base: InMemoryBroker) { self.base = base }

    func claimAtWakeUp(_ request: ClaimRequest, queue: String, timeout: Duration) async throws -> WakeUpAnswer {
        waits.withLock { $0 = true }
        _ = try? await base.waitForWakeUp(queues: [], timeout: timeout)
        // Not in the task that was cancelled: there it would not wait.
        await Task { try? await Task.sleep(for: .milliseconds(100)) }.value
        _ = try await base.put("noop")
        let claim = try await base.claim(request, queue: queue)
        claimed.withLock { $0 += claim.operations.map(\.id) }
        return WakeUpAnswer(wasWoken: false, claim: claim)
    }
}
