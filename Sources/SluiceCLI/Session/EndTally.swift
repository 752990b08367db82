import Operations
import Synchronization

/// How far operations are that are waited for: the last known state of each.
final class EndTally: Sendable {
    private struct Part {
        var targets: [Location]
        /// Empty until they were read for the first time; nil = no such operation any more.
        var states: [OperationState?] = []
    }

    let total: Int
    private let parts: Mutex<[Part]>

    /// - Parameter parts: the operations, as they are waited for together.
    init(_ parts: [[Location]]) {
        total = parts.reduce(0) { $0 + $1.count }
        self.parts = Mutex(parts.map { Part(targets: $0) })
    }

    /// Takes in the states of a part, in order.
    func note(_ states: [OperationState?], of part: Int) { parts.withLock { $0[part].states = states } }

    /// How many have ended, and the first of the others.
    func read(openLimit: Int) -> (ended: Int, open: [Location]) {
        parts.withLock { parts in
            var ended = 0
            var open: [Location] = []
            for part in parts {
                for (index, target) in part.targets.enumerated() {
                    if part.states.indices.contains(index), part.states[index]?.isTerminal ?? true {
                        ended += 1
                    } else if open.count < openLimit {
                        open.append(target)
                    }
                }
            }
            return (ended, open)
        }
    }
}

/// How fast operations end, over the last half minute.
package struct EndRate: Sendable {
    private static let window: Duration = .seconds(30)
    private var samples: [(at: Duration, ended: Int)] = []

    package init() {}

    /// - Parameter instant: on a clock that does not jump.
    package mutating func add(ended: Int, at instant: Duration) {
        samples.append((instant, ended))
        while samples.count > 2, samples[1].at <= instant - Self.window { samples.removeFirst() }
    }

    /// nil = nothing has ended while it was looked at.
    package var perSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.at > first.at, last.ended > first.ended else {
            return nil
        }
        return Double(last.ended - first.ended) / ((last.at - first.at) / .seconds(1))
    }

    /// The time until so many more have ended, at this rate.
    package func time(for count: Int) -> Duration? { perSecond.map { .seconds(Double(count) / $0) } }
}
