import Foundation
import Operations

/// One access of a sync to its store. The database queue runs one at a time: a local queue with one slot, or on workers a queue with the limit
/// `concurrency=1`.
package struct StoreAccess: DistributedOperation {
    package static let name = "contacts.store"
    /// A failed access ends this attempt of its sync, whose next attempt begins with `begin`. An access that came again on its own could come
    /// behind that.
    package static let retryPolicy = RetryPolicy(attempts: 1)

    /// What an access does.
    enum Step: Codable, Sendable, Hashable {
        /// The sync takes over: from here on, the store refuses what other syncs still send.
        case begin
        /// Stores a page that the server sent for this request, and the checkpoint after it.
        case page(Page, after: Int)
        /// These changes are on the server.
        case uploaded([Change])
    }

    /// How the store stands after an access.
    package struct Outcome: Codable, Sendable, Hashable {
        /// The sequence after which the next page begins.
        let checkpoint: Int
        /// What is still to be uploaded.
        let pending: [Change]
    }

    /// The folder of the store.
    let folder: String
    /// The sync that asks.
    let sync: String
    let step: Step

    package func main(_ context: OperationContext) async throws -> Outcome {
        try await BlockingThreads.shared.run {
            let store = try Store(folder: URL(filePath: folder, directoryHint: .isDirectory))
            // A worker that was frozen for longer than its lease stops here: another one has done this meanwhile.
            _ = try context.fence
            return try store.perform(step, of: sync)
        }
    }
}

extension Store {
    /// Does a step. A repeated one changes nothing.
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
