import Operations
import Synchronization

/// Reads what the monitor shows, again and again, apart from the task that answers keys.
///
/// One pass: 1. read all queues; 2. read the operation that the detail screen shows, or the lost workers if the workers are shown;
/// 3. listen to the events of the queues that there are now; 4. sleep until the next read is due. Events are hints: they only bring the next read forward.
final class MonitorFetcher: Sendable {
    /// What one pass brought.
    enum Outcome: Sendable {
        case read(NamespaceSnapshot, DetailReading?)
        /// The newest lost workers.
        case lost([LostSummary])
        case failed(String, retryAt: Duration)
        /// Nothing says when something has happened: the reads keep their interval.
        case deaf(String)
        /// The time between two reads, grown so that reading costs Redis at most a tenth of its time.
        case interval(Duration)
    }

    /// What is to be read, as the keys say it.
    struct Focus: Sendable, Equatable {
        var interval: Duration
        var address: OperationAddress?
        var nextLine = 0
        /// The history of lost workers is on the screen.
        var showsLost = false
    }

    /// Two reads are never closer than this, however many events there are.
    private static let leastInterval = Duration.milliseconds(250)
    private static let retryPause = Duration.seconds(2)
    private static let executingRows = 200
    private static let logLines = 1_000
    private static let lostRows = 20

    private let inspection: any MonitorBroker
    private let origin: ContinuousClock.Instant
    private let focus: Mutex<Focus>
    private let pace = FetchPace()
    private let listener = Mutex<(queues: [String], task: Task<Void, Never>)?>(nil)
    private let startedAt: Mutex<ContinuousClock.Instant>
    private let lastCost = Mutex(Duration.zero)

    init(_ inspection: any MonitorBroker, origin: ContinuousClock.Instant, interval: Duration) {
        self.inspection = inspection
        self.origin = origin
        focus = Mutex(Focus(interval: interval))
        startedAt = Mutex(origin)
    }

    /// Says what to read from now on.
    func look(at new: Focus) { focus.withLock { $0 = new } }

    /// Reads as soon as possible.
    func hurry() { pace.bringForward(to: .now) }

    /// Runs until the task is cancelled.
    func run(_ deliver: @escaping @Sendable (Outcome) -> Void) async {
        while !Task.isCancelled {
            await runOnce(deliver)
            await pace.wait()
        }
        listener.withLock { $0?.task.cancel() }
    }

    /// One pass without the sleep.
    func runOnce(_ deliver: @escaping @Sendable (Outcome) -> Void) async {
        let start = ContinuousClock.now
        startedAt.withLock { $0 = start }
        let focus = focus.withLock { $0 }
        // Whoever hurries while this pass runs shall not be overruled at its end.
        pace.schedule(at: start + .seconds(3_600))
        do {
            let snapshot = try await inspection.namespaceSnapshot(executingRows: Self.executingRows) { [origin] in
                ContinuousClock.now - origin
            }
            let detail = try await read(focus, of: snapshot)
            if focus.showsLost {
                let queues = snapshot.queues.map(\.queue)
                deliver(.lost(try await inspection.lostWorkers(queues: queues, limit: Self.lostRows)))
            }
            let interval = max(focus.interval, cost(of: ContinuousClock.now - start) * 9)
            deliver(.interval(interval))
            deliver(.read(snapshot, detail))
            listen(to: snapshot.queues.map(\.queue), deliver)
            pace.bringForward(to: start + interval)
        } catch {
            guard !Task.isCancelled else { return }
            let retryAt = ContinuousClock.now + Self.retryPause
            deliver(.failed("\(error)", retryAt: retryAt - origin))
            pace.bringForward(to: retryAt)
        }
    }

    /// The lesser of the last two times, because one read may have waited for a connection.
    private func cost(of took: Duration) -> Duration {
        lastCost.withLock { last in
            defer { last = took }
            return min(last, took)
        }
    }

    private func read(_ focus: Focus, of snapshot: NamespaceSnapshot) async throws -> DetailReading? {
        guard let address = focus.address else { return nil }
        async let details = inspection.details([address.id], queue: address.queue)
        async let log = inspection.log(address.id, queue: address.queue, from: focus.nextLine, limit: Self.logLines)
        let (first, lines) = try await log
        return DetailReading(
            address: address,
            detail: try await details.first ?? nil,
            time: snapshot.queues.first { $0.queue == address.queue }?.time ?? snapshot.time,
            firstLine: first,
            lines: lines
        )
    }

    /// Listens to other queues than before, if there are others.
    private func listen(to queues: [String], _ deliver: @escaping @Sendable (Outcome) -> Void) {
        listener.withLock { listener in
            guard listener?.queues != queues else { return }
            listener?.task.cancel()
            let events = inspection.events(queues: queues)
            let task = Task { [self] in
                do { for try await _ in events { hint() } } catch { deliver(.deaf("\(error)")) }
            }
            listener = (queues, task)
        }
    }

    private func hint() { pace.bringForward(to: startedAt.withLock { $0 } + Self.leastInterval) }
}
