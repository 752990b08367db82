import Operations
import Synchronization

/// Numbers the enqueue calls of this process, so that a repeated call gets the answer of its first try.
///
/// Redis keeps each answer until this process has received it. Each call carries the lowest number without an answer.
/// Redis then deletes the answers of all lower numbers.
final class CallLedger: Sendable {
    private struct Numbers {
        var last = 0
        /// Ascending and short: the oldest calls are usually answered first.
        var unanswered: [Int] = []

        mutating func begin() -> (number: Int, floor: Int) {
            last += 1
            unanswered.append(last)
            return (last, unanswered[0])
        }

        mutating func end(_ number: Int) {
            if let index = unanswered.firstIndex(of: number) { unanswered.remove(at: index) }
        }
    }

    /// A random id. Each run of a process counts as a producer of its own.
    let producer = OperationID().description
    private let queues = Mutex<[String: Numbers]>([:])

    /// Begins a call on a queue.
    ///
    /// - Returns: the number of the call, and the lowest number that has no answer yet.
    func begin(_ queue: String) -> (number: Int, floor: Int) {
        queues.withLock { $0[queue, default: Numbers()].begin() }
    }

    /// Ends a call that was answered or given up.
    func end(_ number: Int, _ queue: String) { queues.withLock { $0[queue]?.end(number) } }
}
