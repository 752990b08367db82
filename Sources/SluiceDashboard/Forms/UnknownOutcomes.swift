import Operations
import Synchronization

/// The operations of forms for which Redis did not answer: they may have been enqueued, without their event.
final class UnknownOutcomes: Sendable {
    private static let most = 1000
    private let ids = Mutex<[OperationID]>([])

    func add(_ id: OperationID) {
        ids.withLock { ids in
            ids.append(id)
            if ids.count > Self.most { ids.removeFirst() }
        }
    }

    /// Returns whether the outcome was unknown. Then it is no longer.
    func remove(_ id: OperationID) -> Bool {
        ids.withLock { ids in
            guard let index = ids.firstIndex(of: id) else { return false }
            ids.remove(at: index)
            return true
        }
    }
}
