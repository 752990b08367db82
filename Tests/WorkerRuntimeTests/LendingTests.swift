import Operations
import BrokerModel
import Testing

@testable import WorkerRuntime

/// While a claim is in flight, very short operations that wait borrow its slots.
@Suite("Borrowed slots", .timeLimit(.minutes(60)))
struct LendingTests {
    private let now = ContinuousClock.now

    /// Returns a queue of operations so short that two are claimed ahead for each slot.
    private func queue(_ shares: [QueueShare] = [QueueShare("default")], slots: Int = 2) -> LocalQueue {
        var queue = LocalQueue(slots: slots)
        for (index, share) in shares.enumerated() {
            queue.add(share)
            queue.members[index].lease.hold(until: now + .seconds(60))
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

    /// Ends one operation and returns the one that starts next.
    private func end(_ operation: HeldOperation?, _ queue: inout LocalQueue) throws -> HeldOperation? {
        try queue.end(#require(operation), .finished(result: []), ranFor: .microseconds(900), .now)
        queue.fill(now)
        return queue.takeLine().first
    }

    @Test("Waiting operations borrow all slots of a claim at once, and give them back when none waits")
    func lends() throws {
        var queue = queue()
        let asked = try exchange(&queue)
        #expect(asked.slots == 2 && queue.slots.parts[0].claiming == 2)
        queue.take(claimed(1...4), 0, context: .none)
        let running = queue.runAll(now)
        #expect(running.map(\.fence) == [1, 2])
        #expect(queue.slots.parts[0].borrowed == 2 && queue.slots.free == 0)
        let third = try end(running[0], &queue)
        let fourth = try end(running[1], &queue)
        #expect([third?.fence, fourth?.fence] == [3, 4])
        #expect(try end(third, &queue) == nil)
        #expect(
            queue.slots.parts[0].running == 1 && queue.slots.parts[0].borrowed == 1
                && queue.slots.parts[0].reserved == 0
        )
        // The answer arrives while one of two slots is still used.
        queue.finish(asked, 0)
        queue.accept(Claim(status: .ok, operations: claimed(5...6)), 0, of: asked, context: .none, now)
        #expect(queue.slots.parts[0].borrowed == 0)
        let next = queue.runAll(now)
        #expect(next.map(\.fence) == [5])
        #expect(try end(fourth, &queue)?.fence == 6)
    }

    @Test("A borrowed slot goes back to the claim when any body ends and nothing waits")
    func givenBack() throws {
        var queue = queue()
        queue.take(claimed(1...1), 0, context: .none)
        let own = queue.runAll(now).first
        queue.distribute(now)
        queue.take(claimed(2...2), 0, context: .none)
        #expect(queue.runAll(now).map(\.fence) == [2])
        #expect(queue.slots.parts[0].reserved == 1 && queue.slots.parts[0].borrowed == 1)
        #expect(try end(own, &queue) == nil)
        #expect(queue.slots.parts[0].reserved == 1 && queue.slots.parts[0].borrowed == 0)
    }

    @Test("Long operations, or those of unknown duration, borrow no slot")
    func long() throws {
        for duration in [nil, Duration.milliseconds(20)] {
            var queue = queue()
            queue.members[0].pace.forget()
            if let duration { for _ in 0..<16 { queue.members[0].pace.note(duration) } }
            _ = try exchange(&queue)
            queue.take(claimed(1...2), 0, context: .none)
            #expect(queue.runAll(now).isEmpty)
        }
    }

    @Test("Borrowed slots count as claimed ahead, so no more operations are held")
    func countAsAhead() throws {
        var queue = queue()
        #expect(queue.members[0].pace.prefetch(slots: 2) == 4)
        let first = try exchange(&queue)
        #expect(first.capacity == 6)
        queue.finish(first, 0)
        queue.distribute(now)
        queue.take(claimed(1...3), 0, context: .none)
        _ = queue.runAll(now)
        #expect(queue.slots.parts[0].borrowed == 2 && queue.members[0].waiting.count == 1)
        let second = try exchange(&queue)
        #expect(second.slots == 2 && second.ahead == 1)
    }

    @Test("A queue borrows only from its own claims; slots reserved for other queues stay untouched")
    func reserves() throws {
        var queue = queue([QueueShare("a"), QueueShare("b", reservedSlots: 1)])
        queue.members[1].supply.runDry()
        _ = try exchange(&queue)
        #expect(queue.slots.parts[0].claiming == 1)
        queue.take(claimed(1...2), 0, context: .none)
        #expect(queue.runAll(now).map(\.fence) == [1])
        queue.take(claimed(11...12), 1, context: .none)
        #expect(queue.runAll(now).map(\.fence) == [11])
        #expect(queue.slots.running == 2)
    }

    @Test("Borrowed slots belong to the running operations once no claim will fill them")
    func revoked() {
        var queue = queue()
        _ = queue.distribute(now)
        queue.take(claimed(1...2), 0, context: .none)
        _ = queue.runAll(now)
        #expect(queue.slots.parts[0].reserved == 2 && queue.slots.parts[0].borrowed == 2)
        queue.accept(Claim(status: .ok), 0, context: .none, now)
        #expect(queue.slots.parts[0].borrowed == 0 && queue.slots.parts[0].used == 2)
        #expect(queue.slots.free == 0)
    }

    @Test("No slot is ever used twice, whatever the order of events", arguments: 1...20 as ClosedRange<UInt64>)
    func anyOrder(seed: UInt64) throws {
        var storm = Storm(seed: seed, queue: queue([QueueShare("a"), QueueShare("b", reservedSlots: 200)], slots: 600))
        for _ in 0..<2000 { storm.step(now) }
        storm.calmDown(now)
        #expect(storm.mostRunning == 600 && storm.hasBorrowed)
        #expect(storm.faults.isEmpty, "\(storm.faults)")
        for (member, part) in zip(storm.queue.members, storm.queue.slots.parts) {
            #expect(part.running == 0 && part.claiming == 0 && part.borrowed == 0)
            #expect(member.waiting.isEmpty && member.lease.held.isEmpty)
        }
        #expect(storm.ended == storm.handedOut)
    }
}

/// A worker of two queues under random events, with a check after each step
private struct Storm {
    var queue: LocalQueue
    private(set) var mostRunning = 0
    private(set) var hasBorrowed = false
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
        case 3 where !isOver: _ = queue.wokeUp(Int.random(in: 0...1, using: &generator), now)
        default: for _ in 0..<Int.random(in: 1...300, using: &generator) { endOne(now) }
        }
        queue.fill(now)
        running += queue.takeLine()
        check()
    }

    /// Ends everything that is here. No new operation arrives.
    mutating func calmDown(_ now: ContinuousClock.Instant) {
        isOver = true
        for _ in 0..<10_000
        where !calls.isEmpty || !running.isEmpty || (0...1).contains(where: { queue.hasCall($0, now) }) {
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
        queue.accept(claim, index, of: exchange, context: .none, now)
    }

    private mutating func endOne(_ now: ContinuousClock.Instant) {
        guard !running.isEmpty else { return }
        let operation = running.remove(at: Int.random(in: 0..<running.count, using: &generator))
        // A rare long operation stops borrowing for a while.
        let isLong = Int.random(in: 0..<500, using: &generator) == 0
        queue.end(operation, .finished(result: []), ranFor: isLong ? .milliseconds(30) : .microseconds(20), .now)
        ended += 1
    }

    private mutating func check() {
        mostRunning = max(mostRunning, running.count)
        if queue.slots.running != running.count { faults.insert("the running are counted wrongly") }
        if queue.slots.running > queue.slots.count { faults.insert("more run than there are slots") }
        if queue.slots.free < 0 { faults.insert("more slots are used than there are") }
        for (member, part) in zip(queue.members, queue.slots.parts) {
            hasBorrowed = hasBorrowed || part.borrowed > 0
            if part.borrowed < 0 || part.borrowed > part.reserved + part.claiming {
                faults.insert("borrowed what is not there")
            }
            if part.borrowed > part.running { faults.insert("borrowed more than run") }
            mostAhead = max(mostAhead, member.pace.prefetch(slots: queue.slots.count))
            let ahead = member.waiting.count + part.borrowed + part.ahead
            if ahead > mostAhead { faults.insert("more claimed ahead than is allowed") }
        }
    }
}
