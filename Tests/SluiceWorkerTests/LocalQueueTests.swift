import Operations
import Testing

@testable import SluiceTesting
@testable import SluiceWorker

@Suite("The local queue")
struct LocalQueueTests {
    private let now = ContinuousClock.now

    private func queue(slots: Int = 2) -> LocalQueue {
        var queue = LocalQueue(slots: slots)
        queue.add(QueueShare("default"))
        queue.members[0].leaseUntil = now + .seconds(60)
        return queue
    }

    private func claimed(_ fences: ClosedRange<Int64>) -> [ClaimedOperation] {
        fences.map { ClaimedOperation(fence: $0, header: OperationHeader(id: OperationID()), envelope: []) }
    }

    private func exchange(_ queue: inout LocalQueue, _ instant: ContinuousClock.Instant? = nil) -> LocalQueue.Exchange?
    {
        _ = queue.distribute(instant ?? now)
        guard case .exchange(let exchange) = queue.nextStep(0, instant ?? now) else { return nil }
        return exchange
    }

    @Test("claims for its free slots, and for no more while that claim is under way")
    func claimsForFreeSlots() {
        var queue = queue()
        #expect(exchange(&queue)?.capacity == 2)
        #expect(exchange(&queue) == nil)
        queue.finishExchange(0)
        queue.accept(Claim(status: .ok, operations: claimed(1...1), more: true), 0, ties: .none, now)
        let started = queue.startAll(now)
        #expect(started.count == 1)
        #expect(exchange(&queue)?.capacity == 1)
    }

    @Test("does nothing without a valid lease: no claim, no start, no completion")
    func noLease() {
        var queue = queue()
        queue.take(claimed(1...2), 0, ties: .none)
        let started = queue.startNext(now)
        #expect(started != nil)
        if let started { queue.end(started, .finished(result: []), ranFor: .zero) }
        let lapsed = now + .seconds(61)
        #expect(queue.startNext(lapsed) == nil)
        #expect(exchange(&queue, lapsed) == nil)
        queue.renew(0, until: lapsed + .seconds(10), Self.quiet(inFlight: 2), lapsed)
        // First it asks what it still owns.
        guard case .reconcile(let known, _) = queue.nextStep(0, lapsed) else {
            Issue.record("no reconciliation after a lapse")
            return
        }
        #expect(known.sorted() == [1, 2])
    }

    private static func quiet(inFlight: Int) -> BeatReply {
        BeatReply(inFlight: inFlight, startable: false, sweepDue: false, cancels: [], cancelledThroughFence: 0)
    }

    @Test("repeats what was not answered by itself, and claims nothing before it is")
    func repeats() {
        var queue = queue()
        queue.take(claimed(1...1), 0, ties: .none)
        guard let operation = queue.startNext(now) else { return }
        queue.end(operation, .finished(result: []), ranFor: .zero)
        guard let first = exchange(&queue) else { return }
        #expect(first.ended.count == 1 && first.capacity > 0 && !first.isRepeat)
        queue.finishExchange(0)
        queue.unanswered(first.ended, hadClaim: true, 0)
        guard case .reconcile(_, let epoch) = queue.nextStep(0, now) else {
            Issue.record("no reconciliation after a claim of unknown outcome")
            return
        }
        #expect(epoch == first.epoch + 1)
        queue.finishExchange(0)
        _ = queue.reconcile(Reconciliation(found: [], lost: [], more: false), 0, ties: .none)
        let second = exchange(&queue)
        #expect(second?.isRepeat == true && second?.capacity == 0 && second?.ended.count == 1)
    }

    @Test("asks what it owns when two beats in a row count another number, not after one")
    func mismatch() {
        var queue = queue()
        queue.members[0].hasWork = false
        queue.renew(0, until: now + .seconds(60), Self.quiet(inFlight: 1), now)
        #expect(!queue.members[0].needsReconcile)
        queue.renew(0, until: now + .seconds(60), Self.quiet(inFlight: 0), now)
        queue.renew(0, until: now + .seconds(60), Self.quiet(inFlight: 1), now)
        #expect(!queue.members[0].needsReconcile)
        queue.renew(0, until: now + .seconds(60), Self.quiet(inFlight: 1), now)
        #expect(queue.members[0].needsReconcile)
    }

    @Test("settles an operation once, whoever tries it again")
    func settlesOnce() {
        var queue = queue()
        queue.take(claimed(1...1), 0, ties: .none)
        guard let operation = queue.startNext(now) else { return }
        queue.settle(operation, .returned(.front))
        queue.end(operation, .finished(result: []), ranFor: .zero)
        #expect(queue.members[0].outbox.count == 1)
    }

    @Test("sends at most a batch and a mebibyte at a time, in order")
    func batches() {
        var queue = queue(slots: 2000)
        queue.take(claimed(1...1200), 0, ties: .none)
        let started = queue.startAll(now)
        for operation in started { queue.end(operation, .finished(result: []), ranFor: .zero) }
        #expect(exchange(&queue)?.ended.map(\.operation.fence) == Array(1...500))
        queue.finishExchange(0)
        #expect(exchange(&queue)?.ended.count == 500)

        var large = self.queue(slots: 10)
        large.take(claimed(1...5), 0, ties: .none)
        for operation in large.startAll(now) {
            large.end(operation, .finished(result: [UInt8](repeating: 0, count: 400_000)), ranFor: .zero)
        }
        #expect(exchange(&large)?.ended.count == 2)
    }

    @Test("claims very short operations ahead, long ones never")
    func prefetch() {
        var pace = Pace()
        for _ in 0..<16 { pace.note(.microseconds(10)) }
        #expect(pace.prefetch(slots: 10) == 1000)
        #expect(pace.prefetch(slots: 1) == 200)
        for _ in 0..<100 { pace.note(.milliseconds(5)) }
        #expect(pace.prefetch(slots: 10) == 0)
        #expect(Pace().prefetch(slots: 10) == 0)
    }

    @Test("gives back what it claimed ahead when nothing has started for a while")
    func stall() {
        var queue = queue(slots: 1)
        queue.take(claimed(1...3), 0, ties: .none)
        let started = queue.startAll(now)
        #expect(started.count == 1)
        let due = queue.nextAlarm(now)
        #expect(due == now + .milliseconds(100))
        queue.alarm(now + .milliseconds(99))
        #expect(queue.members[0].outbox.isEmpty)
        queue.alarm(now + .milliseconds(100))
        #expect(queue.members[0].outbox.map(\.operation.fence) == [2, 3])
        #expect(queue.nextAlarm(now) == nil)
    }

    @Test("listens only where it could start something and knows of nothing")
    func bells() {
        var queue = queue(slots: 1)
        #expect(queue.bellQueues(now).isEmpty)
        queue.accept(Claim(status: .ok), 0, ties: .none, now)
        #expect(queue.bellQueues(now) == [0])
        let isTaken = queue.rang(0, now)
        #expect(isTaken)
        queue.accept(Claim(status: .ok, operations: claimed(1...1)), 0, ties: .none, now)
        _ = queue.startAll(now)
        #expect(queue.bellQueues(now).isEmpty)
        let isTakenAgain = queue.rang(0, now)
        #expect(!isTakenAgain)
    }
}
