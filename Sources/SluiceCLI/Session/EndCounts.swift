import Operations
import Synchronization

/// The last known state of each operation that a command waits for.
final class EndCounts: Sendable {
    private struct Part {
        var targets: [Location]
        /// The states, empty before the first read. A nil element is an operation that no longer exists.
        var states: [OperationState?] = []
    }

    let total: Int
    private let parts: Mutex<[Part]>

    /// Starts without known states.
    ///
    /// - Parameter parts: the operations, in the groups in which they are awaited.
    init(_ parts: [[Location]]) {
        total = parts.reduce(0) { $0 + $1.count }
        self.parts = Mutex(parts.map { Part(targets: $0) })
    }

    /// Stores the states of a part, in order.
    func note(_ states: [OperationState?], of part: Int) { parts.withLock { $0[part].states = states } }

    /// Returns the number of ended operations, and the first of the others.
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

/// The rate at which operations ended in the last half minute.
package struct EndRate: Sendable {
    private static let window: Duration = .seconds(30)
    private var samples: [(at: Duration, ended: Int)] = []

    package init() {}

    /// Adds a sample.
    ///
    /// - Parameter instant: the time of a monotonic clock.
    package mutating func add(ended: Int, at instant: Duration) {
        samples.append((instant, ended))
        while samples.count > 2, samples[1].at <= instant - Self.window { samples.removeFirst() }
    }

    /// The rate; nil if no operation has ended in the window.
    package var perSecond: Double? {
        guard let first = samples.first, let last = samples.last, last.at > first.at, last.ended > first.ended else {
            return nil
        }
        return Double(last.ended - first.ended) / ((last.at - first.at) / .seconds(1))
    }

    /// The time until `count` more operations have ended at this rate.
    package func time(for count: Int) -> Duration? { perSecond.map { .seconds(Double(count) / $0) } }
}
