import Operations

/// Which calls of a queue are under way, and whether another one may go out beside them. A pure value.
///
/// One call is worked on by the server while another one travels there and a third one is read here. Each millisecond that a call
/// travels allows for one more.
struct Calls: Sendable {
    enum UnderWay: Sendable, Equatable {
        case nothing
        /// So many, beside which others may go out.
        case several(Int)
        /// One exchange that goes alone: it measures the round trip, or repeats what was not answered.
        case alone
        /// The question what this worker owns, which goes alone.
        case question
    }

    static let fewestAtOnce = 3
    static let mostAtOnce = 8
    /// A further call goes out only with so much in it: less is gathered until a call under way is answered.
    static let leastInFurther = Defaults.batch / 2
    static let leastTrackedInFurther = Defaults.trackedBatch / 2

    private(set) var underWay = UnderWay.nothing
    /// How many may be under way.
    private(set) var atOnce = Calls.fewestAtOnce
    /// The shortest round trip since the last call that went alone, that one included.
    private var shortest: Duration?
    /// The next exchange goes alone, to measure the round trip.
    private var probeIsDue = false
    /// The number of the last exchange that was sent.
    private(set) var lastSent = 0
    /// The highest number that was answered.
    private var lastAnswered = 0

    @inline(__always)
    var isIdle: Bool { underWay == .nothing }

    /// True if another call may go out beside those under way.
    @inline(__always)
    var allowFurther: Bool {
        guard case .several(let count) = underWay else { return false }
        return count < atOnce && !probeIsDue
    }

    // MARK: Sending

    /// An exchange goes out.
    ///
    /// - Returns: its number, and whether it measures the round trip.
    mutating func send(isRepeat: Bool) -> (number: Int, isProbe: Bool) {
        lastSent += 1
        switch underWay {
        case .several(let count): underWay = .several(count + 1)
        default: underWay = isRepeat || probeIsDue ? .alone : .several(1)
        }
        return (lastSent, probeIsDue)
    }

    /// The question what this worker owns goes out.
    mutating func ask() { underWay = .question }

    /// A call is over, whatever its outcome.
    mutating func end(wasProbe: Bool) {
        if case .several(let count) = underWay, count > 1 {
            underWay = .several(count - 1)
        } else {
            underWay = .nothing
        }
        if wasProbe { probeIsDue = false }
    }

    // MARK: Answers

    /// An exchange was answered.
    ///
    /// - Returns: true if its answer is the latest: what an earlier one says about work is old.
    mutating func isNews(_ number: Int) -> Bool {
        guard number > lastAnswered else { return false }
        lastAnswered = number
        return true
    }

    /// Notes how long a call took. It keeps the server busy for about a millisecond; the rest is the round trip.
    ///
    /// - Parameter wasProbe: no other call was under way, so it measures the round trip alone.
    mutating func note(roundTrip: Duration, wasProbe: Bool) {
        shortest = wasProbe ? roundTrip : min(roundTrip, shortest ?? roundTrip)
        let travel = Int((shortest ?? .zero) / .milliseconds(1)) - 1
        atOnce = min(Self.mostAtOnce, Self.fewestAtOnce + max(0, travel))
    }

    /// The round trip may have become longer, which calls that wait for each other cannot measure: the next exchange goes alone.
    mutating func probe() { probeIsDue = shortest != nil }
}
