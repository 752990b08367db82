import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A held-back queue beside a busy one", .timeLimit(.minutes(60)))
struct LimitedSharingTests {
    private typealias Instant = ContinuousClock.Instant
    private let now = Instant.now

    /// Returns two queues with valid leases: "held" and "busy".
    private func queue(_ weights: String = "held:2,busy", slots: Int) throws -> LocalQueue {
        var queue = LocalQueue(slots: slots)
        guard case .named(let shares) = try QueueSelection(parsing: weights) else { return queue }
        for share in shares { queue.add(share) }
        for index in queue.members.indices { queue.members[index].lease.hold(until: now + .seconds(60)) }
        return queue
    }

    private func claimed(_ fence: Int64, linked: Bool = false) -> ClaimedOperation {
        ClaimedOperation(fence: fence, header: OperationHeader(id: OperationID(), linked: linked), envelope: [])
    }

    /// Sends the next claim of a queue and answers it.
    private func claim(
        _ queue: inout LocalQueue,
        _ index: Int,
        _ answer: Claim,
        _ now: Instant
    ) throws -> LocalQueue.Exchange {
        guard case .exchange(let exchange) = queue.nextStep(index, now) else { throw NothingIsSent() }
        queue.finish(exchange, index)
        queue.accept(answer, index, of: exchange, context: .none, now)
        queue.fill(now)
        return exchange
    }

    private struct NothingIsSent: Error {}

    @Test(
        "A held-back queue claims together with the end that makes room, in the freed slot",
        arguments: [false, true]
    )
    func keepsItsSlot(linked: Bool) throws {
        var queue = try queue(slots: 3)
        queue.fill(now)
        let status: Claim.Status = linked ? .ok : .limited
        _ = try claim(&queue, 0, Claim(status: status, operations: [claimed(1, linked: linked)]), now)
        _ = try claim(&queue, 1, Claim(status: .ok, operations: [claimed(1), claimed(2)], more: true), now)
        let running = queue.takeLine()
        #expect(running.map(\.queue) == [0, 1, 1])
        queue.end(running[0], .finished(result: []), ranFor: .milliseconds(20), now)
        queue.fill(now)
        #expect(queue.slots.parts.map(\.reserved) == [1, 0])
        guard case .exchange(let exchange) = queue.nextStep(0, now) else { throw NothingIsSent() }
        #expect(exchange.ended.count == 1 && exchange.slots == 1)
        // Nothing was ready: the slot goes to the other queue.
        queue.finish(exchange, 0)
        queue.confirm(exchange.ended, 0)
        queue.accept(Claim(status: status), 0, of: exchange, context: .none, now)
        queue.fill(now)
        #expect(queue.slots.parts.map(\.reserved) == [0, 1])
    }

    @Test("A held-back queue takes turns for slots beyond its share")
    func takesTurns() throws {
        var queue = try queue("held,busy:3", slots: 2)
        queue.fill(now)
        queue.slots.revoke(1)
        queue.slots.reserve(0)
        queue.slots.reserve(0)
        _ = try claim(&queue, 0, Claim(status: .limited, operations: [claimed(1), claimed(2)]), now)
        let running = queue.takeLine()
        #expect(running.map(\.queue) == [0, 0])
        // One operation still runs, which is the whole part of this queue. So the rotation decides about the slot.
        queue.end(running[0], .finished(result: []), ranFor: .milliseconds(20), now)
        #expect(queue.slots.parts[0].reserved == 0 && queue.members[0].supply.state == .ready)
    }

    @Test("A held-back queue is checked every 100 to 250 ms while a slot is free that another queue would take")
    func isLookedAt() throws {
        var queue = try queue("held,busy", slots: 1)
        queue.fill(now)
        _ = try claim(&queue, 0, Claim(status: .ok), now)
        _ = try claim(&queue, 1, Claim(status: .ok, operations: [claimed(1)], more: true), now)
        var asked: [Int] = []
        for time in stride(from: 10, through: 600, by: 10) {
            let now = now + .milliseconds(time)
            for operation in queue.takeLine() {
                queue.end(operation, .finished(result: []), ranFor: .milliseconds(10), now)
            }
            queue.fill(now)
            if queue.slots.parts[0].reserved > 0 {
                asked.append(time)
                _ = try claim(&queue, 0, Claim(status: .ok), now)
            }
            _ = try claim(&queue, 1, Claim(status: .ok, operations: [claimed(Int64(time))], more: true), now)
        }
        #expect(asked.count >= 2 && zip([0] + asked, asked).allSatisfy { (100...250).contains($1 - $0) }, "\(asked)")
    }

    enum Holder: String, CaseIterable {
        case concurrency, keyConcurrency, chain
    }

    @Test("A held-back queue runs one at a time while the busy one uses the other slots", arguments: Holder.allCases)
    func sharesSlots(holder: Holder) async throws {
        let ofBusy = try await busyOnes(beside: holder, "held:2,busy", slots: 3)
        // About two busy operations run beside each held one. The limit allows three times as many.
        #expect(ofBusy <= 6 * Self.count, "\(ofBusy) of the busy queue ran beside \(Self.count) of the other one")
    }

    @Test("A held-back queue takes turns with the busy one if both share one slot", arguments: Holder.allCases)
    func takesTurnsAtOneSlot(holder: Holder) async throws {
        let ofBusy = try await busyOnes(beside: holder, "held,busy", slots: 1)
        #expect(ofBusy >= Self.count / 3, "\(ofBusy) of the busy queue ran beside \(Self.count) of the other one")
    }

    @Test("A limit of two keeps both places filled, even if both operations end during one call")
    func twoPlaces() throws {
        var queue = try queue("held:2,busy", slots: 3)
        queue.fill(now)
        _ = try claim(&queue, 0, Claim(status: .limited, operations: [claimed(1), claimed(2)]), now)
        _ = try claim(&queue, 1, Claim(status: .ok, operations: [claimed(1)], more: true), now)
        let running = queue.takeLine()
        #expect(running.map(\.queue) == [0, 0, 1])
        queue.end(running[0], .finished(result: []), ranFor: .milliseconds(20), now)
        queue.fill(now)
        guard case .exchange(let first) = queue.nextStep(0, now) else { throw NothingIsSent() }
        queue.end(running[1], .finished(result: []), ranFor: .milliseconds(20), now)
        queue.fill(now)
        // Redis answered before the second end.
        queue.finish(first, 0)
        queue.confirm(first.ended, 0)
        queue.accept(Claim(status: .limited, operations: [claimed(3)]), 0, of: first, context: .none, now)
        queue.fill(now)
        guard case .exchange(let second) = queue.nextStep(0, now) else { throw NothingIsSent() }
        #expect(second.ended.count == 1 && second.slots == 1)
    }

    @Test("An operation whose reports are still in flight keeps its slot")
    func reports() throws {
        var queue = try queue(slots: 3)
        queue.fill(now)
        _ = try claim(&queue, 0, Claim(status: .limited, operations: [claimed(1)]), now)
        _ = try claim(&queue, 1, Claim(status: .ok, operations: [claimed(1), claimed(2)], more: true), now)
        let operation = queue.takeLine()[0]
        queue.end(operation, nil, ranFor: .milliseconds(20), now)
        queue.fill(now)
        #expect(queue.slots.free == 0 && queue.slots.parts[1].reserved == 0)
        queue.endReported(operation, .finished(result: []), now)
        queue.fill(now)
        #expect(queue.slots.parts.map(\.reserved) == [1, 0])
    }

    @Test("Slots of undelivered reports are freed when the lease ends")
    func reportsInOutage() throws {
        var queue = try queue(slots: 3)
        queue.fill(now)
        _ = try claim(&queue, 0, Claim(status: .limited, operations: [claimed(1)]), now)
        let operation = queue.takeLine()[0]
        queue.end(operation, nil, ranFor: .milliseconds(20), now)
        let later = now + .seconds(61)
        queue.releaseSlotsOfReports(now)
        #expect(queue.slots.parts[0].running == 1)
        queue.releaseSlotsOfReports(later)
        #expect(queue.slots.parts[0].running == 0)
        queue.endReported(operation, .finished(result: []), later)
        #expect(queue.slots.parts[0].running == 0 && queue.members[0].outbox.ended.count == 1)
    }

    private static let count = 40

    /// Runs `count` operations of the held queue. Returns how many of the busy queue ran meanwhile.
    private func busyOnes(beside holder: Holder, _ weights: String, slots: Int) async throws -> Int {
        let order = Mutex<[String]>([])
        let harness = Harness(
            // Heartbeats are so rare that none affects this test.
            configuration: .quick(weights, slots: slots, lease: .seconds(600)),
            handlers: [
                OperationHandler(name: "note") { _, context in
                    await takeTime(.milliseconds(5))
                    order.withLock { $0.append(context.queue) }
                    return []
                }
            ]
        )
        let limits: [QueueLimit] =
            switch holder {
            case .concurrency: [.concurrency(1)]
            case .keyConcurrency: [.keyConcurrency(1, of: nil)]
            case .chain: []
            }
        if !limits.isEmpty { _ = try await harness.broker.setLimits(limits, by: "test", queue: "held") }
        var last: OperationID?
        for _ in 0..<Self.count {
            let links: OperationLinks? =
                switch holder {
                case .concurrency: nil
                case .keyConcurrency: OperationLinks(limitKey: "all")
                case .chain: last.flatMap { OperationLinks(after: [OperationDependency($0)]) }
                }
            let operation = NewOperation(envelope: OperationEnvelope(name: "note").encoded(), links: links)
            _ = try await harness.broker.enqueue([operation], queue: "held")
            last = operation.id
        }
        for _ in 0..<20 * Self.count { try await harness.broker.put("note", queue: "busy") }
        harness.start()
        #expect(await comesTrue { order.withLock { $0.count { $0 == "held" } } == Self.count })
        try await harness.stop()
        let all = order.withLock { $0 }
        let end = all.lastIndex(of: "held") ?? all.endIndex
        return all[..<end].count { $0 == "busy" }
    }
}
