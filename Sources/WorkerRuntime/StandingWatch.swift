import Operations
import Selectors
import Synchronization

/// The standing cancels that this worker has read, by queue.
///
/// A claim returns the revision of the list that its operations must be compared with. A body begins only after the
/// worker has read a list of this revision or a later one. A matching operation that is enqueued after a standing
/// cancel was acknowledged therefore never runs.
final class StandingWatch: Sendable {
    private struct Known {
        var revision: Int64
        var cancels: [(cancel: StandingCancel, query: OperationQuery, until: ContinuousClock.Instant)]
    }

    private let queues = Mutex<[String: Known]>([:])

    /// True if the list of this revision, or a later one, was read.
    func knows(_ revision: Int64, queue: String) -> Bool {
        queues.withLock { ($0[queue]?.revision ?? 0) >= revision }
    }

    /// Stores a list of standing cancels, unless a later one is known.
    ///
    /// - Returns: the standing cancels whose query cannot be read.
    func note(_ read: StandingCancels, queue: String, at instant: ContinuousClock.Instant) -> [StandingCancel] {
        var (cancels, unread): (Known, [StandingCancel]) = (Known(revision: read.revision, cancels: []), [])
        for cancel in read.cancels {
            guard let query = try? OperationQuery(parsing: cancel.query) else {
                unread.append(cancel)
                continue
            }
            let until = instant + .milliseconds(cancel.endsAt - read.time)
            cancels.cancels.append((cancel, query, until))
        }
        queues.withLock { queues in
            if queues[queue]?.revision ?? -1 < cancels.revision { queues[queue] = cancels }
        }
        return unread
    }

    /// Returns the first standing cancel that matches an operation.
    func first(matching detail: OperationDetail, view: PayloadView, at now: ContinuousClock.Instant) -> StandingCancel?
    {
        let known = queues.withLock { $0[detail.queue]?.cancels ?? [] }
        return known.first { $0.until > now && $0.query.matches(detail, now: detail.record.enqueuedAt, view: view) }?
            .cancel
    }
}

extension WorkerCore {
    private static let pause: Duration = .milliseconds(100)

    /// Compares an operation that has not begun with the standing cancels of its queue.
    ///
    /// - Returns: the standing cancel that matches; nil also if a cancel or a stop reaches the operation meanwhile.
    func standingCancel(of operation: HeldOperation) async -> StandingCancel? {
        let (claimed, name) = (operation.claimed, operation.queueName)
        while !standing.knows(claimed.standing, queue: name) {
            do {
                let read = try await broker.standingCancels(queue: name)
                for cancel in standing.note(read, queue: name, at: .now) {
                    logger.error(
                        "a standing cancel cannot be read",
                        metadata: ["queue": "\(name)", "id": "\(cancel.id)", "query": "\(cancel.query)"]
                    )
                }
            } catch {
                let requests = operation.endRequests
                if requests.cancellation != nil || requests.stop != nil { return nil }
                logger.debug("standing cancels were not read", metadata: ["queue": "\(name)", "error": "\(error)"])
                try? await Task.sleep(for: Self.pause)
            }
        }
        let record = OperationRecord(
            header: claimed.header,
            state: .executing,
            fence: claimed.fence,
            enqueuedAt: claimed.header.readyAt,
            envelope: claimed.envelope
        )
        let detail = OperationDetail(queue: name, record: record, state: .executing)
        return standing.first(matching: detail, view: PayloadView(seal: seal), at: .now)
    }
}
