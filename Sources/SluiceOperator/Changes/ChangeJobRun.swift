import Operations
import Selectors
import Synchronization

/// Performs a stored change in steps, as long as it has the lease.
///
/// Before a step, the ids of its operations are stored, so a program that takes over knows which operations the last
/// step may have changed. An operation is changed only if it existed when the change was stored, and if this change has
/// not changed it yet: see `isChanged`.
package struct ChangeJobRun: Sendable {
    /// The usual time for which a program alone may perform a change, unless it renews the lease.
    package static let lease = Duration.seconds(15)

    private let broker: any OperatorBroker
    private let view: PayloadView
    private let lease: Duration
    private let stored: StoredChange
    private let job: ChangeJob
    private let events: ChangeEvents
    private let state: Shared

    private final class Shared: Sendable {
        struct State {
            var progress: ChangeJobProgress
            var isLost = false
            var isStopped = false
            var leaseEnd: ContinuousClock.Instant
        }

        let state: Mutex<State>

        init(_ progress: ChangeJobProgress, leaseEnd: ContinuousClock.Instant) {
            state = Mutex(State(progress: progress, leaseEnd: leaseEnd))
        }
    }

    /// The lease has ended, or another program performs the change.
    private struct Lost: Error {}
    private struct Stopped: Error {}

    /// - Parameters:
    ///   - stored: the change as it was taken.
    ///   - lease: the lease that it was taken with.
    ///   - takenAt: a time before the taking.
    /// - Returns: nil if the stored text cannot be read.
    package init?(
        _ broker: any OperatorBroker,
        _ stored: StoredChange,
        view: PayloadView,
        lease: Duration,
        takenAt: ContinuousClock.Instant
    ) {
        guard let job = ChangeJob(stored.definition), var progress = ChangeJobProgress(stored.progress) else {
            return nil
        }
        if stored.fence > 1 { progress.beginAgain(job.target) }
        (self.broker, self.stored, self.view, self.job, self.lease) = (broker, stored, view, job, lease)
        events = ChangeEvents(broker: broker, id: stored.id, job: job)
        state = Shared(progress, leaseEnd: takenAt + lease)
        if stored.stopper != nil { state.state.withLock { $0.isStopped = true } }
    }

    /// Whether this version can perform the change. Another one is left alone.
    package static func isReadable(_ stored: StoredChange) -> Bool {
        stored.isReadable && ChangeJob(stored.definition) != nil && ChangeJobProgress(stored.progress) != nil
    }

    /// Stores a new change, and adds its event to the queues where the plan has found operations.
    package static func store(
        _ job: ChangeJob,
        as id: OperationID,
        starts: [String: Int64],
        queues: [String] = [],
        in broker: any OperatorBroker
    ) async throws -> ChangeAdding {
        var progress = ChangeJobProgress(starts: starts)
        progress.queues = queues
        let answer = try await broker.addChange(id, definition: job.bytes, progress: progress.bytes)
        if answer == .stored {
            // The change is stored, and goes on without its events.
            try? await ChangeEvents(broker: broker, id: id, job: job).begin(in: queues)
        }
        return answer
    }

    /// Performs the rest of the change. If Redis does not answer, the change stays open, and is taken again when the
    /// lease has ended.
    package func run() async {
        let renewal = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: lease / 3)
                // A run that has ended must not renew the lease: the next one waits for its end.
                try Task.checkCancellation()
                try? await save()
            }
        }
        defer { renewal.cancel() }
        do {
            try await performAll()
            try await finish(.complete)
        } catch is Stopped {
            try? await finish(.stopped)
        } catch is Lost, is CancellationError {
            return
        } catch let error as OperationsError where [.unavailable, .outcomeUnknown, .full].contains(error.code) {
            return
        } catch is AbsentQueues {
            return
        } catch {
            try? await finish(.failed("\(error)"))
        }
    }

    /// Adds the events of the end, then stores it: a program that takes over in between adds them once more.
    private func finish(_ end: BulkProgress.End) async throws {
        let progress = state.state.withLock { $0.progress }
        try await save()
        try checkLease()
        // Only a stop needs the name, also one that came too late.
        let isStopAsked = end == .stopped || state.state.withLock(\.isStopped)
        let stopper = isStopAsked ? try await broker.changes(stored.id).changes.first?.stopper : nil
        try? await events.end(progress, end, stopper: stopper)
        state.state.withLock { $0.progress.end = end }
        try await save(isEnd: true)
    }

    private func save(isEnd: Bool = false) async throws {
        let sentAt = ContinuousClock.now
        let answer = try await broker.saveChange(
            stored.id,
            fence: stored.fence,
            progress: state.state.withLock { $0.progress.bytes },
            isEnd: isEnd,
            leaseMilliseconds: lease.wholeMilliseconds
        )
        state.state.withLock { state in
            if answer == .lost { state.isLost = true }
            if answer == .stopAsked { state.isStopped = true }
            state.leaseEnd = sentAt + lease
        }
    }

    private func checkLease() throws {
        if state.state.withLock({ $0.isLost || ContinuousClock.now >= $0.leaseEnd }) { throw Lost() }
    }

    private func check() throws {
        try checkLease()
        if state.state.withLock(\.isStopped) { throw Stopped() }
        try Task.checkCancellation()
    }

    // MARK: - Steps

    private func performAll() async throws {
        let progress = state.state.withLock { $0.progress }
        let spread = job.spread.map { Spread($0, count: job.expected) }
        // Operations that were changed before the takeover have taken their times.
        _ = spread?.delays(progress.done)
        try await perform(progress.pending, spread)
        switch job.target {
        case .marked(let addresses): try await perform(addresses, spread)
        case .matching(let text):
            let query = try await broker.resolving(try job.query(text))
            let needsRecord = job.kind.needsRecord
            let walk = try await ChangeWalk(broker: broker, query: query, view: view, needsRecord: needsRecord)
                .existing(progress.starts)
                .leavingOut { isChanged($0, in: $0.queue) }
                .stopping { [state] _ in state.state.withLock { $0.isStopped || $0.isLost } }
            if try await walk.run({ queue, ids in try await step(ids, spread, queue: queue) }).isStopped {
                try check()
            }
        }
    }

    /// Changes operations that the change may have changed already.
    private func perform(_ addresses: [OperationAddress], _ spread: Spread?) async throws {
        for (queue, addresses) in Dictionary(grouping: addresses, by: \.queue).sorted(by: { $0.key < $1.key }) {
            for start in stride(from: 0, to: addresses.count, by: 100) {
                let ids = addresses[start..<min(start + 100, addresses.count)].map(\.id)
                let details = try await broker.details(ids, queue: queue)
                let rest = zip(ids, details).filter { !isChanged($1, in: queue) }.map(\.0)
                state.state.withLock { $0.progress.done += ids.count - rest.count }
                if !rest.isEmpty { try await step(rest, spread, queue: queue) }
            }
        }
    }

    private func step(_ ids: [OperationID], _ spread: Spread?, queue: String) async throws {
        try check()
        if state.state.withLock({ !$0.progress.queues.contains(queue) }) {
            try await events.begin(in: [queue])
            state.state.withLock { $0.progress.queues.append(queue) }
        }
        state.state.withLock { $0.progress.pending = ids.map { OperationAddress(queue: queue, id: $0) } }
        try await save()
        try check()
        let request = CancelRequest(reason: job.reason, by: job.by, storesIntent: true)
        let outcomes = try await OperationChange(broker, job.kind, request).apply(ids, spread: spread, queue: queue)
        state.state.withLock { state in
            state.progress.pending = []
            state.progress.add(outcomes)
        }
    }

    /// Whether this change has changed the operation, or the operation is as the change would leave it.
    ///
    /// A retry gives an operation a new sequence number, so one that failed again is not retried again. Groups keep
    /// their number; a group that ended later than the change was stored has run again.
    private func isChanged(_ detail: OperationDetail?, in queue: String) -> Bool {
        guard let detail else { return job.kind == .remove && stored.fence > 1 }
        switch job.kind {
        case .retry:
            let start = state.state.withLock { $0.progress.starts[queue] } ?? .max
            return detail.record.header.sequence > start
                || detail.isGroup && detail.state.isTerminal && detail.record.endedAt > stored.createdAt
        case .cancel:
            guard let cancel = detail.cancel, !detail.state.isTerminal else { return false }
            return cancel.by == job.by && cancel.reason == job.reason && cancel.requestedAt >= stored.createdAt
        case .hold: return detail.hold?.by == job.by && detail.hold?.reason == job.reason
        case .release: return stored.fence > 1 && detail.state != .blocked
        case .remove: return false
        }
    }
}

extension ChangeJobProgress {
    /// Forgets the counts that the next run counts again.
    fileprivate mutating func beginAgain(_ target: ChangeJob.Target) {
        (refused, refusals) = (0, [])
        if case .marked = target { (done, pending) = (0, []) }
    }
}
