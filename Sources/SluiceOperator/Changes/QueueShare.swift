import Operations
import TerminalText

/// The operations of one queue in the plan of a change, and whether operations of the queue start now.
package struct QueueShare: Sendable, Equatable {
    package var queue: String
    package var count: Int
    package var isPaused = false
    /// Whether a live worker takes work of the queue.
    package var hasWorker = true
    /// Why operations of the queue do not start; nil = they start.
    package var obstacle: String?

    /// - Parameter snapshot: the queue as it was read; nil = it was not read.
    init(queue: String, count: Int, _ snapshot: QueueSnapshot?) {
        (self.queue, self.count) = (queue, count)
        guard let snapshot else { return }
        isPaused = snapshot.paused
        hasWorker = snapshot.hasTaker
        let obstacles = [isPaused ? PauseText.of(snapshot) : nil, hasWorker ? nil : "no live worker takes work of it"]
        let text = obstacles.compactMap { $0 }.joined(separator: "; ")
        obstacle = text.isEmpty ? nil : text
    }
}
