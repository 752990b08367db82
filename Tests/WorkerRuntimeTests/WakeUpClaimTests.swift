import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A claim at the wake-up token", .timeLimit(.minutes(60)))
struct WakeUpClaimTests {
    private let now = ContinuousClock.now

    /// Returns an idle queue.
    private func queue(slots: Int = 8) -> LocalQueue {
        var queue = LocalQueue(slots: slots)
        queue.add(QueueShare("default"))
        queue.members[0].lease.hold(until: now + .seconds(60))
        queue.accept(Claim(status: .ok), 0, context: .none, now)
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

    /// Begins a claim at the wake-up token, which must be possible here.
    private func begin(_ queue: inout LocalQueue) throws -> LocalQueue.WakeUpClaim {
        let asked = queue.beginAtWakeUp(0, now)
        return try #require(asked)
    }

    @Test("A wake-up claim asks for few operations and uses no slot while it waits")
    func fewAndFree() throws {
        var queue = queue()
        #expect(try begin(&queue).capacity == LocalQueue.mostAtWakeUp)
        queue.members[0].supply.expectWork()
        #expect(exchange(&queue)?.capacity == 8)
        var small = self.queue(slots: 1)
        #expect(try begin(&small).capacity == 1)
    }

    @Test("A stopping worker, or one with several queues, makes no wake-up claim")
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
        "After the answer busy, a worker makes no wake-up claim before it holds nothing; the token still counts"
    )
    func busy() throws {
        var queue = queue()
        queue.take(claim(1...1).operations, 0, context: .none)
        _ = queue.runAll(now)
        let asked = try begin(&queue)
        let answer = WakeUpAnswer(wasWoken: true, claim: Claim(status: .busy))
        let isOfUse = queue.accept(answer, 0, of: asked, context: .none, now)
        #expect(isOfUse)
        guard let sent = exchange(&queue) else {
            Issue.record("what woke was not claimed")
            return
        }
        #expect(sent.capacity == 7)
        queue.finish(sent, 0)
        queue.accept(Claim(status: .ok), 0, of: sent, context: .none, now)
        var again = queue.beginAtWakeUp(0, now)
        #expect(again == nil)
        _ = queue.reconcile(Reconciliation(found: [], lost: [1], more: false), epoch: asked.epoch, 0, context: .none)
        again = queue.beginAtWakeUp(0, now)
        #expect(again != nil)
    }

    @Test("No wake-up claim is made while a reconcile call is due: both could return one operation")
    func notBesideAsking() {
        var queue = queue()
        queue.unanswered([], hadClaim: true, 0, .now)
        let asked = queue.beginAtWakeUp(0, now)
        #expect(asked == nil)
    }

    @Test("Operations of a wake-up claim start, and the worker asks for more only if more is ready")
    func starts() throws {
        var queue = queue()
        var asked = try begin(&queue)
        let isOfUse = queue.accept(WakeUpAnswer(wasWoken: true, claim: claim(1...1)), 0, of: asked, context: .none, now)
        #expect(isOfUse)
        let first = queue.runAll(now)
        #expect(first.map(\.fence) == [1])
        #expect(exchange(&queue) == nil)
        asked = try begin(&queue)
        _ = queue.accept(
            WakeUpAnswer(wasWoken: true, claim: claim(2...3, more: true)),
            0,
            of: asked,
            context: .none,
            now
        )
        let others = queue.runAll(now)
        #expect(others.map(\.fence) == [2, 3])
        #expect(exchange(&queue)?.capacity == 5)
    }

    @Test(
        "An operation that a reconcile call already returned is ignored in the answer to the wake-up claim"
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
        _ = queue.reconcile(found, epoch: epoch, 0, context: .none)
        let started = queue.runAll(now)
        #expect(started.map(\.fence) == [1])
        queue.end(started[0], .finished(result: []), ranFor: .zero, .now)
        guard let sent = exchange(&queue) else {
            Issue.record("its end was not sent")
            return
        }
        queue.finish(sent, 0)
        queue.confirm(sent.ended, 0)
        _ = queue.accept(WakeUpAnswer(wasWoken: true, claim: brought), 0, of: asked, context: .none, now)
        let again = queue.runAll(now)
        #expect(queue.members[0].lease.held.isEmpty && again.isEmpty)
    }

    @Test("After a lapse, operations of a wake-up claim are ignored until the worker has reconciled")
    func lapse() throws {
        var queue = queue()
        let asked = try begin(&queue)
        // A late answer to another call reports the lapse.
        queue.accept(Claim(status: .noLease), 0, context: .none, now)
        let beat = BeatReply(inFlight: 0, startable: false, sweepDue: false, cancels: [], cancelledThroughFence: 0)
        queue.renew(0, until: now + .seconds(60), beat, now)
        _ = queue.accept(WakeUpAnswer(wasWoken: true, claim: claim(1...1)), 0, of: asked, context: .none, now)
        #expect(queue.members[0].lease.held.isEmpty && queue.members[0].lease.mustAsk)
    }

    @Test("An unanswered wake-up claim causes a reconcile call")
    func unanswered() throws {
        var queue = queue()
        let epoch = try begin(&queue).epoch
        queue.unansweredWakeUp(0)
        guard case .reconcile(_, let next) = queue.nextStep(0, now) else {
            Issue.record("Redis was not asked")
            return
        }
        #expect(next > epoch)
        // A stopping worker waits only for the reconcile answer: the unanswered claim may have brought operations.
        #expect(queue.holdsNothing && queue.mayBeGivenMore)
        queue.finish(nil, 0)
        _ = queue.reconcile(Reconciliation(found: [], lost: [], more: false), epoch: next, 0, context: .none)
        #expect(!queue.mayBeGivenMore)
    }

    @Test("The token goes back if another worker should have it")
    func putsBack() throws {
        var queue = queue()
        var asked = try begin(&queue)
        let refused = WakeUpAnswer(wasWoken: true, claim: Claim(status: .noLease))
        var isOfUse = queue.accept(refused, 0, of: asked, context: .none, now)
        #expect(!isOfUse)
        #expect(!queue.members[0].lease.isValid(now))

        queue = self.queue()
        asked = try begin(&queue)
        queue.phase = .draining
        let stale = WakeUpAnswer(wasWoken: true, claim: Claim(status: .staleEpoch))
        isOfUse = queue.accept(stale, 0, of: asked, context: .none, now)
        #expect(!isOfUse)
        queue.phase = .running
        isOfUse = queue.accept(stale, 0, of: asked, context: .none, now)
        #expect(isOfUse)
    }

    @Test("A wake-up claim does not overwrite the answer of a call that was sent after it")
    func oneOfSeveral() throws {
        var queue = queue()
        let asked = try begin(&queue)
        queue.members[0].supply.expectWork()
        guard let sent = exchange(&queue) else {
            Issue.record("nothing was sent")
            return
        }
        queue.finish(sent, 0)
        queue.accept(claim(1...8, more: true, due: 50), 0, of: sent, context: .none, now)
        _ = queue.accept(WakeUpAnswer(claim: claim(nil, due: 70)), 0, of: asked, context: .none, now)
        #expect(queue.members[0].supply.state == .ready && queue.members[0].supply.nextDue == now + .milliseconds(50))
    }

    @Test("A wake-up claim names the highest fence that its worker received")
    func saysHighestFence() async throws {
        let broker = HeardAtWakeUp(InMemoryBroker())
        let harness = Harness(broker: broker.base, connection: { _ in broker })
        harness.start()
        _ = try await broker.base.put("noop")
        #expect(await comesTrue { broker.highestFences.withLock { $0.contains(1) } })
        try await harness.stop()
    }

    @Test("A stopping worker cancels the wake-up claim, and gives back untried what it still brings")
    func drain() async throws {
        let broker = LateRing(InMemoryBroker())
        let harness = Harness(broker: broker.base, connection: { _ in broker })
        harness.start()
        #expect(await comesTrue { broker.waits.withLock { $0 } })
        harness.worker.stop()
        #expect(await comesTrue { harness.worker.core.queue.withLock { $0.phase == .draining } })
        broker.rings.open()
        try await harness.ended()
        let ids = broker.claimed.withLock { $0 }
        #expect(ids.count == 1)
        let record = try await harness.detail(ids[0])?.record
        #expect(record?.state == .ready && record?.header.failedAttempts == 0 && record?.header.delivery == 1)
        #expect(try await broker.base.snapshot(queue: "default", executingRows: 0).workers.isEmpty)
    }
}

/// A broker that records the highest fence of each wake-up claim.
private final class HeardAtWakeUp: Forwarding {
    let base: InMemoryBroker
    let highestFences = Mutex<[Int64]>([])

    init(_ base: InMemoryBroker) { self.base = base }

    func claimAtWakeUp(_ request: ClaimRequest, queue: String, timeout: Duration) async throws -> WakeUpAnswer {
        highestFences.withLock { $0.append(request.highestFence) }
        return try await base.claimAtWakeUp(request, queue: queue, timeout: timeout)
    }
}

/// A broker that, after a cancelled wait, still claims an operation and answers, once the test lets it ring.
private final class LateRing: Forwarding {
    let base: InMemoryBroker
    let waits = Mutex(false)
    let rings = Latch()
    let claimed = Mutex<[OperationID]>([])

    init(_ base: InMemoryBroker) { self.base = base }

    func claimAtWakeUp(_ request: ClaimRequest, queue: String, timeout: Duration) async throws -> WakeUpAnswer {
        waits.withLock { $0 = true }
        _ = try? await base.waitForWakeUp(queues: [], timeout: timeout)
        // The worker may renew its wait before it stops, and would run an operation that came then.
        await rings.wait(isDeaf: true)
        _ = try await base.put("noop")
        let claim = try await base.claim(request, queue: queue)
        claimed.withLock { $0 += claim.operations.map(\.id) }
        return WakeUpAnswer(wasWoken: false, claim: claim)
    }
}
