import Operations
import Synchronization

/// Numbers the enqueue calls of this process, so that Redis can answer a repeated one as it answered the first.
///
/// Redis keeps the answers of calls that this process has not seen answered; with each call it hears the lowest such number
/// and forgets what is below it.
final class CallLedger: Sendable {
    private struct Numbers {
        var next = 1
        var unanswered: Set<Int> = []
        var floor = 1
    }

    /// Random: another process, or another run of this one, is another producer.
    let producer = OperationID().description
    private let queues = Mutex<[String: Numbers]>([:])

    /// Begins a call on a queue.
    func begin(_ queue: String) -> Int {
        queues.withLock { queues in
            var numbers = queues[queue] ?? Numbers()
            defer { queues[queue] = numbers }
            let number = numbers.next
            numbers.next += 1
            numbers.unanswered.insert(number)
            return number
        }
    }

    /// The lowest number still unanswered.
    func floor(_ queue: String) -> Int { queues.withLock { $0[queue]?.floor ?? 1 } }

    /// Ends a call: it was answered, or given up.
    func end(_ number: Int, _ queue: String) {
        queues.withLock { queues in
            guard var numbers = queues[queue] else { return }
            numbers.unanswered.remove(number)
            while numbers.floor < numbers.next, !numbers.unanswered.contains(numbers.floor) { numbers.floor += 1 }
            queues[queue] = numbers
        }
    }
}
