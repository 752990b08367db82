import Logging
import Operations
import Synchronization

/// Sends what running operations say about themselves: progress, log lines, checkpoints, acknowledged cancels.
///
/// One pass:
/// 1. Waits for something to send: at once for acknowledgements and for operations that have ended, otherwise at least
///    `Defaults.reportInterval` after the last time.
/// 2. Gathers it per queue and sends it under the fences, in bounded calls, until it is answered.
/// 3. Lets the ends of operations go that waited for their reports: an end never overtakes them.
final class Reporter: Sendable {
    private struct State {
        /// Have something to say, within the usual rhythm.
        var waiting: [HeldOperation] = []
        /// Have something to say now.
        var hurried: [HeldOperation] = []
        /// Have ended, and what to do once their reports have arrived.
        var ended: [(operation: HeldOperation, arrived: @Sendable () -> Void)] = []
        /// Reports about operations that forced cancels have ended, by queue.
        var ofForced: [String: [Report]] = [:]
    }

    private let broker: any WorkerBroker
    private let worker: WorkerID
    private let logger: Logger
    private let state = Mutex(State())
    private let signal = Signal()
    private let numbers = Atomic(0)

    init(broker: any WorkerBroker, worker: WorkerID, logger: Logger) {
        self.broker = broker
        self.worker = worker
        self.logger = logger
    }

    // MARK: Asking

    func reportsWaiting(_ operation: HeldOperation) {
        state.withLock { $0.waiting.append(operation) }
        signal.raise()
    }

    func hurry(_ operation: HeldOperation) {
        state.withLock { $0.hurried.append(operation) }
        signal.raise()
    }

    func finish(_ operation: HeldOperation, arrived: @escaping @Sendable () -> Void) {
        state.withLock { $0.ended.append((operation, arrived)) }
        signal.raise()
    }

    /// Sends a report about an operation that a forced cancel has ended.
    func send(_ report: Report, ofForced queue: String) {
        state.withLock { $0.ofForced[queue, default: []].append(report) }
        signal.raise()
    }

    // MARK: Sending

    func run() async {
        var nextRegular = ContinuousClock.now
        while !Task.isCancelled {
            let isTime = ContinuousClock.now >= nextRegular
            let work = take(all: isTime)
            if work.operations.isEmpty, work.ended.isEmpty, work.ofForced.isEmpty {
                await pause(until: nextRegular)
                continue
            }
            if isTime { nextRegular = .now + Defaults.reportInterval }
            await send(work)
        }
    }

    private typealias Work = (
        operations: [HeldOperation], ended: [(operation: HeldOperation, arrived: @Sendable () -> Void)],
        ofForced: [String: [Report]]
    )

    private func take(all: Bool) -> Work {
        state.withLock { state in
            var operations = state.hurried + state.ended.map(\.operation)
            let ended = state.ended
            let ofForced = state.ofForced
            (state.hurried, state.ended, state.ofForced) = ([], [], [:])
            if all {
                operations += state.waiting
                state.waiting = []
            }
            return (operations, ended, ofForced)
        }
    }

    private func pause(until instant: ContinuousClock.Instant) async {
        if state.withLock({ $0.waiting.isEmpty }) { await signal.wait() } else { await signal.wait(until: instant) }
    }

    private func send(_ work: Work) async {
        for (queue, operations) in Dictionary(grouping: work.operations, by: \.queueName) {
            await send(operations, queue: queue)
        }
        // Where an answer says no, the record is gone or was retried.
        for (queue, reports) in work.ofForced {
            var rest = reports[...]
            while !rest.isEmpty {
                let batch = Self.batch(of: rest)
                rest = rest.dropFirst(batch.count)
                guard await deliver(batch, queue: queue) != nil else { return }
            }
        }
        if Task.isCancelled { return }  // not confirmed, so their ends stay unsent
        for operation in work.operations { operation.reportsSent() }
        for each in work.ended { each.arrived() }
    }

    private func send(_ operations: [HeldOperation], queue: String) async {
        let byFence = Dictionary(operations.map { ($0.fence, $0) }) { first, _ in first }
        var rest = operations.flatMap { $0.takeReports() }[...]
        while !rest.isEmpty {
            let batch = Self.batch(of: rest)
            rest = rest.dropFirst(batch.count)
            guard let answers = await deliver(batch, queue: queue) else { return }
            for (report, isValid) in zip(batch, answers) where !isValid {
                if let operation = byFence[report.fence] { lose(operation) }
            }
        }
    }

    private func lose(_ operation: HeldOperation) {
        guard operation.stop(.lost) else { return }
        logger.warning("lost: this worker no longer owns the operation", metadata: operation.metadata())
    }

    private static func batch(of reports: ArraySlice<Report>) -> [Report] {
        var bytes = 0
        return Array(
            reports.prefix(Defaults.batch).prefix { report in
                bytes += report.content.byteCount
                return bytes <= Defaults.operationBytes || bytes == report.content.byteCount
            }
        )
    }

    /// Sends until it is answered; nil = cancelled. A repeat has the number of the first try.
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
