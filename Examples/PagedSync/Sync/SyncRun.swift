import Operations

/// What a sync did.
package struct SyncSummary: Codable, Sendable, Hashable {
    package var uploaded = 0
    package var pages = 0
    package var contacts = 0
}

/// One sync from its beginning to its end: what was changed here goes up, then what has changed there comes down, page by page.
struct SyncRun: Sendable {
    /// How long one attempt of a request may take, unless said otherwise.
    static let requestTimeout = Duration.seconds(30)

    /// The queues of this process for requests.
    struct Requests: Sendable {
        let network = LocalOperationQueue(name: "network", maxConcurrentOperationCount: 2)
        let upload = LocalOperationQueue(name: "upload", maxConcurrentOperationCount: 1)
    }

    let api: ContactsAPI
    let requests: Requests
    var pageSize = 5
    var timeout = SyncRun.requestTimeout
    /// Runs one access to the store after the other, here or elsewhere.
    let access: @Sendable (StoreAccess.Step) async throws -> StoreAccess.Outcome
    /// Called after each page with the fraction that is done, which is a guess, and the checkpoint.
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
            // The next page is asked for when this one and its checkpoint are stored.
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
