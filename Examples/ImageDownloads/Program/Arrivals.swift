import Operations
import Synchronization

/// Numbers what arrives on any thread, and hands it on one at a time in that order.
final class Arrivals: Sendable {
    /// A queue of one slot does what is added first first.
    private let deliveries = LocalOperationQueue(name: "deliveries", maxConcurrentOperationCount: 1)
    private let count = Mutex(0)

    func add(_ deliver: @escaping @MainActor @Sendable (_ arrival: Int) -> Void) {
        count.withLock { count in
            count += 1
            deliveries.add { [arrival = count] in await deliver(arrival) }
        }
    }

    func waitUntilDelivered() async throws { try await deliveries.waitUntilAllOperationsAreFinished() }
}
