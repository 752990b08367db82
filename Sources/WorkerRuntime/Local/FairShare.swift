/// Decides which queue gets the next slot. A pure value.
///
/// Slots to claim for rotate by the weights of the queues. A slot for which an operation waits goes to the queue that
/// uses less of its part of the slots. Between equals, it goes to the queue whose last turn is longer ago.
struct FairShare: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The use that a queue has for a slot.
    enum Wish: Sendable {
        case nothing
        /// Start an operation that waits here.
        case start
        /// Claim. Very short operations are claimed ahead, many at a time, so a claim for a single slot would bring
        /// few. A queue with such operations claims in this way only if it had no turn for a while.
        case claim(isShort: Bool)
    }

    /// The use of a slot.
    enum Turn: Sendable, Equatable {
        /// The queue of this index starts an operation.
        case start(Int)
        /// The queue of this index claims.
        case claim(Int)
    }

    private struct Part: Sendable {
        let weight: Int
        /// The queue's place in the rotation.
        var credit = 0
        /// When the queue last got a slot, to start an operation or to claim.
        var lastTurn: Instant?
        /// When the queue last started an operation.
        var lastStart: Instant?
    }

    /// A queue without a turn for this long goes before other queues with waiting operations. Operations claimed ahead
    /// are given back if no queue has started an operation for this long.
    static let stall: Duration = .milliseconds(100)
    /// Operations claimed ahead are also given back if their own queue has started no operation for this long while
    /// other queues have. One second would be too short: a thousand queues with turns of a hundred starts may need
    /// longer for one round.
    static let longStall: Duration = .seconds(30)
    private static let longestStreak = 100

    private var parts: [Part] = []
    private var greatestWeight = 1
    /// The number of operations started so far.
    private(set) var startCount = 0
    /// The queue that started operations last, and how many of them one after the other.
    private var streak: (queue: Int?, count: Int) = (nil, 0)
    private var lastStart: Instant?

    /// Adds a queue.
    mutating func add(weight: Int) {
        parts.append(Part(weight: weight))
        greatestWeight = max(greatestWeight, weight)
    }

    // MARK: Claiming

    /// Chooses the queue that claims for a free slot, by smooth weighted rotation.
    ///
    /// - Parameter mayClaim: true if the queue of this index has work and may use the slot.
    /// - Returns: nil if no queue may claim.
    mutating func rotate(_ mayClaim: (Int) -> Bool) -> Int? {
        var best: Int?
        var total = 0
        for index in parts.indices where mayClaim(index) {
            parts[index].credit += parts[index].weight
            total += parts[index].weight
            if best.map({ parts[index].credit > parts[$0].credit }) ?? true { best = index }
        }
        if let best { parts[best].credit -= total }
        return best
    }

    /// Notes that a queue has got a slot to claim for.
    mutating func claims(_ index: Int, _ now: Instant) { parts[index].lastTurn = now }

    // MARK: Starting

    /// The queue that started operations last and may continue.
    ///
    /// Very short operations of one queue start one after the other, so that many of them end together and are reported
    /// in one call. The limit is a hundred, or less beside queues of greater weight.
    @inline(__always)
    var streakQueue: Int? {
        guard let index = streak.queue, streak.count < longestStreak(index) else { return nil }
        return index
    }

    private func longestStreak(_ index: Int) -> Int {
        max(1, Self.longestStreak * parts[index].weight / greatestWeight)
    }

    /// Chooses the use of a slot while operations wait: to start one of them, or to claim for another queue. Such a
    /// claim keeps operations claimed ahead from taking the other queue's part of the slots. The other queue must use
    /// less of its part, or as little and have had no turn for a while.
    ///
    /// - Parameters:
    ///   - slots: the slots that the queues use.
    ///   - wish: returns the use that the queue of an index has.
    /// - Returns: nil if no waiting operation may start.
    func next(_ slots: Slots, _ now: Instant, _ wish: (Int) -> Wish) -> Turn? {
        var starting: Int?
        var claiming: Int?
        for index in parts.indices {
            switch wish(index) {
            case .nothing: continue
            case .start: if starting.map({ isBefore(index, $0, slots) }) ?? true { starting = index }
            case .claim(let isShort):
                if isShort, !hadNoTurn(index, now) { continue }
                if claiming.map({ isBefore(index, $0, slots) }) ?? true { claiming = index }
            }
        }
        guard let starting else { return nil }
        if let claiming, isOwed(claiming, before: starting, slots, now) { return .claim(claiming) }
        return .start(starting)
    }

    /// Starts a streak: this queue may start operations up to the longest streak before another queue is chosen.
    mutating func beginStreak(_ index: Int) { streak = (index, 0) }

    /// Notes that an operation of a queue has started.
    mutating func starts(_ index: Int, _ now: Instant) {
        if streak.queue == index { streak.count += 1 }
        startCount += 1
        parts[index].lastTurn = now
        parts[index].lastStart = now
        lastStart = now
    }

    /// When the queue gives back operations claimed ahead, unless one starts before; nil = none has started yet.
    func stallsAt(_ index: Int) -> Instant? {
        .earlier(lastStart.map { $0 + Self.stall }, parts[index].lastStart.map { $0 + Self.longStall })
    }

    // MARK: Comparing

    /// The used slots of a queue, relative to its weight.
    private func load(_ index: Int, _ slots: Slots) -> Double {
        Double(slots.parts[index].used) / Double(parts[index].weight)
    }

    private func isBefore(_ one: Int, _ other: Int, _ slots: Slots) -> Bool {
        let (load, otherLoad) = (load(one, slots), load(other, slots))
        if load != otherLoad { return load < otherLoad }
        guard let turn = parts[one].lastTurn, let otherTurn = parts[other].lastTurn else {
            return parts[one].lastTurn == nil && parts[other].lastTurn != nil
        }
        return turn < otherTurn
    }

    private func isOwed(_ other: Int, before first: Int, _ slots: Slots, _ now: Instant) -> Bool {
        let (load, loadOfFirst) = (load(other, slots), load(first, slots))
        if load != loadOfFirst { return load < loadOfFirst }
        return hadNoTurn(other, now) && isBefore(other, first, slots)
    }

    private func hadNoTurn(_ index: Int, _ now: Instant) -> Bool {
        parts[index].lastTurn.map { $0 + Self.stall <= now } ?? true
    }
}

extension ContinuousClock.Instant {
    /// Returns the earlier of two instants; each may be nil.
    static func earlier(_ one: Self?, _ other: Self?) -> Self? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }
}
