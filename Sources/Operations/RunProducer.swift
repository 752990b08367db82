import Synchronization

/// Enqueues operations for the body of a run.
package final class RunProducer: Sendable {
    /// The client of the worker.
    package let client: any BodyClient
    /// The claim of the run. Operations that start with the run's completion are bound to it.
    package let run: RunClaim
    private let opening = Mutex<Task<OperationID, any Error>?>(nil)

    package init(client: any BodyClient, run: RunClaim) { (self.client, self.run) = (client, run) }

    /// Returns the group that ends with the run; the first call makes it.
    ///
    /// - Throws: the error of `make`; the next call tries again.
    package func group(_ make: @escaping @Sendable () async throws -> OperationID) async throws -> OperationID {
        let task = opening.withLock { opening in
            if let known = opening { return known }
            let new = Task { try await make() }
            opening = new
            return new
        }
        do { return try await task.value } catch {
            opening.withLock { if $0 == task { $0 = nil } }
            throw error
        }
    }
}
