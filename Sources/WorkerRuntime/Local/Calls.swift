import Operations

/// The calls of a queue that are in flight, and whether another one may be sent beside them. A pure value.
///
/// The server works on one call while another one travels there and the worker reads a third one. Each millisecond of
/// travel allows one call more.
struct Calls: Sendable {
    enum UnderWay: Sendable, Equatable {
        case nothing
        /// Exchanges beside which others may be sent, and their number.
        case several(Int)
        /// One exchange that runs alone: it measures the round trip, or repeats unanswered ends.
        case alone
        /// One reconcile call, which runs alone and asks what this worker owns.
        case question
    }

    static let fewestAtOnce = 3
    static let mostAtOnce = 8
    /// A further call has at least this many operations. Fewer wait until a call in flight is answered.
    static let leastInFurther = SluiceDefaults.batch / 2
    static let leastTrackedInFurther = SluiceDefaults.trackedBatch / 2

    private(set) var underWay = UnderWay.nothing
    /// The maximum number of calls in flight.
    private(set) var atOnce = Calls.fewestAtOnce
    /// The shortest round trip since the last call that ran alone, including that call.
    private var shortest: Duration?
    /// True if the next exchange has to run alone, to measure the round trip.
    private var probeIsDue = false
    /// The number of the last exchange that was sent.
    private(set) var lastSent = 0
    /// The highest number of an answered exchange.
    private var lastAnswered = 0

    @inline(__always)
    var isIdle: Bool { underWay == .nothing }

    /// True if another call may be sent beside those in flight.
    @inline(__always)
    var allowFurther: Bool {
        guard case .several(let count) = underWay else { return false }
        return count < atOnce && !probeIsDue
    }

    // MARK: Sending

    /// Notes that an exchange is sent.
    ///
    /// - Returns: the number of the exchange, and whether it measures the round trip.
    mutating func send(isRepeat: Bool) -> (number: Int, isProbe: Bool) {
        lastSent += 1
        switch underWay {
        case .several(let count): underWay = .several(count + 1)
        default: underWay = isRepeat || probeIsDue ? .alone : .several(1)
        }
        return (lastSent, probeIsDue)
    }

    /// Notes that a reconcile call is sent.
    mutating func ask() { underWay = .question }

    /// Notes that a call has ended, with any outcome.
    mutating func end(wasProbe: Bool) {
        if case .several(let count) = underWay, count > 1 {
            underWay = .several(count - 1)
        } else {
            underWay = .nothing
        }
        if wasProbe { probeIsDue = false }
    }

    // MARK: Answers

    /// Notes that an exchange was answered.
    ///
    /// - Returns: true if the answer is the latest one. An earlier answer is out of date.
    mutating func isNews(_ number: Int) -> Bool {
        guard number > lastAnswered else { return false }
        lastAnswered = number
        return true
    }

    /// Notes the duration of a call. The call keeps the server busy for about a millisecond; the rest is the round
    /// trip.
    ///
    /// - Parameter wasProbe: true if no other call was in flight, so the duration measures the round trip alone.
    mutating func note(roundTrip: Duration, wasProbe: Bool) {
        shortest = wasProbe ? roundTrip : min(roundTrip, shortest ?? roundTrip)
        let travel = Int((shortest ?? .zero) / .milliseconds(1)) - 1
        atOnce = min(Self.mostAtOnce, Self.fewestAtOnce + max(0, travel))
    }

    /// Makes the next exchange run alone, because the round trip may have become longer. Calls that wait for each other
    /// cannot measure it.
    mutating func probe() { probeIsDue = shortest != nil }
}
