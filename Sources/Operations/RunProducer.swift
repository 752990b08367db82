import Synchronization

/// With what the body of a run enqueues others.
package final class RunProducer: Sendable {
    /// The client of the program, which this module does not know.
    package let client: any Sendable
    /// The run; what starts with its completion is bound to it.
    package let run: RunClaim
    private let opening = Mutex<Task<OperationID, any Error>?>(nil)

    package init(client: any Sendable, run: RunClaim) { (self.client, self.run) = (client, run) }

    /// The group that ends with the run, made at the first call.
    ///
    /// - Throws: what `make` throws; the next call makes it then.
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
