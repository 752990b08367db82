import Operations
import SluiceOperator

/// A column by which queues are sorted, largest number first; equal ones by name.
enum QueueOrder: String, CaseIterable {
    case ready, running, retrying, dead, oldest, errors, workers

    func sorted(_ board: Board) -> [QueueSnapshot] {
        board.snapshot.queues.map { (queue: $0, number: number($0, board)) }
            .sorted { ($1.number, $0.queue.queue) < ($0.number, $1.queue.queue) }
            .map(\.queue)
    }

    private func number(_ queue: QueueSnapshot, _ board: Board) -> Double {
        switch self {
        case .ready: Double(queue.counts[.ready] ?? 0)
        case .running: Double(queue.counts[.executing] ?? 0)
        case .retrying: Double(queue.counts[.retrying] ?? 0)
        case .dead: Double(queue.counts[.dead] ?? 0)
        case .oldest: Double(queue.oldestReadyMilliseconds ?? -1)
        case .errors: board.statistics.queues[queue.queue]?.recent.errorRate ?? -1
        case .workers: Double(queue.liveWorkers.count)
        }
    }
}
