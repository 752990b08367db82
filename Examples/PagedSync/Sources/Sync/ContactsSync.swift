import Operations

/// One sync, in this process or on any worker.
///
/// After a worker is lost during a page, another worker continues with that page. The page before it was stored
/// together with its checkpoint.
package struct ContactsSync: DistributedOperation {
    package static let name = "contacts.sync"
    package static let retryPolicy = RetryPolicy(attempts: 5, base: .milliseconds(500))

    /// `http://HOST:PORT`
    package let server: String
    /// The folder of the store, which all workers must see.
    package let store: String

    /// The unique key of all syncs of a store. The key has a digest of the path, because a path may be longer than a
    /// key.
    package var key: String { "contacts \(OperationID(key: store))" }

    private static let requests = SyncRun.Requests()

    package init(server: String, store: String) { (self.server, self.store) = (server, store) }

    package func main(_ context: OperationContext) async throws -> SyncSummary {
        let sync = SyncRun(api: ContactsAPI(address: server), requests: Self.requests) { step in
            try await DatabaseQueue.run(StoreAccess(folder: store, sync: context.id.description, step: step))
        } progress: { fraction, checkpoint in
            context.progress(fraction, "after \(checkpoint)")
        }
        return try await sync.run()
    }
}
