import Operations
import Synchronization

/// Numbers the enqueue calls of this process, so that Redis can answer a repeated one as it answered the first.
///
/// Redis keeps each answer until this process has received it. Each call carries the lowest number without an answer.
/// Redis then deletes the answers of all lower numbers.
final class CallLedger: Sendable {
    private struct Numbers {
        var last = 0
        /// Ascending. The oldest ones are answered first, as a rule, and they are few.
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

    /// Random: another process, or another run of this one, is another producer.
    let producer = OperationID().description
    private let queues = Mutex<[String: Numbers]>([:])

    /// Begins a call on a queue.
    ///
    /// - Returns: its number, and the lowest one that is unanswered.
    func begin(_ queue: String) -> (number: Int, floor: Int) {
        queues.withLock { $0[queue, default: Numbers()].begin() }
    }

    /// Ends a call: it was answered, or given up.
    func end(_ number: Int, _ queue: String) { queues.withLock { $0[queue]?.end(number) } }
}
