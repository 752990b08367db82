import Foundation
import Operations

/// What a sync did.
package struct SyncSummary: Codable, Sendable, Hashable {
    package var uploaded = 0
    package var pages = 0
    package var contacts = 0
}

/// Keeps a store in step with a server: what was changed here goes up, then what has changed there comes down, page by page.
///
/// One sync at a time, and the latest wins: a new one cancels the one before, waits for its end, and goes on where it stopped.
final class Synchronizer: Sendable {
    typealias Summary = SyncSummary

    /// Post it, and every synchronizer of the process stops.
    static let stop = Notification.Name("PagedSync.stop")

    /// How long one attempt of a request may take, unless said otherwise.
    static let requestTimeout = Duration.seconds(30)

    let network = LocalOperationQueue(name: "network", maxConcurrentOperationCount: 2)
    /// One at a time: writes come in the order in which they are asked for and never meet.
    let database = LocalOperationQueue(name: "database", maxConcurrentOperationCount: 1)
    let upload = LocalOperationQueue(name: "upload", maxConcurrentOperationCount: 1)

    private let syncs: KeyedOperations<String, Summary>
    private let api: ContactsAPI
    private let store: Store
    private let pageSize: Int
    private let timeout: Duration
    private let refresh: @MainActor @Sendable ([Contact]) -> Void
    private let report: @Sendable (any Error) -> Void
    private let stopping = Observation()

    /// - Parameters:
    ///   - timeout: how long a request may take.
    ///   - refresh: shows what is in the store; called once per sync, after its last write.
    ///   - report: is told why a sync failed, also if nobody waits for it.
    init(
        api: ContactsAPI,
        store: Store,
        pageSize: Int = 5,
        timeout: Duration = Synchronizer.requestTimeout,
        refresh: @escaping @MainActor @Sendable ([Contact]) -> Void,
        report: @escaping @Sendable (any Error) -> Void
    ) {
        (self.api, self.store, self.pageSize, self.timeout) = (api, store, pageSize, timeout)
        (self.refresh, self.report) = (refresh, report)
        syncs = KeyedOperations(queue: LocalOperationQueue(name: "syncs"))
        stopping.observe(Self.stop) { [syncs] in syncs.cancel("contacts", reason: "stopped by broadcast") }
    }

    /// Starts a sync; one that is under way is cancelled.
    @discardableResult
    func sync() -> ValueOperation<Summary> {
        let sync = syncs.run("contacts", onDuplicate: .replace) { [self] in try await run() }.operation
        sync.onDeath(report)
        return sync
    }

    /// Changes a name here; the next sync uploads it.
    @discardableResult
    func edit(_ change: Change) -> ValueOperation<Void> {
        database.addBlocking { [store] in try store.write(change) }
    }

    private func run() async throws -> Summary {
        var summary = Summary(uploaded: try await uploadChanges())
        let checkpoint = try await database.add { [store] in store.checkpoint }.endAsPart()
        var request = PageRequest(after: checkpoint, limit: pageSize)
        var hasNext = true
        while hasNext {
            let page = try await network.add(options(named: "page")) { [api, request] in
                try await api.page(request)
            }.endAsPart()
            (request, hasNext) = (PageRequest(after: page.next, limit: pageSize), page.hasNext)
            guard !page.contacts.isEmpty else { break }
            // The next page is asked for when this one and its checkpoint are stored.
            try await database.addBlocking { [store] in try store.write(page) }.endAsPart()
            summary.pages += 1
            summary.contacts += page.contacts.count
            LocalOperation.current?.report(progress: hasNext ? 0.5 : 1, "after \(page.next)")
        }
        try await database.add { [store, refresh] in await refresh(store.contacts) }.endAsPart()
        return summary
    }

    private func uploadChanges() async throws -> Int {
        let pending = try await database.add { [store] in store.pending }.endAsPart()
        guard !pending.isEmpty else { return 0 }
        let changes = Changes(changes: pending)
        try await upload.add(options(named: "upload")) { [api] in try await api.upload(changes) }.endAsPart()
        try await database.addBlocking { [store] in try store.noteUploaded(pending) }.endAsPart()
        return pending.count
    }

    private func options(named name: String) -> LocalOperationOptions {
        let retry = LocalRetry(RetryPolicy(attempts: 3, base: .milliseconds(50)))
        return LocalOperationOptions(name: name, runTimeout: timeout, grace: .seconds(1), retry: retry)
    }
}

extension ValueOperation {
    /// Waits for the end of an operation that is a part of the calling one: a cancel of the caller cancels it, and the caller does not go on
    /// before it has ended. So no two syncs ever ask the server or write at once.
    @discardableResult
    func endAsPart() async throws -> Output {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in onEnd { _ in continuation.resume() } }
        } onCancel: {
            cancel(reason: "what it was a part of was cancelled")
        }
        try Task.checkCancellation()
        return try await value
    }
}

/// Something to be done at a broadcast, for as long as this lives.
private final class Observation: @unchecked Sendable {
    // Unchecked: set once, before anybody else has it.
    private var token: (any NSObjectProtocol)?

    func observe(_ name: Notification.Name, _ body: @escaping @Sendable () -> Void) {
        token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in body() }
    }

    deinit { token.map(NotificationCenter.default.removeObserver) }
}
