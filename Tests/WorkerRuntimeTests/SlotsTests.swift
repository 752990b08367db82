import BrokerModel
import Testing

@testable import WorkerRuntime

@Suite("A worker's slots", .timeLimit(.minutes(60)))
struct SlotsTests {
    /// Returns slots of several queues, each with the given number of its own.
    private func slots(_ count: Int, own: [Int] = [0]) -> Slots {
        var slots = Slots(count: count)
        for number in own { slots.add(own: number) }
        return slots
    }

    @Test("A slot is free, reserved, claimed for and used, one after the other")
    func life() {
        var slots = slots(2)
        slots.reserve(0)
        #expect(slots.free == 1 && slots.parts[0].reserved == 1)
        #expect(slots.claimReserved(0, atMost: 5) == 1)
        #expect(slots.free == 1 && slots.parts[0].reserved == 0 && slots.parts[0].claiming == 1)
        slots.endClaim(0, slots: 1, ahead: 0)
        #expect(slots.free == 2)
        slots.start(0)
        #expect(slots.free == 1 && slots.running == 1)
        slots.end(0, hasWaiting: false)
        #expect(slots.free == 2 && slots.running == 0)
    }

    @Test("A queue's own slots are reserved for it and for no other queue")
    func own() {
        var slots = slots(3, own: [2, 0])
        #expect(slots.kept == 2 && slots.mayUse(1))
        slots.start(1)
        #expect(!slots.mayUse(1) && slots.mayUse(0))
        #expect(slots.claimFree(1, atMost: 3) == 0)
        #expect(slots.claimFree(0, atMost: 3) == 2)
        #expect(slots.free == 0 && slots.kept == 0)
        slots.end(1, hasWaiting: false)
        #expect(slots.mayUse(0) && slots.mayUse(1))
    }

    @Test("A claim covers at most as many slots as the call may ask for")
    func limits() {
        var slots = slots(10)
        for _ in 0..<6 { slots.reserve(0) }
        #expect(slots.claimReserved(0, atMost: 4) == 4)
        #expect(slots.parts[0].reserved == 2)
        #expect(slots.claimFree(0, atMost: 3) == 3)
        #expect(slots.free == 1 && slots.parts[0].claiming == 7)
    }

    @Test("A slot that a claim will fill is borrowed if none is free, and other queues are not affected")
    func borrows() {
        var slots = slots(2, own: [0, 1])
        slots.reserve(0)
        #expect(!slots.mayUse(0) && slots.parts[0].mayBorrow)
        slots.start(0)
        #expect(slots.running == 1 && slots.free == 1 && slots.kept == 1)
        #expect(slots.parts[0].borrowed == 1 && !slots.parts[0].mayBorrow)
        #expect(slots.mayUse(1))
    }

    @Test("A borrowed slot goes back to the claim when a body ends and nothing waits")
    func givenBack() {
        var slots = slots(2)
        for _ in 0..<2 { slots.reserve(0) }
        for _ in 0..<2 { slots.start(0) }
        slots.end(0, hasWaiting: true)
        // The running body has borrowed one of the two slots.
        #expect(slots.parts[0].borrowed == 1 && slots.free == 0)
        slots.end(0, hasWaiting: false)
        #expect(slots.parts[0].borrowed == 0 && slots.parts[0].reserved == 2 && slots.free == 0)
    }

    @Test("A borrowed slot belongs to the operation once the claim ends or is revoked")
    func settled() {
        for isRevoked in [true, false] {
            var slots = slots(1)
            slots.reserve(0)
            slots.start(0)
            if isRevoked {
                slots.revoke(0)
            } else {
                slots.endClaim(0, slots: slots.claimReserved(0, atMost: 1), ahead: 0)
            }
            #expect(slots.parts[0].borrowed == 0 && slots.free == 0)
            slots.end(0, hasWaiting: false)
            #expect(slots.free == 1)
        }
    }

    @Test(
        "No slot is used twice, and the counts of the worker equal those of its queues",
        arguments: 1...20 as ClosedRange<UInt64>
    )
    func anyOrder(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var slots = slots(8, own: [0, 3, 1])
        var claims = [0, 0, 0]
        for _ in 0..<2000 {
            let index = Int.random(in: 0..<3, using: &generator)
            switch Int.random(in: 0..<7, using: &generator) {
            case 0 where slots.mayUse(index): slots.reserve(index)
            case 1: claims[index] += slots.claimReserved(index, atMost: 2)
            case 2: claims[index] += slots.claimFree(index, atMost: 2)
            case 3 where slots.mayUse(index) || slots.parts[index].mayBorrow: slots.start(index)
            case 4 where slots.parts[index].running > 0: slots.end(index, hasWaiting: .random(using: &generator))
            case 5:
                slots.endClaim(index, slots: claims[index], ahead: 0)
                claims[index] = 0
            case 6: slots.revoke(index)
            default: break
            }
            #expect(slots.free == 8 - slots.parts.reduce(0) { $0 + $1.used } && slots.free >= 0)
            #expect(slots.kept == slots.parts.reduce(0) { $0 + $1.unusedOwn } && slots.running <= 8)
            for part in slots.parts {
                #expect(part.borrowed >= 0 && part.borrowed <= min(part.running, part.reserved + part.claiming))
            }
        }
    }
}
