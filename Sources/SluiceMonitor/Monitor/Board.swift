import Operations
import SluiceOperator

/// One queue to show.
package struct QueueSummary: Sendable {
    package var name: String
    package var counts: [OperationState: Int]
    package var rates: Rates
    /// How long the oldest ready operation has waited, in milliseconds.
    package var oldestMilliseconds: Int64?
    package var condition: QueueCondition
    package var isPaused: Bool
    package var limits: QueueLimits
    package var schedules: ScheduleSummary
    package var liveWorkers: Int
    /// The author, time and reason of the pause; nil = not paused, or not known.
    package var pause: OperatorTrace?

    init(_ snapshot: QueueSnapshot, rates: Rates) {
        name = snapshot.queue
        counts = snapshot.counts
        self.rates = rates
        oldestMilliseconds = snapshot.oldestReadyMilliseconds
        condition = QueueCondition(snapshot)
        isPaused = snapshot.paused
        limits = snapshot.limits
        schedules = snapshot.schedules
        liveWorkers = snapshot.liveWorkers.count
        pause = snapshot.paused ? snapshot.pause : nil
    }

    package func count(_ state: OperationState) -> Int { counts[state] ?? 0 }
}

/// The data of the screens, computed once for each round of snapshots.
package struct Board: Sendable {
    /// Milliseconds of server time.
    package var time: Int64?
    package var queues: [QueueSummary]
    package var executing: [ExecutingSummary]
    package var workers: [WorkerSummary]
    package var counts: [OperationState: Int]
    package var rates: Rates
    /// Ended operations per second, oldest first.
    package var throughput: [Double]
    package var isIdle: Bool
    /// The reasons why servers refuse writes.
    package var refusals: [WriteRefusal]
    /// Operations that wait for a worker that handles their name, by queue.
    package var unhandled: [UnhandledNote]
    /// The workers of each queue whose lease there has run out.
    private var lostWorkers: [String: Set<String>]

    init(_ snapshot: NamespaceSnapshot, rates: NamespaceRates, throughput: [Double]) {
        time = snapshot.time
        workers = WorkerSummary.merge(snapshot.queues)
        queues = snapshot.queues.map { QueueSummary($0, rates: rates[$0.queue]) }
        executing = ExecutingSummary.merge(snapshot.queues, workers: workers)
        counts = snapshot.counts
        self.rates = rates.sum
        self.throughput = throughput
        isIdle = snapshot.isIdle
        refusals = snapshot.refusals
        unhandled = snapshot.queues.flatMap(\.unhandledNotes)
        lostWorkers = Dictionary(snapshot.queues.map { ($0.queue, $0.lostWorkers) }) { first, _ in first }
    }

    /// Whether an operation runs on a lost worker.
    func isLost(_ detail: OperationDetail) -> Bool {
        guard detail.state == .executing, let worker = detail.worker else { return false }
        return lostWorkers[detail.queue]?.contains(worker) ?? false
    }

    package var liveWorkers: [WorkerSummary] { workers.filter { !$0.isLost } }
    package var slots: Int { liveWorkers.reduce(0) { $0 + ($1.info?.slots ?? 0) } }
    package func count(_ state: OperationState) -> Int { counts[state] ?? 0 }
}
