import Foundation
import Operations

/// Keeps a store in step with a server, within this process.
///
/// One sync runs at a time, and the latest wins. A new sync cancels the one before, waits for its end, and continues
/// where it stopped.
final class Synchronizer: Sendable {
    typealias Summary = SyncSummary

    /// Stops every synchronizer of the process when posted.
    static let stop = Notification.Name("PagedSync.stop")

    let requests = SyncRun.Requests()
    /// The queue of one slot: writes run in the order of their requests and never overlap.
    let database = LocalOperationQueue(name: "database", maxConcurrentOperationCount: 1)

    private let syncs: KeyedOperations<String, Summary>
    private let api: ContactsAPI
    private let store: Store
    private let pageSize: Int
    private let timeout: Duration
    private let refresh: @MainActor @Sendable ([Contact]) -> Void
    private let report: @Sendable (any Error) -> Void
    private let stopping = Observation()

    /// - Parameters:
    ///   - timeout: the time limit of a request.
    ///   - refresh: shows the contacts of the store; called once per sync, after the last write.
    ///   - report: receives the error of a failed sync, even if no task waits for the sync.
    init(
        api: ContactsAPI,
        store: Store,
        pageSize: Int = 5,
        timeout: Duration = SyncRun.requestTimeout,
        refresh: @escaping @MainActor @Sendable ([Contact]) -> Void,
        report: @escaping @Sendable (any Error) -> Void
    ) {
        (self.api, self.store, self.pageSize, self.timeout) = (api, store, pageSize, timeout)
        (self.refresh, self.report) = (refresh, report)
        syncs = KeyedOperations(queue: LocalOperationQueue(name: "syncs"))
        stopping.observe(Self.stop) { [syncs] in syncs.cancel("contacts", reason: "stopped by broadcast") }
    }

    /// Starts a sync and cancels the one that runs.
    @discardableResult
    func sync() -> ValueOperation<Summary> {
        let sync = syncs.run("contacts", ifExists: .replace) { [self] in try await run() }.operation
        sync.onDeath(report)
        return sync
    }

    /// Changes a name locally. The next sync uploads the change.
    @discardableResult
    func edit(_ change: Change) -> ValueOperation<Void> {
        database.addBlocking { [store] in try store.write(change) }
    }

    private func run() async throws -> Summary {
        let id = OperationID().description
        let sync = SyncRun(api: api, requests: requests, pageSize: pageSize, timeout: timeout) {
            [database, store] step in
            try await database.addBlocking { try store.perform(step, of: id) }.endAsPart()
        } progress: { fraction, checkpoint in
            LocalOperation.current?.report(progress: fraction, "after \(checkpoint)")
        }
        let summary = try await sync.run()
        try await database.add { [store, refresh] in await refresh(store.contacts) }.endAsPart()
        return summary
    }
}

/// Calls a closure at each notification, for as long as this object lives.
private final class Observation: @unchecked Sendable {
    // Unchecked: the token is set once, before other threads have the object.
    private var token: (any NSObjectProtocol)?

    func observe(_ name: Notification.Name, _ body: @escaping @Sendable () -> Void) {
        token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in body() }
    }

    deinit { token.map(NotificationCenter.default.removeObserver) }
}
