import Operations
import SluiceOperator

/// The data that all pages share, read in one round.
struct Board: Sendable {
    var snapshot: NamespaceSnapshot
    var rates: NamespaceRates
    /// The statistics of the last hour, at most a few seconds older than the snapshot.
    var statistics: StatisticsBoard
    /// The workers that were lost within 24 hours, newest first; as old as the statistics.
    var lost: [LostSummary]
    /// Sentences about names in paused queues that no live worker handles, by queue.
    var unknownNames: [String: [String]] = [:]
    var workers: [WorkerSummary]
    /// The running operations that were read, longest run first.
    var executing: [ExecutingSummary]
    /// When the round ended.
    var readAt: ContinuousClock.Instant

    init(
        _ snapshot: NamespaceSnapshot,
        rates: NamespaceRates,
        statistics: StatisticsBoard,
        lost: [LostSummary],
        readAt: ContinuousClock.Instant = .now
    ) {
        (self.snapshot, self.rates, self.statistics) = (snapshot, rates, statistics)
        (self.lost, self.readAt) = (lost, readAt)
        workers = WorkerSummary.merge(snapshot.queues)
        executing = ExecutingSummary.merge(snapshot.queues, workers: workers)
    }

    var liveWorkers: [WorkerSummary] { workers.filter { !$0.isLost } }
    var slots: Int { liveWorkers.reduce(0) { $0 + ($1.info?.slots ?? 0) } }

    /// The server's time at an instant, in milliseconds; nil = not known.
    func time(at instant: ContinuousClock.Instant) -> Int64? {
        snapshot.time.map { $0 + (instant - readAt).wholeMilliseconds }
    }

    func count(_ state: OperationState) -> Int { snapshot.counts[state] ?? 0 }
}

/// The newest board, and whether Redis answers.
struct Reading: Sendable {
    /// The number of the read. Grows with each read, whether it succeeds or not.
    var sequence: Int
    /// The newest board; nil = Redis has not answered yet.
    var board: Board?
    /// The reason why the last read failed; nil = it succeeded.
    var failure: String?
}
