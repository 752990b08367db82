import Foundation
import Operations

/// One sync, for workers: `SluiceMain.run { $0.register(ContactsSync.self) }`. Of a worker that is lost in a page, another one takes over
/// with that page, because the page before it was stored together with its checkpoint.
package struct ContactsSync: DistributedOperation {
    package static let name = "contacts.sync"
    package static let retryPolicy = RetryPolicy(attempts: 5, base: .milliseconds(500))

    /// `http://HOST:PORT`
    package let server: String
    /// The folder of the store, which all workers must see.
    package let store: String

    package init(server: String, store: String) { (self.server, self.store) = (server, store) }

    package func main(_ context: OperationContext) async throws -> SyncSummary {
        let store = try Store(folder: URL(filePath: store, directoryHint: .isDirectory))
        let synchronizer = Synchronizer(api: ContactsAPI(address: server), store: store, refresh: { _ in }) { error in
            context.log("\(error)")
        }
        context.log("begins after \(store.checkpoint)")
        let sync = synchronizer.sync()
        let story = Task {
            // For people: what counts is the store's own.
            for await change in sync.changes {
                guard case .progress(let progress) = change.kind else { continue }
                context.progress(progress.fraction, progress.message)
                try context.checkpoint(store.checkpoint)
            }
        }
        let summary = try await sync.endAsPart()
        try await story.value
        return summary
    }
}
