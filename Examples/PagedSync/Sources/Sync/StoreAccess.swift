import Foundation
import Operations

/// One access of a sync to its store.
///
/// The database queue runs one access at a time. The queue is a local queue with one slot, or on workers a queue with
/// the limit `concurrency=1`.
package struct StoreAccess: DistributedOperation {
    package static let name = "contacts.store"
    /// A failed access ends this attempt of its sync, and the next attempt starts with `begin`. A retried access could
    /// come after that `begin`.
    package static let retryPolicy = RetryPolicy(attempts: 1)

    /// The steps of an access.
    enum Step: Codable, Sendable, Hashable {
        /// The sync takes over: the store refuses later accesses of other syncs.
        case begin
        /// Stores a page that the server sent for this request, and its checkpoint.
        case page(Page, after: Int)
        /// Notes that these changes are on the server.
        case uploaded([Change])
    }

    /// The state of the store after an access.
    package struct Outcome: Codable, Sendable, Hashable {
        /// The sequence after which the next page begins.
        let checkpoint: Int
        /// The changes still to upload.
        let pending: [Change]
    }

    /// The folder of the store.
    let folder: String
    /// The sync of this access.
    let sync: String
    let step: Step

    package func main(_ context: OperationContext) async throws -> Outcome {
        try await BlockingThreads.shared.run {
            let store = try Store(folder: URL(filePath: folder, directoryHint: .isDirectory))
            // A worker that was frozen for longer than its lease stops here, because another worker has run this
            // access.
            _ = try context.fence
            return try store.perform(step, of: sync)
        }
    }
}

extension Store {
    /// Runs a step. A repeated step changes nothing.
    ///
    /// - Throws: `SyncError` with `.replaced` if another sync has begun.
    func perform(_ step: StoreAccess.Step, of sync: String) throws -> StoreAccess.Outcome {
        switch step {
        case .begin: try begin(sync)
        case .page(let page, let after): try write(page, after: after, of: sync)
        case .uploaded(let changes): try noteUploaded(changes, of: sync)
        }
        return StoreAccess.Outcome(checkpoint: checkpoint, pending: pending)
    }
}
