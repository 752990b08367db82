import Operations
import SluiceOperator
import Synchronization

/// The workers that this dashboard has seen, as they were last. Redis forgets a worker that ends properly.
final class SeenWorkers: Sendable {
    private static let most = 500

    struct Seen: Sendable {
        var worker: WorkerSummary
        /// When it was seen last, in milliseconds of server time.
        var at: Int64
        /// The newest operations that it had ended when its page was read last.
        var ended: [OperationDetail] = []
    }

    private let seen = Mutex<[String: Seen]>([:])

    func add(_ board: Board) {
        guard let time = board.snapshot.time else { return }
        seen.withLock { seen in
            for worker in board.workers {
                seen[worker.id] = Seen(worker: worker, at: time, ended: seen[worker.id]?.ended ?? [])
            }
            guard seen.count > Self.most else { return }
            for old in seen.sorted(by: { $0.value.at < $1.value.at }).prefix(seen.count - Self.most) {
                seen[old.key] = nil
            }
        }
    }

    /// Adds operations that a worker has ended, the newest first.
    func add(_ ended: [OperationDetail], of worker: String) {
        seen.withLock { $0[worker]?.ended = Array(ended.prefix(EndedTable.most)) }
    }

    /// The worker with this id.
    subscript(_ id: OperationID) -> Seen? { seen.withLock { $0[id.description] } }
}
