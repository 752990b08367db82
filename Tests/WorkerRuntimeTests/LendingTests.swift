import Operations
import BrokerModel
import Testing

@testable import WorkerRuntime

/// What waits here uses slots for which claims are under way, as long as it is very short.
@Suite("Slots that claims lend", .timeLimit(.minutes(5)))
struct LendingTests {
    private let now = ContinuousClock.now

    /// Its operations are so short that for each slot two are claimed ahead.
    private func queue(_ shares: [QueueShare] = [QueueShare("default")], slots: Int = 2) -> LocalQueue {
        var queue = LocalQueue(slots: slots)
        for (index, share) in shares.enumerated() {
            queue.add(share)
            queue.members[index].leaseUntil = now + .seconds(60)
            for _ in 0..<16 { queue.members[index].pace.note(.microseconds(900)) }
        }
        return queue
    }

    private func claimed(_ fences: ClosedRange<Int64>) -> [ClaimedOperation] {
        fences.map { ClaimedOperation(fence: $0, header: OperationHeader(id: OperationID()), envelope: []) }
    }

    private func exchange(_ queue: inout LocalQueue, _ index: Int = 0) throws -> LocalQueue.Exchange {
        _ = queue.distribute(now)
        guard case .exchange(let exchange) = queue.nextStep(index, now) else { throw Silent() }
        return exchange
    }

    private struct Silent: Error {}

    /// Ends one, and says what starts then.
    private func end(_ operation: HeldOperation?, _ queue: inout LocalQueue) throws -> HeldOperation? {
        try queue.end(#require(operation), .finished(result: []), ranFor: .microseconds(900))
        queue.fill(now)
        return queue.takeLine().first
    }

    @Test("are used at once, by as many as there are slots, and given back when nothing waits")
    func lends() throws {
        var queue = queue()
        let asked = try exchange(&queue)
        #expect(asked.slots == 2 && queue.members[0].requested == 2)
        queue.take(claimed(1...4), 0, ties: .none)
        let running = queue.runAll(now)
        #expect(running.map(\.fence) == [1, 2])
        #expect(queue.members[0].lent == 2 && queue.countRoom().free == 0)
        let third = try end(running[0], &queue)
        let fourth = try end(running[1], &queue)
        #expect([third?.fence, fourth?.fence] == [3, 4])
        #expect(try end(third, &queue) == nil)
        #expect(queue.members[0].running == 1 && queue.members[0].lent == 1 && queue.members[0].granted == 0)
        // The claim is answered while one of two slots is still used.
        queue.finish(asked, 0)
        queue.accept(Claim(status: .ok, operations: claimed(5...6)), 0, of: asked, ties: .none, now)
        #expect(queue.members[0].lent == 0)
        let next = queue.runAll(now)
        #expect(next.map(\.fence) == [5])
        #expect(try end(fourth, &queue)?.fence == 6)
    }

    @Test("go back to the claim when any body ends and nothing waits: no further slot is claimed for")
    func givenBack() throws {
        var queue = queue()
        queue.take(claimed(1...1), 0, ties: .none)
        let own = queue.runAll(now).first
        queue.distribute(now)
        queue.take(claimed(2...2), 0, ties: .none)
        #expect(queue.runAll(now).map(\.fence) == [2])
        #expect(queue.members[0].granted == 1 && queue.members[0].lent == 1)
        #expect(try end(own, &queue) == nil)
        #expect(queue.members[0].granted == 1 && queue.members[0].lent == 0)
    }

    @Test("stay with the claim where operations are long, or nobody knows")
    func long() throws {
        for duration in [nil, Duration.milliseconds(20)] {
            var queue = queue()
            queue.members[0].pace.forget()
            if let duration { for _ in 0..<16 { queue.members[0].pace.note(duration) } }
            _ = try exchange(&queue)
            queue.take(claimed(1...2), 0, ties: .none)
            #expect(queue.runAll(now).isEmpty)
        }
    }

    @Test("count as claimed ahead: no more is held than without them")
    func countAsAhead() throws {
        var queue = queue()
        #expect(queue.members[0].pace.prefetch(slots: 2) == 4)
        let first = try exchange(&queue)
        #expect(first.capacity == 6)
        queue.finish(first, 0)
        queue.distribute(now)
        queue.take(claimed(1...3), 0, ties: .none)
        _ = queue.runAll(now)
        #expect(queue.members[0].lent == 2 && queue.members[0].waiting.count == 1)
        let second = try exchange(&queue)
        #expect(second.slots == 2 && second.ahead == 1)
    }

    @Test("are those of the own queue: what others have reserved stays theirs")
    func reserves() throws {
        var queue = queue([QueueShare("a"), QueueShare("b", reservedSlots: 1)])
        queue.members[1].hasWork = false
        _ = try exchange(&queue)
        #expect(queue.members[0].requested == 1)
        queue.take(claimed(1...2), 0, ties: .none)
        #expect(queue.runAll(now).map(\.fence) == [1])
        queue.take(claimed(11...12), 1, ties: .none)
        #expect(queue.runAll(now).map(\.fence) == [11])
        #expect(queue.busySlots == 2)
    }

    @Test("belong to what runs when nothing is claimed for them any more")
    func revoked() {
        var queue = queue()
        _ = queue.distribute(now)
        queue.take(claimed(1...2), 0, ties: .none)
        _ = queue.runAll(now)
        #expect(queue.members[0].granted == 2 && queue.members[0].lent == 2)
        queue.accept(Claim(status: .ok), 0, ties: .none, now)
        #expect(queue.members[0].lent == 0 && queue.members[0].usedSlots == 2)
        #expect(queue.countRoom().free == 0)
    }

    @Test("are never used twice, whatever comes in which order", arguments: 1...20 as ClosedRange<UInt64>)
    func anyOrder(seed: UInt64) throws {
        var storm = Storm(seed: seed, queue: queue([QueueShare("a"), QueueShare("b", reservedSlots: 200)], slots: 600))
        for _ in 0..<2000 { storm.step(now) }
        storm.calmDown(now)
        #expect(storm.mostRunning == 600 && storm.hasLent)
        #expect(storm.faults.isEmpty, "\(storm.faults)")
        for member in storm.queue.members {
            #expect(member.running == 0 && member.requested == 0 && member.lent == 0 && member.waiting.isEmpty)
            #expect(member.held.isEmpty)
        }
        #expect(storm.ended == storm.handedOut)
    }
}

/// A worker of two queues to which everything happens in random order, and what must hold after each step.
private struct Storm {
    var queue: LocalQueue
    private(set) var mostRunning = 0
    private(set) var hasLent = false
    private(set) var faults: Set<String> = []
    private var mostAhead = 0
    private(set) var handedOut = 0
    private(set) var ended = 0

    private var generator: SeededGenerator
    private var running: [HeldOperation] = []
    private var calls: [(index: Int, exchange: LocalQueue.Exchange)] = []
    private var isOver = false

    init(seed: UInt64, queue: LocalQueue) {
        generator = SeededGenerator(seed: seed)
        self.queue = queue
    }

    mutating func step(_ now: ContinuousClock.Instant) {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0, 1: send(now)
        case 2: answer(now)
        case 3 where !isOver: _ = queue.rang(Int.random(in: 0...1, using: &generator), now)
        default: for _ in 0..<Int.random(in: 1...300, using: &generator) { endOne(now) }
        }
        queue.fill(now)
        running += queue.takeLine()
        check()
    }

    /// Nothing comes any more: everything that is here ends.
    mutating func calmDown(_ now: ContinuousClock.Instant) {
        isOver = true
        for _ in 0..<10_000
        where !calls.isEmpty || !running.isEmpty || queue.members.contains(where: { $0.hasCall(now) }) {
            step(now)
        }
    }

    private mutating func send(_ now: ContinuousClock.Instant) {
        let index = Int.random(in: 0...1, using: &generator)
        if case .exchange(let exchange) = queue.nextStep(index, now) { calls.append((index, exchange)) }
    }

    private mutating func answer(_ now: ContinuousClock.Instant) {
        guard !calls.isEmpty else { return }
        let (index, exchange) = calls.remove(at: Int.random(in: 0..<calls.count, using: &generator))
        let count = isOver ? 0 : Int.random(in: 0...exchange.capacity, using: &generator)
        let operations = (0..<count).map { number in
            ClaimedOperation(
                fence: Int64(handedOut + number + 1),
                header: OperationHeader(id: OperationID()),
                envelope: []
            )
        }
        handedOut += count
        queue.confirm(exchange.ended, index)
        queue.finish(exchange, index)
        let claim = Claim(status: .ok, operations: operations, more: !isOver && Bool.random(using: &generator))
        queue.accept(claim, index, of: exchange, ties: .none, now)
    }

    private mutating func endOne(_ now: ContinuousClock.Instant) {
        guard !running.isEmpty else { return }
        let operation = running.remove(at: Int.random(in: 0..<running.count, using: &generator))
        // Now and then one is long, so that nothing is lent for a while.
        let isLong = Int.random(in: 0..<500, using: &generator) == 0
        queue.end(operation, .finished(result: []), ranFor: isLong ? .milliseconds(30) : .microseconds(20))
        ended += 1
    }

    private mutating func check() {
        mostRunning = max(mostRunning, running.count)
        if queue.busySlots != running.count { faults.insert("the running are counted wrongly") }
        if queue.busySlots > queue.slots { faults.insert("more run than there are slots") }
        if queue.countRoom().free < 0 { faults.insert("more slots are used than there are") }
        for member in queue.members {
            hasLent = hasLent || member.lent > 0
            if member.lent < 0 || member.lent > member.granted + member.requested {
                faults.insert("lent what is not there")
            }
            if member.lent > member.running { faults.insert("lent more than run") }
            mostAhead = max(mostAhead, member.pace.prefetch(slots: queue.slots))
            let ahead = member.waiting.count + member.lent + member.requestedAhead
            if ahead > mostAhead { faults.insert("more claimed ahead than is allowed") }
        }
    }
}
