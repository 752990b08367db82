import Operations

/// One group to show.
package struct GroupRow: Sendable, Equatable {
    package var queue: String
    package var id: OperationID
    /// The name, such as `nightly`; `?` if it cannot be read.
    package var name: String
    package var progress: GroupProgress
    /// Milliseconds of server time.
    package var openedAt: Int64
    /// Whether the group ends as cancelled when its members have ended.
    package var isCancelled: Bool

    /// Makes a row; nil = the operation is not a group, or is the group of a run.
    package init?(_ detail: OperationDetail, view: PayloadView) {
        guard let progress = GroupProgress(detail), detail.links.group?.isOfRun == false else { return nil }
        (queue, id, self.progress) = (detail.queue, detail.id, progress)
        name = detail.groupName(view) ?? "?"
        openedAt = detail.record.enqueuedAt
        isCancelled = detail.cancel != nil
    }

    /// `open`, `closed`, or `cancelling`.
    package var place: String { isCancelled ? "cancelling" : progress.isOpen ? "open" : "closed" }
}

extension MonitorBroker {
    /// Reads the groups that have not ended, newest first, in the first queues that have blocked operations. One page
    /// of each queue is searched.
    package func groupRows(of snapshot: NamespaceSnapshot, queues: Int, view: PayloadView) async throws -> [GroupRow] {
        let sought = SoughtText([[GroupTerms.name]])
        var rows: [GroupRow] = []
        for queue in snapshot.queues.filter({ $0.counts[.blocked] ?? 0 > 0 }).prefix(queues).map(\.queue) {
            let limit = OperationPage.limit(sought)
            let page = try await page(state: .blocked, queue: queue, cursor: nil, limit: limit, sought: sought)
            rows += page.operations.compactMap { GroupRow($0, view: view) }
        }
        return rows.sorted { ($0.openedAt, $0.id) > ($1.openedAt, $1.id) }
    }
}
