import Testing

@testable import WorkerRuntime

@Suite("Fair shares of a worker's slots", .timeLimit(.minutes(60)))
struct FairShareTests {
    private let now = ContinuousClock.now

    /// Returns shares of queues with these weights, and `count` slots.
    private func share(_ weights: [Int], slots count: Int = 10) -> (FairShare, Slots) {
        var share = FairShare()
        var slots = Slots(count: count)
        for weight in weights {
            share.add(weight: weight)
            slots.add(own: 0)
        }
        return (share, slots)
    }

    @Test("Turns rotate by weight among the queues that may claim")
    func rotation() {
        var (share, _) = share([3, 1])
        var turns = (0..<8).map { _ in share.rotate { _ in true } }
        #expect(turns == [0, 0, 1, 0, 0, 0, 1, 0])
        turns = (0..<3).map { _ in share.rotate { $0 == 1 } }
        #expect(turns == [1, 1, 1])
        #expect(share.rotate { _ in false } == nil)
    }

    @Test("The queue that uses less of its share starts next; with equal use, the one whose turn is longer ago")
    func starting() {
        var (share, slots) = share([2, 1, 1])
        func next(_ wishes: FairShare.Wish...) -> FairShare.Turn? { share.next(slots, now) { wishes[$0] } }
        #expect(next(.start, .start, .start) == .start(0))
        share.starts(0, now)
        #expect(next(.start, .start, .start) == .start(1))
        share.starts(1, now - .seconds(1))
        #expect(next(.start, .start, .nothing) == .start(1))
        slots.start(0)
        slots.start(1)
        // 1 of a weight of 2 is less than 1 of a weight of 1.
        #expect(next(.start, .start, .nothing) == .start(0))
        #expect(next(.nothing, .nothing, .nothing) == nil)
    }

    @Test("A queue that uses less claims before a busier one starts; if nothing could start, no queue claims")
    func claiming() {
        var (share, slots) = share([1, 1])
        share.starts(0, now)
        share.claims(1, now)
        func next(after pause: Duration, isShort: Bool = false) -> FairShare.Turn? {
            share.next(slots, now + pause) { $0 == 0 ? .start : .claim(isShort: isShort) }
        }
        #expect(next(after: .zero) == .start(0))
        slots.start(0)
        #expect(next(after: .zero) == .claim(1))
        #expect(next(after: .milliseconds(99), isShort: true) == .start(0))
        #expect(next(after: .milliseconds(100), isShort: true) == .claim(1))
        #expect(share.next(slots, now) { _ in .claim(isShort: false) } == nil)
    }

    @Test("A queue with equal use claims if its last turn is 100 ms ago and longer ago than the other's")
    func owed() {
        var (share, slots) = share([1, 1])
        func next(after pause: Duration) -> FairShare.Turn? {
            share.next(slots, now + pause) { $0 == 0 ? .start : .claim(isShort: false) }
        }
        share.claims(1, now)
        share.starts(0, now + .milliseconds(1))
        slots.start(0)
        slots.reserve(1)
        #expect(next(after: .milliseconds(99)) == .start(0))
        #expect(next(after: .milliseconds(100)) == .claim(1))
        share.claims(1, now + .milliseconds(2))
        #expect(next(after: .seconds(1)) == .start(0))
    }

    @Test("A queue may start a hundred in a row, or its weighted part of them beside a greater weight")
    func streaks() {
        for (weights, length) in [([1, 1], 100), ([1, 4], 25), ([1, 1000], 1)] {
            var (share, _) = share(weights)
            #expect(share.streakQueue == nil)
            share.beginStreak(0)
            var count = 0
            while share.streakQueue == 0 {
                share.starts(0, now)
                count += 1
            }
            #expect(count == length)
        }
    }

    @Test("A stall is due 100 ms after the last start of any queue, or 30 s after the queue's own last start")
    func stalls() {
        var (share, _) = share([1, 1])
        #expect(share.stallsAt(0) == nil)
        share.starts(0, now)
        #expect(share.stallsAt(0) == now + .milliseconds(100))
        share.starts(1, now + .milliseconds(29_950))
        #expect(share.stallsAt(0) == now + .seconds(30))
        #expect(share.stallsAt(1) == now + .milliseconds(30_050))
    }
}
