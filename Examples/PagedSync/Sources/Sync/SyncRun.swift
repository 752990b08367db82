import Operations

/// The totals of a sync.
package struct SyncSummary: Codable, Sendable, Hashable {
    package var uploaded = 0
    package var pages = 0
    package var contacts = 0
}

/// One sync from beginning to end: uploads local changes, then downloads the server's changes page by page.
struct SyncRun: Sendable {
    /// The default time limit for one attempt of a request.
    static let requestTimeout = Duration.seconds(60)

    /// The queues for requests in this process.
    struct Requests: Sendable {
        let network = LocalOperationQueue(name: "network", maxConcurrentOperationCount: 2)
        let upload = LocalOperationQueue(name: "upload", maxConcurrentOperationCount: 1)
    }

    let api: ContactsAPI
    let requests: Requests
    var pageSize = 5
    var timeout = SyncRun.requestTimeout
    /// Runs one access to the store after the other, in this process or on workers.
    let access: @Sendable (StoreAccess.Step) async throws -> StoreAccess.Outcome
    /// Called after each page with the estimated fraction and the checkpoint.
    let progress: @Sendable (Double, Int) -> Void

    func run() async throws -> SyncSummary {
        let start = try await access(.begin)
        var summary = SyncSummary(uploaded: try await upload(start.pending))
        var request = PageRequest(after: start.checkpoint, limit: pageSize)
        var hasNext = true
        while hasNext {
            let page = try await requests.network.add(options(named: "page")) { [api, request] in
                try await api.page(request)
            }.endAsPart()
            guard !page.contacts.isEmpty else { break }
            // The next page is requested only after this page and its checkpoint are stored.
            _ = try await access(.page(page, after: request.after))
            (request, hasNext) = (PageRequest(after: page.next, limit: pageSize), page.hasNext)
            summary.pages += 1
            summary.contacts += page.contacts.count
            progress(hasNext ? 0.5 : 1, page.next)
        }
        return summary
    }

    private func upload(_ pending: [Change]) async throws -> Int {
        guard !pending.isEmpty else { return 0 }
        let changes = Changes(changes: pending)
        try await requests.upload.add(options(named: "upload")) { [api] in try await api.upload(changes) }.endAsPart()
        _ = try await access(.uploaded(pending))
        return pending.count
    }

    private func options(named name: String) -> LocalOperationOptions {
        let retry = LocalRetry(RetryPolicy(attempts: 3, base: .milliseconds(50)))
        return LocalOperationOptions(name: name, runTimeout: timeout, grace: .seconds(1), retry: retry)
    }
}
