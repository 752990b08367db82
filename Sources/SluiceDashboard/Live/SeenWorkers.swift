import Operations
import SluiceOperator
import Synchronization

/// The workers that this dashboard has seen, as they were last. Redis forgets a worker that ends properly.
final class SeenWorkers: Sendable {
    /// The most workers to remember that are gone.
    private static let most = 500

    struct Seen: Sendable {
        var worker: WorkerSummary
        /// When it was seen last, in milliseconds of server time.
        var at: Int64
        /// The newest operations that it had ended when its page was read last.
        var ended: [EndedTable.Row] = []
    }

    private let seen = Mutex<[String: Seen]>([:])

    func add(_ board: Board) {
        guard let time = board.snapshot.time else { return }
        seen.withLock { seen in
            for worker in board.workers {
                seen[worker.id] = Seen(worker: worker, at: time, ended: seen[worker.id]?.ended ?? [])
            }
            guard seen.count > board.workers.count + Self.most else { return }
            let present = Set(board.workers.map(\.id))
            let gone = seen.filter { !present.contains($0.key) }.sorted { $0.value.at < $1.value.at }
            for old in gone.dropLast(Self.most) { seen[old.key] = nil }
        }
    }

    /// Adds operations that a worker has ended, the newest first.
    func add(_ ended: [EndedTable.Row], of worker: String) {
        seen.withLock { $0[worker]?.ended = Array(ended.prefix(EndedTable.most)) }
    }

    /// The worker with this id.
    subscript(_ id: OperationID) -> Seen? { seen.withLock { $0[id.description] } }
}
