import Operations
import Synchronization

/// Numbers arrivals on any thread, and delivers them one at a time in this order.
final class Arrivals: Sendable {
    /// A queue of one slot runs operations in the order in which they were added.
    private let deliveries = LocalOperationQueue(name: "deliveries", maxConcurrentOperationCount: 1)
    private let count = Mutex(0)

    func add(_ deliver: @escaping @MainActor @Sendable (_ arrival: Int) -> Void) {
        count.withLock { count in
            count += 1
            deliveries.add { [arrival = count] in await deliver(arrival) }
        }
    }
}
