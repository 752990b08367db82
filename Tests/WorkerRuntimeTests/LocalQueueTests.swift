import Operations
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("The local queue", .timeLimit(.minutes(60)))
struct LocalQueueTests {
    private let now = ContinuousClock.now

    private func queue(slots: Int = 2) -> LocalQueue {
        var queue = LocalQueue(slots: slots)
        queue.add(QueueShare("default"))
        queue.members[0].lease.hold(until: now + .seconds(60))
        return queue
    }

    private func claimed(_ fences: ClosedRange<Int64>, tracked: Bool = true) -> [ClaimedOperation] {
        fences.map { fence in
            ClaimedOperation(fence: fence, header: OperationHeader(id: OperationID(), tracked: tracked), envelope: [])
        }
    }

    private func exchange(_ queue: inout LocalQueue, _ instant: ContinuousClock.Instant? = nil) -> LocalQueue.Exchange?
    {
        _ = queue.distribute(instant ?? now)
        guard case .exchange(let exchange) = queue.nextStep(0, instant ?? now) else { return nil }
        return exchange
    }

    @Test("A queue claims for its free slots, and for no more while that claim is in flight")
    func claimsForFreeSlots() {
        var queue = queue()
        let first = exchange(&queue)
        #expect(first?.capacity == 2)
        #expect(exchange(&queue) == nil)
        queue.finish(first, 0)
        queue.accept(Claim(status: .ok, operations: claimed(1...1), more: true), 0, context: .none, now)
        let started = queue.runAll(now)
        #expect(started.count == 1)
        #expect(exchange(&queue)?.capacity == 1)
    }

    @Test("Without a valid lease the queue claims, starts and completes nothing")
    func noLease() {
        var queue = queue()
        queue.take(claimed(1...2), 0, context: .none)
        let started = queue.runNext(now)
        #expect(started != nil)
        if let started { queue.end(started, .finished(result: []), ranFor: .zero, .now) }
        let lapsed = now + .seconds(61)
        #expect(queue.runNext(lapsed) == nil)
        #expect(exchange(&queue, lapsed) == nil)
        queue.renew(0, until: lapsed + .seconds(10), Self.quiet(inFlight: 2), lapsed)
        // The first call asks what the worker still owns.
        guard case .reconcile(let known, _) = queue.nextStep(0, lapsed) else {
            Issue.record("no reconciliation after a lapse")
            return
        }
        #expect(known.sorted() == [1, 2])
    }

    @Test("After a lapse the queue starts nothing before Redis confirms what is still owned")
    func asksBeforeItStarts() {
        var queue = queue()
        queue.take(claimed(1...2), 0, context: .none)
        let lapsed = now + .seconds(61)
        queue.renew(0, until: lapsed + .seconds(10), Self.quiet(inFlight: 1), lapsed)
        #expect(queue.runAll(lapsed).isEmpty)
        guard case .reconcile(_, let epoch) = queue.nextStep(0, lapsed) else {
            Issue.record("no reconciliation after a lapse")
            return
        }
        queue.finish(nil, 0)
        let lost = queue.reconcile(Reconciliation(found: [], lost: [1], more: false), epoch: epoch, 0, context: .none)
        #expect(lost.map(\.fence) == [1])
        #expect(queue.runAll(lapsed).map(\.fence) == [2])
    }

    @Test(
        "Each claim names the highest fence received; a new operation with a held fence replaces the old one"
    )
    func highestFence() throws {
        var queue = queue(slots: 20)
        queue.take(claimed(1...7), 0, context: .none)
        let running = queue.runAll(now)
        for operation in running.dropFirst() { queue.end(operation, .finished(result: []), ranFor: .zero, .now) }
        let first = try #require(exchange(&queue))
        #expect(first.request(by: WorkerID()).highestFence == 7)
        queue.confirm(first.ended, 0)
        queue.finish(first, 0)
        queue.accept(Claim(status: .ok), 0, of: first, context: .none, now)
        let wakeUp = queue.beginAtWakeUp(0, now)
        #expect(wakeUp?.highestFence == 7)
        queue.members[0].supply.expectWork()
        _ = queue.reconcile(
            Reconciliation(found: claimed(9...9), lost: [], more: false),
            epoch: queue.members[0].lease.epoch,
            0,
            context: .none
        )
        #expect(exchange(&queue)?.highestFence == 9)
        queue.take(claimed(1...1), 0, context: .none)
        queue.end(running[0], .finished(result: []), ranFor: .zero, .now)
        #expect(queue.members[0].outbox.isEmpty)
        #expect(queue.members[0].lease.held[1] !== running[0])
    }

    @Test("The queue sends nothing about a lost operation, whenever its body ends")
    func lostEndsLate() throws {
        var queue = queue()
        queue.take(claimed(1...2), 0, context: .none)
        let running = queue.runAll(now)
        queue.members[0].lease.raiseEpoch()
        guard case .reconcile(_, let epoch) = queue.nextStep(0, now) else {
            Issue.record("it does not ask")
            return
        }
        queue.finish(nil, 0)
        _ = queue.reconcile(Reconciliation(found: [], lost: [1], more: false), epoch: epoch, 0, context: .none)
        for operation in running { queue.end(operation, .finished(result: []), ranFor: .zero, .now) }
        #expect(queue.members[0].outbox.ended.map(\.operation.fence) == [2])
    }

    @Test("An answer from before a lapse does not confirm operations held after it")
    func answerFromBeforeTheLapse() {
        var queue = queue()
        queue.members[0].lease.raiseEpoch()
        guard case .reconcile(_, let epoch) = queue.nextStep(0, now) else {
            Issue.record("it does not ask")
            return
        }
        // Redis answers, then the worker is frozen until its lease lapses. The heartbeat is answered first.
        let lapsed = now + .seconds(61)
        queue.renew(0, until: lapsed + .seconds(10), Self.quiet(inFlight: 0), lapsed)
        queue.finish(nil, 0)
        let found = Reconciliation(found: claimed(1...1), lost: [], more: false)
        _ = queue.reconcile(found, epoch: epoch, 0, context: .none)
        #expect(queue.runAll(lapsed).isEmpty)
        guard case .reconcile(let known, let next) = queue.nextStep(0, lapsed) else {
            Issue.record("it does not ask again")
            return
        }
        #expect(known == [1] && next > epoch)
    }

    @Test("A claim that is refused for a missing lease counts as a lapse")
    func refusedClaim() {
        var queue = queue()
        queue.take(claimed(1...1), 0, context: .none)
        queue.finish(exchange(&queue), 0)
        queue.accept(Claim(status: .noLease, operations: [], more: false), 0, context: .none, now)
        queue.renew(0, until: now + .seconds(10), Self.quiet(inFlight: 0), now)
        #expect(queue.runAll(now).isEmpty)
    }

    private func wakeUps(_ queue: inout LocalQueue) -> [Int] { queue.wakeUpQueues(now) }

    private static func quiet(inFlight: Int) -> BeatReply {
        BeatReply(inFlight: inFlight, startable: false, sweepDue: false, cancels: [], cancelledThroughFence: 0)
    }

    @Test("The queue gives back the newest operations that its limits no longer let it hold ahead")
    func surplus() {
        var queue = queue()
        queue.take(claimed(1...5), 0, context: .none)
        var beat = Self.quiet(inFlight: 5)
        beat.room = Room(left: 8, ahead: 5)
        queue.renew(0, until: now + .seconds(10), beat, now)
        #expect(queue.members[0].waiting.count == 5)
        beat.room = Room(left: 4, ahead: 2)
        queue.renew(0, until: now + .seconds(10), beat, now)
        #expect(queue.members[0].waiting.count == 2)
        let returned = exchange(&queue)?.ended.map(\.operation.fence)
        #expect(returned == [3, 4, 5])
    }

    @Test("Unanswered ends are repeated alone, and nothing is claimed before their answer")
    func repeats() {
        var queue = queue()
        queue.take(claimed(1...1), 0, context: .none)
        guard let operation = queue.runNext(now) else { return }
        queue.end(operation, .finished(result: []), ranFor: .zero, .now)
        guard let first = exchange(&queue) else { return }
        #expect(first.ended.count == 1 && first.capacity > 0 && !first.isRepeat)
        queue.finish(first, 0)
        queue.unanswered(first.ended, hadClaim: true, 0, .now)
        guard case .reconcile(_, let epoch) = queue.nextStep(0, now) else {
            Issue.record("no reconciliation after a claim of unknown outcome")
            return
        }
        #expect(epoch == first.epoch + 1)
        queue.finish(nil, 0)
        _ = queue.reconcile(Reconciliation(found: [], lost: [], more: false), epoch: epoch, 0, context: .none)
        let second = exchange(&queue)
        #expect(second?.isRepeat == true && second?.capacity == 0 && second?.ended.count == 1)
    }

    @Test("Two heartbeats in a row with another count cause a reconcile call; a single one does not")
    func mismatch() {
        var queue = queue()
        queue.members[0].supply.runDry()
        queue.renew(0, until: now + .seconds(60), Self.quiet(inFlight: 1), now)
        #expect(!queue.members[0].lease.mustAsk)
        queue.renew(0, until: now + .seconds(60), Self.quiet(inFlight: 0), now)
        queue.renew(0, until: now + .seconds(60), Self.quiet(inFlight: 1), now)
        #expect(!queue.members[0].lease.mustAsk)
        queue.renew(0, until: now + .seconds(60), Self.quiet(inFlight: 1), now)
        #expect(queue.members[0].lease.mustAsk)
    }

    @Test("An operation is settled only once, even if a second settlement follows")
    func settlesOnce() {
        var queue = queue()
        queue.take(claimed(1...1), 0, context: .none)
        guard let operation = queue.runNext(now) else { return }
        queue.settle(operation, .returned(.front))
        queue.end(operation, .finished(result: []), ranFor: .zero, .now)
        #expect(queue.members[0].outbox.ended.count == 1)
    }

    @Test("A call sends at most one batch and 1 MiB, and fewer ends that cost more, in order")
    func batches() {
        func firstTwo(tracked: Bool, _ settlement: Settlement) -> [[Int64]?] {
            var queue = queue(slots: 2000)
            queue.take(claimed(1...1200, tracked: tracked), 0, context: .none)
            for operation in queue.runAll(now) { queue.end(operation, settlement, ranFor: .zero, .now) }
            let first = exchange(&queue)
            queue.finish(first, 0)
            return [first, exchange(&queue)].map { $0?.ended.map(\.operation.fence) }
        }
        #expect(firstTwo(tracked: false, .finished(result: [])) == [Array(1...500), Array(501...1000)])
        #expect(firstTwo(tracked: true, .finished(result: [])) == [Array(1...100), Array(101...200)])
        #expect(firstTwo(tracked: false, .returned(.front)) == [Array(1...50), Array(51...100)])

        var large = self.queue(slots: 10)
        large.take(claimed(1...5), 0, context: .none)
        for operation in large.runAll(now) {
            large.end(operation, .finished(result: [UInt8](repeating: 0, count: 400_000)), ranFor: .zero, .now)
        }
        #expect(exchange(&large)?.ended.count == 2)
    }

    /// Returns a queue with `count` ended operations.
    private func queue(ended count: Int64, tracked: Bool = false) -> LocalQueue {
        var queue = queue(slots: 2000)
        queue.take(claimed(1...count, tracked: tracked), 0, context: .none)
        for operation in queue.runAll(now) { queue.end(operation, .finished(result: []), ranFor: .zero, .now) }
        return queue
    }

    @Test("A further call needs many ended operations, and the number of calls in flight is limited")
    func severalCalls() {
        var queue = queue(ended: 1950)
        queue.members[0].supply.runDry()
        let sent = (0..<4).map { _ in exchange(&queue) }
        let (counts, capacities) = (sent.map { $0?.ended.count ?? 0 }, sent.map { $0?.capacity ?? 0 })
        #expect(counts == [500, 500, 500, 0])
        #expect(capacities == [500, 500, 500, 0])
        #expect(queue.slots.parts[0].claiming == 1500)
        queue.finish(sent[1], 0)
        let further = exchange(&queue)
        #expect(further?.ended.count == 450)
        queue.finish(further, 0)
        queue.finish(sent[2], 0)
        queue.take(claimed(5001...5200, tracked: false), 0, context: .none)
        for operation in queue.runAll(now) { queue.end(operation, .finished(result: []), ranFor: .zero, .now) }
        // 200 ends are too few for a further call, so they wait for the one in flight.
        #expect(exchange(&queue) == nil)
        queue.finish(sent[0], 0)
        #expect(queue.slots.parts[0].claiming == 0)
        #expect(exchange(&queue)?.ended.count == 200)
    }

    @Test("After a heartbeat one call goes alone, then several again")
    func probes() {
        var queue = queue(ended: 1950)
        queue.members[0].supply.runDry()
        let beat = Self.quiet(inFlight: 1950)
        queue.renew(0, until: now + .seconds(60), beat, now)
        // No round trip was measured yet, so no probe is needed.
        let first = exchange(&queue)
        #expect(first?.isProbe == false)
        queue.members[0].calls.note(roundTrip: .milliseconds(8), wasProbe: false)
        queue.renew(0, until: now + .seconds(60), beat, now)
        #expect(exchange(&queue) == nil)
        queue.finish(first, 0)
        let alone = exchange(&queue)
        #expect(alone?.isProbe == true)
        #expect(exchange(&queue) == nil)
        // The probe ends even without an answer.
        queue.finish(alone, 0)
        let next = [exchange(&queue), exchange(&queue)]
        #expect(next.map { $0?.ended.count } == [500, 450])
        #expect(next.allSatisfy { $0?.isProbe == false })
    }

    @Test("A reconcile call waits for all other calls, and nothing is sent during it")
    func reconcilesAlone() {
        var queue = queue(ended: 1400)
        let (first, second) = (exchange(&queue), exchange(&queue))
        #expect(first != nil && second != nil)
        queue.finish(first, 0)
        queue.unanswered(first?.ended ?? [], hadClaim: true, 0, .now)
        guard case .wait = queue.nextStep(0, now) else {
            Issue.record("it asks while a claim is under way")
            return
        }
        queue.confirm(second?.ended ?? [], 0)
        queue.finish(second, 0)
        queue.accept(Claim(status: .ok, operations: claimed(5001...5002)), 0, of: second, context: .none, now)
        guard case .reconcile(let known, let epoch) = queue.nextStep(0, now) else {
            Issue.record("it does not ask")
            return
        }
        var expected = Set<Int64>(1...500)
        expected.formUnion(Set<Int64>(1001...1400))
        expected.formUnion([5001, 5002] as Set<Int64>)
        #expect(Set(known) == expected)
        guard case .wait = queue.nextStep(0, now) else {
            Issue.record("it sends while it asks")
            return
        }
        queue.finish(nil, 0)
        _ = queue.reconcile(Reconciliation(found: [], lost: [], more: false), epoch: epoch, 0, context: .none)
        let repeated = exchange(&queue)
        #expect(repeated?.isRepeat == true && repeated?.ended.count == 500)
        // A repeat goes alone.
        #expect(exchange(&queue) == nil)
    }

    @Test("The answer to the later call counts, whichever arrives first, and a wake-up counts more than both")
    func answersOutOfOrder() {
        var queue = queue(ended: 1000)
        guard let first = exchange(&queue), let second = exchange(&queue) else {
            Issue.record("there are not two calls")
            return
        }
        var woken = queue
        queue.finish(second, 0)
        queue.accept(Claim(status: .ok, operations: claimed(2001...2002)), 0, of: second, context: .none, now)
        queue.finish(first, 0)
        queue.accept(
            Claim(status: .ok, operations: claimed(2003...2003), more: true),
            0,
            of: first,
            context: .none,
            now
        )
        #expect(queue.members[0].supply.state == .quiet)
        #expect(queue.takeLine().count + queue.members[0].waiting.count == 3)

        _ = woken.wokeUp(0, now)
        woken.finish(first, 0)
        woken.accept(Claim(status: .ok), 0, of: first, context: .none, now)
        woken.finish(second, 0)
        woken.accept(Claim(status: .ok), 0, of: second, context: .none, now)
        #expect(woken.members[0].supply.state == .ready)
    }

    @Test("Very short operations are claimed ahead, long ones never")
    func prefetch() {
        var pace = Pace()
        for _ in 0..<16 { pace.note(.microseconds(10)) }
        #expect(pace.prefetch(slots: 30) == 4000)
        #expect(pace.prefetch(slots: 1) == 200)
        for _ in 0..<100 { pace.note(.milliseconds(5)) }
        #expect(pace.prefetch(slots: 10) == 0)
        #expect(Pace().prefetch(slots: 10) == 0)
    }

    @Test("The queue gives back operations claimed ahead when nothing has started for a while")
    func stall() {
        var queue = queue(slots: 1)
        queue.take(claimed(1...3), 0, context: .none)
        let started = queue.runAll(now)
        #expect(started.count == 1)
        let due = queue.nextAlarm(now)
        #expect(due == now + .milliseconds(100))
        queue.alarm(now + .milliseconds(99))
        #expect(queue.members[0].outbox.isEmpty)
        queue.alarm(now + .milliseconds(100))
        #expect(queue.members[0].outbox.ended.map(\.operation.fence) == [2, 3])
        #expect(queue.nextAlarm(now) == nil)
    }

    @Test("A change examines a thousand queues a few times, not once for each queue")
    func manyQueues() {
        var queue = LocalQueue(slots: 10)
        for number in 0..<1000 {
            queue.add(QueueShare("q\(number)", reservedSlots: number < 2 ? 1 : 0))
            queue.members[number].lease.hold(until: now + .seconds(60))
        }
        /// Takes the steps of a worker after a change.
        func settle() -> (granted: Int, wakeUp: Bool) {
            _ = queue.runAll(now)
            let granted = queue.distribute(now).count
            return (granted, queue.outlook(now).needsWakeUp)
        }
        // Ten slots are reserved for the queues in turn.
        #expect(settle() == (10, false))
        #expect(queue.walks <= 20)
        for index in queue.members.indices {
            queue.members[index].supply.runDry()
            queue.slots.revoke(index)
        }
        var walks = queue.walks
        #expect(settle() == (0, true))
        #expect(wakeUps(&queue).count == 1000)
        queue.renew(500, until: now + .seconds(60), Self.quiet(inFlight: 0), now)
        let canStart = queue.wokeUp(700, now)
        #expect(canStart)
        #expect(queue.walks - walks <= 10)
        // A queue with ended operations may claim for every slot that is not reserved for others, and counts each once.
        queue.take(claimed(1...1), 900, context: .none)
        guard let operation = queue.runNext(now) else { return }
        walks = queue.walks
        queue.end(operation, .finished(result: []), ranFor: .zero, .now)
        guard case .exchange(let exchange) = queue.nextStep(900, now) else { return }
        #expect(exchange.capacity == 8)
        #expect(queue.walks - walks <= 2)
    }

    @Test("An unreadable operation ends as dead without a slot, and a readable one starts")
    func unreadable() {
        var queue = queue(slots: 1)
        var operations = claimed(1...2)
        operations[0].fault = "another version"
        queue.take(operations, 0, context: .none)
        let started = queue.runAll(now)
        #expect(started.map(\.fence) == [2])
        guard case .failed(.dead, let error)? = queue.members[0].outbox.ended.first?.settlement else {
            Issue.record("what cannot be read is not settled")
            return
        }
        #expect(String(decoding: error, as: UTF8.self).contains(#""message":"another version","type":"malformed""#))
    }

    @Test("The queue listens only if it could start something and knows of nothing ready")
    func wakeUps() {
        var queue = queue(slots: 1)
        #expect(wakeUps(&queue).isEmpty)
        queue.accept(Claim(status: .ok), 0, context: .none, now)
        #expect(wakeUps(&queue) == [0])
        let isTaken = queue.wokeUp(0, now)
        #expect(isTaken)
        queue.accept(Claim(status: .ok, operations: claimed(1...1)), 0, context: .none, now)
        _ = queue.runAll(now)
        #expect(wakeUps(&queue).isEmpty)
        let isTakenAgain = queue.wokeUp(0, now)
        #expect(!isTakenAgain)
    }
}
