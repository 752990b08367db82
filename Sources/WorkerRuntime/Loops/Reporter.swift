import Logging
import Operations
import Synchronization

/// Sends the reports of running operations: progress, log lines, checkpoints, acknowledged cancels.
///
/// One pass:
/// 1. Waits for reports. Acknowledgements and the reports of ended operations are sent at once, others at least
///    `SluiceDefaults.reportInterval` after the last time.
/// 2. Collects the reports of each queue and sends them under the fences, in bounded calls, until they are answered.
///    Each queue has one call in flight: a queue whose server does not answer delays no other queue.
/// 3. Releases the ends of operations that waited for their reports: an end never overtakes them.
final class Reporter: Sendable {
    /// The reports of one queue.
    private struct Line {
        /// Operations with reports to send at the usual interval.
        var waiting: [HeldOperation] = []
        /// Operations with reports to send now.
        var hurried: [HeldOperation] = []
        /// Ended operations, with the action for the time when their reports have arrived.
        var ended: [Ended] = []
        /// Reports about operations that forced cancels have ended.
        var ofForced: [Report] = []
        /// True while a call of this queue is in flight.
        var isBusy = false

        /// Takes the reports to send now; nil = none, or a call is in flight.
        mutating func take(all: Bool) -> Work? {
            guard !isBusy else { return nil }
            let work = Work(
                operations: hurried + ended.map(\.operation) + (all ? waiting : []),
                ended: ended,
                ofForced: ofForced
            )
            guard !work.operations.isEmpty || !ofForced.isEmpty else { return nil }
            (hurried, ended, ofForced, isBusy) = ([], [], [], true)
            if all { waiting = [] }
            return work
        }
    }

    private typealias Ended = (operation: HeldOperation, arrived: @Sendable () -> Void)

    private struct Work {
        var operations: [HeldOperation]
        var ended: [Ended]
        var ofForced: [Report]
    }

    private let broker: any WorkerBroker
    private let worker: WorkerID
    private let observers: [any RuntimeObserving]
    private let logger: Logger
    private let lines = Mutex<[String: Line]>([:])
    private let signal = Signal()
    private let numbers = Atomic(0)

    init(broker: any WorkerBroker, worker: WorkerID, observers: [any RuntimeObserving], logger: Logger) {
        self.broker = broker
        self.worker = worker
        self.observers = observers
        self.logger = logger
    }

    // MARK: Asking

    func reportsWaiting(_ operation: HeldOperation) {
        add(operation.queueName) { $0.waiting.append(operation) }
    }

    func hurry(_ operation: HeldOperation) { add(operation.queueName) { $0.hurried.append(operation) } }

    func finish(_ operation: HeldOperation, arrived: @escaping @Sendable () -> Void) {
        add(operation.queueName) { $0.ended.append((operation, arrived)) }
    }

    /// Sends a report about an operation that a forced cancel has ended.
    func send(_ report: Report, ofForced queue: String) { add(queue) { $0.ofForced.append(report) } }

    private func add(_ queue: String, _ change: (inout Line) -> Void) {
        lines.withLock { change(&$0[queue, default: Line()]) }
        signal.raise()
    }

    // MARK: Sending

    func run() async {
        await withDiscardingTaskGroup { group in
            var nextRegular = ContinuousClock.now
            while !Task.isCancelled {
                let isTime = ContinuousClock.now >= nextRegular
                let work = take(all: isTime)
                guard !work.isEmpty else {
                    await pause(until: nextRegular)
                    continue
                }
                if isTime { nextRegular = .now + SluiceDefaults.reportInterval }
                for (queue, work) in work { group.addTask { await self.send(work, queue: queue) } }
            }
        }
    }

    private func take(all: Bool) -> [(String, Work)] {
        lines.withLock { lines in lines.keys.compactMap { queue in lines[queue]?.take(all: all).map { (queue, $0) } } }
    }

    private func pause(until instant: ContinuousClock.Instant) async {
        let isIdle = lines.withLock { $0.values.allSatisfy { $0.waiting.isEmpty || $0.isBusy } }
        if isIdle { await signal.wait() } else { await signal.wait(until: instant) }
    }

    private func send(_ work: Work, queue: String) async {
        await send(work.operations, queue: queue)
        // A negative answer means that the record is gone or was retried.
        var rest = work.ofForced[...]
        while !rest.isEmpty {
            let batch = Self.batch(of: rest)
            rest = rest.dropFirst(batch.count)
            guard await deliver(batch, queue: queue) != nil else { return }
        }
        if Task.isCancelled { return }  // not confirmed, so the ends stay unsent
        for operation in work.operations { operation.reportsSent() }
        for each in work.ended { each.arrived() }
        lines.withLock { $0[queue]?.isBusy = false }
        signal.raise()
    }

    private func send(_ operations: [HeldOperation], queue: String) async {
        let byFence = Dictionary(operations.map { ($0.fence, $0) }) { first, _ in first }
        var rest = operations.flatMap { $0.takeReports() }[...]
        while !rest.isEmpty {
            let batch = Self.batch(of: rest)
            rest = rest.dropFirst(batch.count)
            guard let answers = await deliver(batch, queue: queue) else { return }
            for (report, isValid) in zip(batch, answers) where !isValid {
                byFence[report.fence]?.lose(observers, logger)
            }
        }
    }

    private static func batch(of reports: ArraySlice<Report>) -> [Report] {
        var bytes = 0
        return Array(
            reports.prefix(SluiceDefaults.batch).prefix { report in
                bytes += report.content.byteCount
                return bytes <= SluiceDefaults.operationBytes || bytes == report.content.byteCount
            }
        )
    }

    /// Sends reports until they are answered; nil = cancelled. A repeat has the number of the first attempt.
    private func deliver(_ batch: [Report], queue: String) async -> [Bool]? {
        let number = numbers.add(1, ordering: .relaxed).newValue
        var backoff = Backoff()
        while !Task.isCancelled {
            do {
                return try await broker.report(batch, number: number, worker: worker, queue: queue)
            } catch {
                logger.info("reports were not answered", metadata: ["queue": "\(queue)", "error": "\(error)"])
                try? await Task.sleep(for: backoff.pause())
            }
        }
        return nil
    }
}

extension Report.Content {
    fileprivate var byteCount: Int {
        switch self {
        case .progress(_, let message): message.utf8.count + 96
        case .log(let line): line.count + 64
        case .checkpoint(let data): data.count + 64
        case .cancelAcknowledged, .cancelStopped: 64
        }
    }
}
